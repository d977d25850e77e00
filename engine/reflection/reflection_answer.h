// ReflectionAnswer: one ServerReflectionRequest answered, in wire bytes, for grpc.reflection.v1 and v1alpha, whose
// messages are the same (reflection_v1.proto). What several hosts describe is answered together: services are listed
// once, so are the numbers of extensions, and of two hosts that describe one name the first counts.
//
// The work for one answer is bounded: names of more than DescriptorIndex::kMaxName bytes are not found, and services or
// numbers beyond kMostListed or kMostListedBytes are an error in the response, RESOURCE_EXHAUSTED.
//
// The answer refers to the descriptors' bytes and keeps them; everything else is in buffers of its own.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/encode/encode_types.h"
#include "engine/call/engine_answer.h"
#include "engine/reflection/descriptor_index.h"

namespace drover::engine {

inline constexpr std::string_view kReflectionV1 = "grpc.reflection.v1.ServerReflection";
inline constexpr std::string_view kReflectionV1Alpha = "grpc.reflection.v1alpha.ServerReflection";
inline constexpr std::string_view kReflectionPathV1 = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
inline constexpr std::string_view kReflectionPathV1Alpha =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// What one host says about itself. Immutable.
struct ReflectionSource {
  std::shared_ptr<const DescriptorIndex> files;
  std::vector<std::string> services;  // sorted, each once
};

// The descriptors of the reflection service itself, and its two names; described everywhere.
const ReflectionSource& reflection_itself();

class ReflectionAnswer final : public EngineAnswer {
 public:
  // Of all hosts together, before those that several have count once.
  static constexpr size_t kMostListed = 1 << 16;
  static constexpr size_t kMostListedBytes = 4 << 20;  // of names: gRPC's clients take no larger messages by default

  // Null: the bytes are no ServerReflectionRequest. `request` and `sources` are not referred to afterwards, but for the
  // descriptors, which the answer keeps. Throws std::bad_alloc.
  static std::unique_ptr<ReflectionAnswer> make(std::string_view request,
                                                std::span<const ReflectionSource* const> sources);
  ReflectionAnswer(const ReflectionAnswer&) = delete;
  ReflectionAnswer& operator=(const ReflectionAnswer&) = delete;

  std::span<const Piece> pieces() const override { return pieces_; }
  size_t size() const override { return size_; }
  size_t memory() const override { return sizeof(*this) + text_.capacity() + pieces_.capacity() * sizeof(Piece); }

 private:
  struct Request;
  ReflectionAnswer() = default;
  void write(const Request& request, std::span<const ReflectionSource* const> sources);
  void write_file(const std::shared_ptr<const DescriptorIndex>& files, uint32_t file);
  void write_services(std::span<const ReflectionSource* const> sources);
  void write_numbers(std::string_view message, std::span<const ReflectionSource* const> sources);
  void write_error(int code, std::string_view message);
  void refer(std::string_view bytes);
  void finish();

  std::string text_;           // everything but descriptors
  std::vector<Piece> pieces_;  // of text_ with null and the size, until it is finished
  size_t in_pieces_ = 0;       // bytes of text_
  size_t size_ = 0;
  std::shared_ptr<const DescriptorIndex> files_;  // that pieces refer to
};

}  // namespace drover::engine
