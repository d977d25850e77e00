// upb as a subject: mini tables made at run time from the descriptors, with their fast tables; an arena on an initial
// block for each decode and each encode.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench/codec/subject.h"
#include "google/protobuf/descriptor.upb.h"
#include "upb/mem/arena.h"
#include "upb/message/message.h"
#include "upb/reflection/def.h"
#include "upb/wire/decode.h"
#include "upb/wire/encode.h"

namespace drover::bench {
namespace {

const upb_DefPool* pool_of(const std::shared_ptr<const Schema>& schema) {
  static std::map<std::shared_ptr<const Schema>, upb_DefPool*> pools;
  upb_DefPool*& pool = pools[schema];
  if (pool != nullptr) return pool;
  pool = upb_DefPool_New();
  upb_Arena* arena = upb_Arena_New();
  for (const auto& file : schema->file()) {
    std::string bytes = file.SerializeAsString();
    upb_Status status;
    upb_Status_Clear(&status);
    const auto* proto = google_protobuf_FileDescriptorProto_parse(bytes.data(), bytes.size(), arena);
    if (proto == nullptr || upb_DefPool_AddFile(pool, proto, &status) == nullptr) {
      std::fprintf(stderr, "codec_bench: upb cannot load a schema: %s\n", upb_Status_ErrorMessage(&status));
      std::exit(1);
    }
  }
  upb_Arena_Free(arena);
  return pool;
}

Workspace& decode_workspace() {
  static Workspace workspace(kArenaBytes);
  return workspace;
}
Workspace& encode_workspace() {
  static Workspace workspace(kArenaBytes);
  return workspace;
}

upb_Arena* fresh_arena(char* memory) { return upb_Arena_Init(memory, kArenaBytes, &upb_alloc_global); }

class UpbSubject final : public Subject {
 public:
  explicit UpbSubject(const BenchMessage& message)
      : table_(upb_MessageDef_MiniTable(
            upb_DefPool_FindMessageByName(pool_of(message.schema), message.type_name.c_str()))),
        wire_(message.wire),
        arena_(upb_Arena_New()),
        message_(upb_Message_New(table_, arena_)) {
    decoded_ = decode_into(message_, 0, arena_);
  }
  UpbSubject(const UpbSubject&) = delete;
  UpbSubject& operator=(const UpbSubject&) = delete;
  ~UpbSubject() override { upb_Arena_Free(arena_); }

  const char* implementation() const override { return "upb"; }
  std::vector<Operation> operations() override {
    auto decoding = [this](int options) { return [this, options](int times) { return decode(times, options); }; };
    return {{"upb", "decode_copy", decoding(0)},
            {"upb", "decode_alias", decoding(kUpb_DecodeOption_AliasString)},
            {"upb-without-fast-table", "decode_copy", decoding(kUpb_DecodeOption_DisableFastTable)},
            {"upb", "encode_contiguous", [this](int times) { return encode(times); }}};
  }
  std::vector<std::string> round_trips() override {
    std::vector<std::string> results;
    for (int options : {0, int{kUpb_DecodeOption_AliasString}}) {
      upb_Arena* arena = upb_Arena_New();
      upb_Message* message = upb_Message_New(table_, arena);
      std::string bytes;
      char* data = nullptr;
      size_t size = 0;
      if (decode_into(message, options, arena) &&
          upb_Encode(message, table_, 0, arena, &data, &size) == kUpb_EncodeStatus_Ok) {
        bytes.assign(data, size);
      }
      results.push_back(bytes);
      upb_Arena_Free(arena);
    }
    return results;
  }

 private:
  bool decode_into(upb_Message* message, int options, upb_Arena* arena) {
    return upb_Decode(wire_.data(), wire_.size(), message, table_, nullptr, options, arena) == kUpb_DecodeStatus_Ok;
  }
  bool decode(int times, int options) {
    char* memory = decode_workspace().next_place();
    bool ok = true;
    for (int i = 0; i < times; ++i) {
      upb_Arena* arena = fresh_arena(memory);
      ok &= decode_into(upb_Message_New(table_, arena), options, arena);
      upb_Arena_Free(arena);
    }
    return ok;
  }
  bool encode(int times) {
    char* memory = encode_workspace().next_place();
    bool ok = decoded_;
    for (int i = 0; i < times; ++i) {
      upb_Arena* arena = fresh_arena(memory);
      char* data = nullptr;
      size_t size = 0;
      ok &= upb_Encode(message_, table_, 0, arena, &data, &size) == kUpb_EncodeStatus_Ok;
      upb_Arena_Free(arena);
    }
    return ok;
  }

  const upb_MiniTable* table_;
  std::string wire_;
  upb_Arena* arena_;
  upb_Message* message_;
  bool decoded_ = false;
};

}  // namespace

std::unique_ptr<Subject> upb_subject(const BenchMessage& message) { return std::make_unique<UpbSubject>(message); }

std::string upb_version() { return DROVER_UPB_VERSION; }

}  // namespace drover::bench
