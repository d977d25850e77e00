// FieldMaskUtil on hostile masks: what it computes keeps its own rules, and no mask makes it read or write outside of
// the messages (ASan). The input's first byte holds options; the rest are two masks, with a line end between them.
#include <google/protobuf/field_mask.pb.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto2.pb.h"
#include "proto3.pb.h"
#include "util/field_mask_util.h"

namespace {

using drover::util::FieldMaskUtil;
using drover_test::three::Everything;
using drover_test::two::Needs;
using google::protobuf::FieldMask;

void require(bool good, const char* rule) {
  if (good) return;
  std::fprintf(stderr, "field_mask_fuzz: %s\n", rule);
  std::abort();
}

bool all_in(const FieldMask& paths, const FieldMask& mask) {
  return std::all_of(paths.paths().begin(), paths.paths().end(),
                     [&](const auto& path) { return FieldMaskUtil::IsPathInFieldMask(std::string_view(path), mask); });
}

Everything filled(int levels) {
  Everything m;
  m.set_i32(1);
  m.set_text("text");
  m.set_maybe_i32(2);
  m.add_i32s(3);
  m.add_inners()->set_id(4);
  (*m.mutable_by_i32())[5] = 6;
  (*m.mutable_by_u64())[7].set_id(8);
  m.mutable_choice_inner()->set_note("choice");
  m.mutable_inner()->set_id(9);
  if (levels > 0) *m.mutable_inner()->mutable_parent() = filled(levels - 1);
  return m;
}
Needs chain(int levels) {
  Needs m;
  m.set_id(levels);
  m.set_name("name");
  if (levels > 0) *m.mutable_next() = chain(levels - 1);
  return m;
}

void check_masks(const FieldMask& one, const FieldMask& other) {
  FieldMask a, b, out, again;
  FieldMaskUtil::ToCanonicalForm(one, &a);
  FieldMaskUtil::ToCanonicalForm(other, &b);
  FieldMaskUtil::ToCanonicalForm(a, &again);
  require(a == again, "the canonical form of a canonical form is another");
  FieldMaskUtil::Union(a, b, &out);
  require(all_in(a, out) && all_in(b, out), "a union lacks a path");
  FieldMaskUtil::Union(b, a, &again);
  require(out == again, "a union depends on the order");
  FieldMaskUtil::Intersect(a, b, &out);
  require(all_in(out, a) && all_in(out, b), "an intersection has a path that is not in both");
  FieldMaskUtil::Intersect(b, a, &again);
  require(out == again, "an intersection depends on the order");
  std::string json;
  if (FieldMaskUtil::ToJsonString(a, &json)) {
    require(FieldMaskUtil::FromJsonString(json, &again) && a == again, "the JSON form reads as another mask");
  }
}

template <typename T>
void check_message(const T& source, const FieldMask& a, const FieldMask& b, unsigned bits) {
  FieldMaskUtil::IsValidFieldMask<T>(a);
  FieldMaskUtil::MergeOptions merge;
  merge.set_replace_message_fields((bits & 2) != 0);
  merge.set_replace_repeated_fields((bits & 4) != 0);
  T merged;
  FieldMaskUtil::MergeMessageTo(source, a, merge, &merged);
  require(!FieldMaskUtil::TrimMessage(a, &merged), "more than the mask's fields was merged");
  FieldMaskUtil::TrimOptions trim;
  trim.set_keep_required_fields((bits & 8) != 0);
  T trimmed = source;
  FieldMaskUtil::TrimMessage(a, &trimmed, trim);
  require(!FieldMaskUtil::TrimMessage(a, &trimmed, trim), "a trimmed message is trimmed once more");
  FieldMaskUtil::MergeMessageTo(source, b, merge, &trimmed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 2048) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t line_end = std::min(text.find('\n'), text.size());
  FieldMask a, b, left;
  FieldMaskUtil::FromString(text.substr(0, line_end), &a);
  FieldMaskUtil::FromString(text.substr(std::min(line_end + 1, text.size())), &b);
  check_masks(a, b);
  if ((data[0] & 1) != 0) {
    static const Needs source = chain(20);
    check_message(source, a, b, data[0]);
    FieldMaskUtil::Subtract<Needs>(a, b, &left);
  } else {
    static const Everything source = filled(20);
    check_message(source, a, b, data[0]);
  }
  return 0;
}
