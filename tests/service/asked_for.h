// What a client asks a handler for by metadata, in gRPC C++'s own API:
//
//   x-compress: none | deflate | gzip      the reply's algorithm
//   x-compress-level: none | low | medium | high
//   x-plain: anything                      messages of streams are not compressed all the same
//   x-early: N                             initial metadata ("early: bird") go out at once, the reply N ms later
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace drover::testing {

// Empty: not asked for.
template <class Context>
std::string asked_for(const Context& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  return found == context.client_metadata().end() ? std::string()
                                                  : std::string(found->second.data(), found->second.size());
}

template <class Context>
void compress_as_asked(Context* context) {
  const std::string algorithm = asked_for(*context, "x-compress"), level = asked_for(*context, "x-compress-level");
  if (algorithm == "none") context->set_compression_algorithm(GRPC_COMPRESS_NONE);
  if (algorithm == "deflate") context->set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  if (algorithm == "gzip") context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
  if (level == "none") context->set_compression_level(GRPC_COMPRESS_LEVEL_NONE);
  if (level == "low") context->set_compression_level(GRPC_COMPRESS_LEVEL_LOW);
  if (level == "medium") context->set_compression_level(GRPC_COMPRESS_LEVEL_MED);
  if (level == "high") context->set_compression_level(GRPC_COMPRESS_LEVEL_HIGH);
}

template <class Context>
grpc::WriteOptions write_options(const Context& context) {
  grpc::WriteOptions options;
  if (!asked_for(context, "x-plain").empty()) options.set_no_compression();
  return options;
}

// Milliseconds; 0: not asked for. Adds the metadata that go early.
template <class Context>
int64_t early_millis(Context* context) {
  const int64_t millis = std::atoi(asked_for(*context, "x-early").c_str());
  if (millis > 0) context->AddInitialMetadata("early", "bird");
  return millis;
}

}  // namespace drover::testing
