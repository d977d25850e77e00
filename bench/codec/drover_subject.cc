// Drover as a subject: decode into a reset arena, encode with a reused Encoded.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "bench/codec/subject.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "message/operations.h"
#include "schema/image_builder.h"

namespace drover::bench {
namespace {

// Schema images are kept as long as the program runs: many messages share one.
class LoadedSchema {
 public:
  static const LoadedSchema& of(const std::shared_ptr<const Schema>& set) {
    static std::map<std::shared_ptr<const Schema>, std::unique_ptr<LoadedSchema>> all;
    auto& loaded = all[set];
    if (loaded == nullptr) loaded = std::make_unique<LoadedSchema>(*set);
    return *loaded;
  }
  explicit LoadedSchema(const Schema& set) {
    schema::BuildResult built = schema::build_image(set);
    if (!built.ok()) die(built.error.c_str());
    bytes_.resize((built.image.size() + 7) / 8);
    std::memcpy(bytes_.data(), built.image.data(), built.image.size());
    schema::LoadResult loaded = schema::Image::load(bytes_.data(), built.image.size(), &image_);
    if (!loaded.ok()) die(loaded.what);
  }
  schema::MessageType type(const std::string& name) const {
    int64_t index = image_.find_message(name.data(), name.size());
    if (index < 0) die(name.c_str());
    return {&image_, static_cast<uint32_t>(index)};
  }

 private:
  [[noreturn]] static void die(const char* what) {
    std::fprintf(stderr, "codec_bench: Drover cannot load a schema: %s\n", what);
    std::exit(1);
  }
  std::vector<uint64_t> bytes_;
  schema::Image image_;
};

Workspace& decode_workspace() {
  static Workspace workspace(kArenaBytes);
  return workspace;
}
Workspace& encode_workspace() {
  static Workspace workspace(kArenaBytes);
  return workspace;
}

class DroverSubject final : public Subject {
 public:
  explicit DroverSubject(const BenchMessage& message)
      : type_(LoadedSchema::of(message.schema).type(message.type_name)), wire_(message.wire) {
    message_ = decode_into(arena_, {});
    if (message_ == nullptr) return;
    region_.resize(message::linearized_size(type_, *message_) / 8 + 1);
    Arena copy(heap_block_source(), region_.data(), region_.size() * 8);
    bounded_ = message::deep_copy_into(type_, *message_, &copy);
    bounds_ = {reinterpret_cast<const char*>(region_.data()), region_.size() * 8};
  }

  const char* implementation() const override { return "drover"; }
  std::vector<Operation> operations() override {
    return {{"drover", "decode_copy", [this](int times) { return decode_times(times, false); }},
            {"drover", "decode_alias", [this](int times) { return decode_times(times, true); }},
            {"drover", "encode_pieces", [this](int times) { return encode_pieces(times, message_, {}); }},
            {"drover", "encode_pieces_bounded",
             [this](int times) { return encode_pieces(times, bounded_, {.bounds = &bounds_}); }},
            {"drover", "encode_contiguous", [this](int times) { return encode_contiguous(times); }}};
  }

  std::vector<std::string> round_trips() override {
    std::vector<std::string> results;
    for (bool alias : {false, true}) {
      Arena arena;
      const Message* object = decode_into(arena, {.alias = alias, .received = true});
      results.push_back(object == nullptr ? "" : encoded(object, {}));
    }
    results.push_back(encoded(bounded_, {.bounds = &bounds_}));
    results.push_back(encode_contiguous(1) ? std::string(out_, written_) : "");
    return results;
  }

 private:
  Message* decode_into(Arena& arena, const DecodeOptions& options) {
    auto* object = static_cast<Message*>(arena.allocate_zeroed(type_.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    return decode(type_, object, wire_, arena, options).ok() ? object : nullptr;
  }
  std::string encoded(const Message* object, const EncodeOptions& options) {
    if (!encode(type_, object, options, &encoded_).ok()) return "";
    std::string bytes(encoded_.size(), '\0');
    encoded_.copy_to(bytes.data());
    return bytes;
  }
  bool decode_times(int times, bool alias) {
    DecodeOptions options{.alias = alias, .received = true};
    Arena arena(heap_block_source(), decode_workspace().next_place(), kArenaBytes);
    bool ok = true;
    for (int i = 0; i < times; ++i) {
      arena.reset();
      ok &= decode_into(arena, options) != nullptr;
    }
    return ok;
  }
  bool encode_pieces(int times, const Message* object, const EncodeOptions& options) {
    bool ok = true;
    for (int i = 0; i < times; ++i) ok &= encode(type_, object, options, &encoded_).ok();
    return ok;
  }
  bool encode_contiguous(int times) {
    out_ = encode_workspace().next_place();
    bool ok = true;
    for (int i = 0; i < times; ++i) {
      ok &= encode_to_array(type_, message_, {}, &encoded_, out_, kArenaBytes, &written_) == EncodeError::kOk;
    }
    return ok;
  }

  schema::MessageType type_;
  std::string wire_;
  char* out_ = nullptr;
  size_t written_ = 0;
  Arena arena_;
  const Message* message_ = nullptr;
  // The same message in memory of its own, as a hostile host's region: encoded with bounds.
  std::vector<uint64_t> region_;
  const Message* bounded_ = nullptr;
  Bounds bounds_;
  Encoded encoded_;
};

}  // namespace

std::unique_ptr<Subject> drover_subject(const BenchMessage& message) {
  return std::make_unique<DroverSubject>(message);
}

}  // namespace drover::bench
