// What servers that only need the library to be there call; Drover needs no initialization.
#pragma once

#include <grpc/compression.h>
#include <grpc/status.h>
#include <grpc/support/time.h>

#define GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH "grpc.max_receive_message_length"
#define GRPC_ARG_MAX_SEND_MESSAGE_LENGTH "grpc.max_send_message_length"
#define GRPC_ARG_MAX_CONCURRENT_STREAMS "grpc.max_concurrent_streams"
#define GRPC_ARG_ALLOW_REUSEPORT "grpc.so_reuseport"
#define GRPC_ARG_KEEPALIVE_TIME_MS "grpc.keepalive_time_ms"
#define GRPC_ARG_KEEPALIVE_TIMEOUT_MS "grpc.keepalive_timeout_ms"
#define GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS "grpc.keepalive_permit_without_calls"
#define GRPC_ARG_MAX_CONNECTION_IDLE_MS "grpc.max_connection_idle_ms"
#define GRPC_ARG_MAX_CONNECTION_AGE_MS "grpc.max_connection_age_ms"

#ifdef __cplusplus
extern "C" {
#endif
static inline void grpc_init(void) {}
static inline void grpc_shutdown(void) {}
#ifdef __cplusplus
}
#endif
