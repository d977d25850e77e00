// gpr_log and GPR_ASSERT: to stderr, with severity, as servers that use gRPC's own logging expect.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gpr_log_severity {
  GPR_LOG_SEVERITY_DEBUG,
  GPR_LOG_SEVERITY_INFO,
  GPR_LOG_SEVERITY_ERROR,
} gpr_log_severity;

#define GPR_DEBUG __FILE__, __LINE__, GPR_LOG_SEVERITY_DEBUG
#define GPR_INFO __FILE__, __LINE__, GPR_LOG_SEVERITY_INFO
#define GPR_ERROR __FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR

// DEBUG and INFO are printed only if GRPC_VERBOSITY or DROVER_LOG asks for them.
void gpr_log(const char* file, int line, gpr_log_severity severity, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void gpr_assertion_failed(const char* file, int line, const char* what) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#define GPR_ASSERT(x)                                       \
  do {                                                      \
    if (!(x)) gpr_assertion_failed(__FILE__, __LINE__, #x); \
  } while (0)
#ifndef NDEBUG
#define GPR_DEBUG_ASSERT(x) GPR_ASSERT(x)
#else
#define GPR_DEBUG_ASSERT(x)
#endif
