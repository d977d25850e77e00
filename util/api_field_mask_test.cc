// One source, built twice: against Drover and against protobuf C++. Both must pass.
// google/protobuf/util/field_mask_util.h.
#include <google/protobuf/util/field_mask_util.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

using drover_test::three::Everything;
using drover_test::two::Needs;
using google::protobuf::FieldMask;
using Util = google::protobuf::util::FieldMaskUtil;

FieldMask mask(const std::string& text) {
  FieldMask made;
  Util::FromString(text, &made);
  return made;
}

TEST(FieldMaskUtil, GoesToTextAndBack) {
  EXPECT_EQ(Util::ToString(mask("a,,b.c,")), "a,b.c");
  EXPECT_EQ(Util::ToString(FieldMask()), "");
  std::string json;
  EXPECT_TRUE(Util::ToJsonString(mask("foo_bar,baz.qux_quux"), &json));
  EXPECT_EQ(json, "fooBar,baz.quxQuux");
  EXPECT_FALSE(Util::ToJsonString(mask("fooBar"), &json));
  EXPECT_FALSE(Util::ToJsonString(mask("foo_"), &json));
  EXPECT_FALSE(Util::ToJsonString(mask("foo_1"), &json));
  FieldMask parsed;
  EXPECT_TRUE(Util::FromJsonString("fooBar,baz.quxQuux", &parsed));
  EXPECT_EQ(Util::ToString(parsed), "foo_bar,baz.qux_quux");
  EXPECT_FALSE(Util::FromJsonString("foo_bar", &parsed));
}

TEST(FieldMaskUtil, KnowsWhichPathsAMessageHas) {
  for (const char* path :
       {"i32", "inner", "inner.id", "inner.parent.inner.deepest.blob", "i32s", "by_i32", "inners", ""}) {
    EXPECT_TRUE(Util::IsValidPath<Everything>(path)) << path;
  }
  for (const char* path : {"nothing", "i32.more", "inner.nothing", "inners.id", "by_u64.key.x", "maybeI32"}) {
    EXPECT_FALSE(Util::IsValidPath<Everything>(path)) << path;
  }
  EXPECT_TRUE(Util::IsValidFieldMask<Everything>(mask("i32,inner.id")));
  EXPECT_FALSE(Util::IsValidFieldMask<Everything>(mask("i32,inner.no")));
  FieldMask made;
  Util::AddPathToFieldMask<Everything>("inner.id", &made);
  Util::FromFieldNumbers<Needs>({1, 3}, &made);
  EXPECT_EQ(Util::ToString(made), "inner.id,id,next");
  EXPECT_EQ(Util::ToString(Util::GetFieldMaskForAllFields<Needs>()), "id,name,next");
}

TEST(FieldMaskUtil, ComputesWithMasks) {
  FieldMask out;
  Util::ToCanonicalForm(mask("b,a.x,a,c.d.e,c.d,ab"), &out);
  EXPECT_EQ(Util::ToString(out), "a,ab,b,c.d");
  Util::Union(mask("a.b,c"), mask("a,c.d"), &out);
  EXPECT_EQ(Util::ToString(out), "a,c");
  Util::Intersect(mask("a.b,c,e.f"), mask("a,c.d,e.f.g,h"), &out);
  EXPECT_EQ(Util::ToString(out), "a.b,c.d,e.f.g");
  EXPECT_TRUE(Util::IsPathInFieldMask("a.b.c", mask("a.b")));
  EXPECT_TRUE(Util::IsPathInFieldMask("a.b", mask("a.b")));
  EXPECT_FALSE(Util::IsPathInFieldMask("a.bc", mask("a.b")));
  EXPECT_FALSE(Util::IsPathInFieldMask("a", mask("a.b")));

  Util::Subtract<Needs>(mask("id,name,next"), mask("id,next.name"), &out);
  EXPECT_EQ(Util::ToString(out), "name,next.id,next.next");
  Util::Subtract<Needs>(mask("next"), mask("next.next.next.id"), &out);
  EXPECT_EQ(Util::ToString(out),
            "next.id,next.name,next.next.id,next.next.name,next.next.next.name,next.next.next.next");
  Util::Subtract<Needs>(mask("next.id,next.name"), mask("next"), &out);
  EXPECT_EQ(Util::ToString(out), "");
  Util::Subtract<Needs>(mask("next"), mask("next.nothing,id.x"), &out);
  EXPECT_EQ(Util::ToString(out), "next");
}

Everything filled(int64_t number) {
  Everything m;
  m.set_i32(static_cast<int32_t>(number));
  m.set_text("text " + std::to_string(number));
  m.mutable_inner()->set_id(number);
  if (number == 1) m.mutable_inner()->set_note("only here");
  m.add_i32s(static_cast<int32_t>(number));
  m.add_texts("element");
  m.add_inners()->set_id(number);
  (*m.mutable_by_i32())[static_cast<int32_t>(number)] = 7;
  (*m.mutable_by_u64())[5].set_id(number);
  return m;
}

TEST(FieldMaskUtil, MergesTheFieldsOfTheMask) {
  Everything to = filled(1);
  Util::MergeMessageTo(filled(2), mask("i32,inner.id,i32s,texts,inners,by_i32,by_u64,maybe_text,nothing,i32s.x"), {},
                       &to);
  EXPECT_EQ(to.i32(), 2);
  EXPECT_EQ(to.text(), "text 1");
  EXPECT_EQ(to.inner().id(), 2);
  EXPECT_EQ(to.inner().note(), "only here");
  ASSERT_EQ(to.i32s_size(), 2);
  EXPECT_EQ(to.i32s(1), 2);
  EXPECT_EQ(to.texts_size(), 2);
  ASSERT_EQ(to.inners_size(), 2);
  EXPECT_EQ(to.inners(1).id(), 2);
  EXPECT_EQ(to.by_i32().size(), 2u);
  EXPECT_EQ(to.by_u64().at(5).id(), 2);

  Util::MergeOptions options;
  options.set_replace_message_fields(true);
  options.set_replace_repeated_fields(true);
  Util::MergeMessageTo(filled(3), mask("inner,i32s,inners"), options, &to);
  EXPECT_EQ(to.inner().id(), 3);
  EXPECT_EQ(to.inner().note(), "");
  EXPECT_EQ(to.i32s_size(), 1);
  EXPECT_EQ(to.inners_size(), 1);
  Util::MergeMessageTo(Everything(), mask("i32,text,inner"), options, &to);
  EXPECT_EQ(to.i32(), 0);
  EXPECT_EQ(to.text(), "");
  EXPECT_FALSE(to.has_inner());
}

TEST(FieldMaskUtil, TrimsMessages) {
  Everything m = filled(1);
  EXPECT_FALSE(Util::TrimMessage(FieldMask(), &m));
  EXPECT_TRUE(Util::TrimMessage(mask("text,inner.note,inners"), &m));
  EXPECT_EQ(m.text(), "text 1");
  EXPECT_EQ(m.inner().note(), "only here");
  EXPECT_EQ(m.inner().id(), 0);
  EXPECT_EQ(m.inners_size(), 1);
  EXPECT_EQ(m.i32(), 0);
  EXPECT_TRUE(m.by_i32().empty());
  EXPECT_FALSE(Util::TrimMessage(mask("text,inner.note,inners"), &m));

  Needs needs;
  needs.set_id(1);
  needs.set_name("one");
  needs.mutable_next()->set_id(2);
  needs.mutable_next()->set_name("two");
  Needs copy = needs;
  Util::TrimOptions options;
  options.set_keep_required_fields(true);
  EXPECT_TRUE(Util::TrimMessage(mask("id"), &copy, options));
  EXPECT_TRUE(copy.has_name());
  EXPECT_FALSE(copy.has_next());
  copy = needs;
  EXPECT_FALSE(Util::TrimMessage(mask("next.id"), &copy, options));
  EXPECT_TRUE(copy.next().has_name());
  EXPECT_TRUE(Util::TrimMessage(mask("next.id"), &copy));
  EXPECT_FALSE(copy.has_id());
  EXPECT_FALSE(copy.next().has_name());
}

}  // namespace
