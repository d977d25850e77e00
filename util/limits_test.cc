// What protobuf C++ leaves to the stack or to luck, and Drover bounds: masks of any length, and numbers of any size.
#include <google/protobuf/field_mask.pb.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "message/clear.h"
#include "proto2.pb.h"
#include "proto3.pb.h"
#include "util/field_mask_util.h"
#include "util/time_util.h"

namespace drover::util {
namespace {

using drover_test::three::Everything;
using drover_test::two::Needs;
using google::protobuf::Duration;
using google::protobuf::FieldMask;

// "next.next. ... .last", of so many parts.
std::string long_path(int parts, const std::string& last) {
  std::string path;
  for (int i = 1; i < parts; ++i) path += "next.";
  return path + last;
}
FieldMask mask(const std::string& path) {
  FieldMask made;
  made.add_paths(path);
  return made;
}
Needs chain(int levels) {
  Needs top;
  Needs* at = &top;
  for (int i = 0; i < levels; ++i) {
    at->set_id(i);
    at->set_name("name");
    at = at->mutable_next();
  }
  return top;
}
int levels_of(const Needs& top) {
  int levels = 0;
  for (const Needs* at = &top; at->has_next(); at = &at->next()) ++levels;
  return levels;
}

constexpr int kVeryLong = 200'000;

TEST(FieldMaskUtil, ComputesWithVeryLongPaths) {
  const FieldMask shorter = mask(long_path(kVeryLong, "next")), longer = mask(long_path(kVeryLong + 1, "id"));
  FieldMask out;
  FieldMaskUtil::Union(longer, shorter, &out);
  EXPECT_TRUE(out == shorter);
  FieldMaskUtil::Intersect(longer, shorter, &out);
  EXPECT_TRUE(out == longer);
  FieldMaskUtil::Intersect(shorter, longer, &out);
  EXPECT_TRUE(out == longer);
  FieldMaskUtil::Subtract<Needs>(mask("next"), longer, &out);
  EXPECT_EQ(FieldMaskUtil::ToString(out), "next") << "which is not taken apart";
}

TEST(FieldMaskUtil, PathsStandInFrontOfThoseInside) {
  FieldMask out;
  FieldMask several;
  for (const char* path : {"a-b", "a.z", "a.b", "ab", "a b", "a!"}) several.add_paths(path);
  FieldMaskUtil::ToCanonicalForm(several, &out);
  EXPECT_EQ(FieldMaskUtil::ToString(out), "a.b,a.z,a b,a!,a-b,ab");
  several.add_paths("a");
  FieldMaskUtil::ToCanonicalForm(several, &out);
  EXPECT_EQ(FieldMaskUtil::ToString(out), "a,a b,a!,a-b,ab");
}

TEST(FieldMaskUtil, MergesAndTrimsNoDeeperThanMessagesMayBe) {
  Needs to;
  FieldMaskUtil::MergeMessageTo(chain(3), mask(long_path(kVeryLong, "id")), {}, &to);
  EXPECT_FALSE(to.has_next());
  FieldMaskUtil::MergeMessageTo(chain(3), mask(long_path(message::kMaxDepth, "id")), {}, &to);
  EXPECT_FALSE(to.has_next());
  FieldMaskUtil::MergeMessageTo(chain(3), mask(long_path(message::kMaxDepth - 1, "id")), {}, &to);
  EXPECT_EQ(levels_of(to), message::kMaxDepth - 2);

  constexpr int kLevels = 20'000;
  Needs deep = chain(kLevels);
  EXPECT_TRUE(FieldMaskUtil::TrimMessage(mask(long_path(kLevels, "id")), &deep));
  EXPECT_FALSE(deep.has_id());
  EXPECT_EQ(levels_of(deep), message::kMaxDepth - 2);
  Needs shallow = chain(3);
  EXPECT_TRUE(FieldMaskUtil::TrimMessage(mask("next.next.id"), &shallow));
  EXPECT_TRUE(shallow.next().next().has_id());
  EXPECT_FALSE(shallow.next().next().has_next());
}

TEST(FieldMaskUtilDeathTest, AMessageIsNotMergedIntoItself) {
  Everything m;
  EXPECT_DEATH(FieldMaskUtil::MergeMessageTo(m, mask("i32"), {}, &m), "merged into itself");
}

TEST(TimeUtil, ProductsEndWhereSecondsDo) {
  Duration most;
  most.set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_EQ((most * 2.0).seconds(), 9'200'000'000'000'000'000);
  EXPECT_EQ((most * -2.0).seconds(), -9'200'000'000'000'000'000);
  EXPECT_EQ((most / 1e-300).seconds(), 9'200'000'000'000'000'000);
  EXPECT_EQ((most * std::numeric_limits<double>::quiet_NaN()).seconds(), 0);
  EXPECT_EQ((Duration() * std::numeric_limits<double>::infinity()).seconds(), 0);
}

TEST(TimeUtilDeathTest, ADurationIsNotDividedByZero) {
  EXPECT_DEATH(static_cast<void>(Duration() / 0.0), "divided by zero");
}

}  // namespace
}  // namespace drover::util
