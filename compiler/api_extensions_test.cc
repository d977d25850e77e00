// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// Extensions and message sets.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <google/protobuf/arena.h>

#include "compiler/api_testing.h"
#include "extensions.pb.h"

namespace {

namespace ext = ::drover_test::ext;
namespace two = ::drover_test::two;
namespace three = ::drover_test::three;

template <typename Id, typename Value>
void expect_scalar(const Id& id, Value unset, Value value) {
  ext::Base m;
  EXPECT_FALSE(m.HasExtension(id)) << id.number();
  EXPECT_EQ(m.GetExtension(id), unset) << id.number();
  EXPECT_EQ(id.default_value(), unset) << id.number();
  m.SetExtension(id, value);
  EXPECT_TRUE(m.HasExtension(id)) << id.number();
  EXPECT_EQ(m.GetExtension(id), value) << id.number();
  ext::Base copy = api::round_trip(m);
  EXPECT_TRUE(copy.HasExtension(id));
  EXPECT_EQ(copy.GetExtension(id), value) << id.number();
  copy.SetExtension(id, unset);
  EXPECT_TRUE(copy.HasExtension(id));
  EXPECT_EQ(copy.GetExtension(id), unset);
  copy.ClearExtension(id);
  EXPECT_FALSE(copy.HasExtension(id));
  EXPECT_EQ(copy.ByteSizeLong(), 0u);
}

TEST(ApiExtensions, ScalarsOfEveryKind) {
  expect_scalar(ext::one_bool, false, true);
  expect_scalar<decltype(ext::one_int32), int32_t>(ext::one_int32, -7, std::numeric_limits<int32_t>::min());
  expect_scalar<decltype(ext::one_sint32), int32_t>(ext::one_sint32, 0, -5);
  expect_scalar<decltype(ext::one_uint32), uint32_t>(ext::one_uint32, 0, 4294967295u);
  expect_scalar<decltype(ext::one_fixed32), uint32_t>(ext::one_fixed32, 0, 7);
  expect_scalar<decltype(ext::one_sfixed32), int32_t>(ext::one_sfixed32, 0, -7);
  expect_scalar<decltype(ext::one_int64), int64_t>(ext::one_int64, 0, std::numeric_limits<int64_t>::min());
  expect_scalar<decltype(ext::one_sint64), int64_t>(ext::one_sint64, 0, -1);
  expect_scalar<decltype(ext::one_uint64), uint64_t>(ext::one_uint64, std::numeric_limits<uint64_t>::max(), 3);
  expect_scalar<decltype(ext::one_fixed64), uint64_t>(ext::one_fixed64, 0, 3);
  expect_scalar<decltype(ext::one_sfixed64), int64_t>(ext::one_sfixed64, 0, -3);
  expect_scalar(ext::one_float, 0.0f, 1.5f);
  expect_scalar(ext::one_double, 2.5, -0.5);
  expect_scalar(ext::one_enum, ext::NO, ext::PERHAPS);
  expect_scalar(ext::one_open_enum, three::COLOR_NONE, three::COLOR_LAST);
  expect_scalar<decltype(ext::far), int32_t>(ext::far, 0, 1);
  expect_scalar<decltype(ext::class_), int32_t>(ext::class_, 0, 1);
  expect_scalar<decltype(ext::Scope::nested_int32), int32_t>(ext::Scope::nested_int32, 0, 1);
}

TEST(ApiExtensions, NumbersAndConstants) {
  EXPECT_EQ(ext::one_bool.number(), 10);
  EXPECT_EQ(ext::kOneBoolFieldNumber, 10);
  EXPECT_EQ(ext::Scope::kNestedInt32FieldNumber, 1000);
  EXPECT_EQ(ext::far.number(), 536870911);
  EXPECT_EQ(ext::First::message_set_extension.number(), 1545008);
  EXPECT_EQ(ext::strict_in_set.number(), 2147483646);
}

TEST(ApiExtensions, Strings) {
  ext::Base m;
  EXPECT_FALSE(m.HasExtension(ext::one_string));
  EXPECT_EQ(m.GetExtension(ext::one_string), "somewhere");
  EXPECT_EQ(m.GetExtension(ext::one_bytes), "");
  m.SetExtension(ext::one_string, "literal");
  m.SetExtension(ext::one_bytes, std::string("by\0tes", 6));
  const std::string& as_string = m.GetExtension(ext::one_string);
  EXPECT_EQ(as_string, "literal");
  std::string assigned;
  assigned = m.GetExtension(ext::one_string);
  EXPECT_EQ(assigned + "!", m.GetExtension(ext::one_string) + "!");
  ext::Base copy = api::round_trip(m);
  EXPECT_EQ(copy.GetExtension(ext::one_string), "literal");
  EXPECT_EQ(copy.GetExtension(ext::one_bytes).size(), 6u);
  copy.MutableExtension(ext::one_string)->append(" and more");
  *copy.MutableExtension(ext::one_bytes) = "new";
  EXPECT_EQ(copy.GetExtension(ext::one_string), "literal and more");
  EXPECT_EQ(copy.GetExtension(ext::one_bytes), "new");
  copy.SetExtension(ext::one_string, "");
  EXPECT_TRUE(copy.HasExtension(ext::one_string));
  EXPECT_EQ(copy.GetExtension(ext::one_string), "");
  copy.ClearExtension(ext::one_string);
  EXPECT_EQ(copy.GetExtension(ext::one_string), "somewhere");
}

TEST(ApiExtensions, Messages) {
  ext::Base m;
  EXPECT_FALSE(m.HasExtension(ext::one_message));
  EXPECT_EQ(m.GetExtension(ext::one_message).id(), 0);
  m.MutableExtension(ext::one_message)->set_id(5);
  m.MutableExtension(ext::one_message)->set_note("note");
  m.MutableExtension(ext::one_message)->add_children()->set_id(6);
  m.MutableExtension(ext::onegroup)->set_x(7);
  m.MutableExtension(ext::imported_message)->set_name("n");
  m.MutableExtension(ext::Scope::nested_scope)->set_value(8);
  m.MutableExtension(ext::one_strict);
  ext::Base copy;
  EXPECT_FALSE(m.IsInitialized());
  ASSERT_TRUE(copy.ParsePartialFromString(m.SerializePartialAsString()));
  EXPECT_EQ(copy.GetExtension(ext::one_message).id(), 5);
  EXPECT_EQ(copy.GetExtension(ext::one_message).note(), "note");
  EXPECT_EQ(copy.GetExtension(ext::one_message).children(0).id(), 6);
  EXPECT_EQ(copy.GetExtension(ext::onegroup).x(), 7);
  EXPECT_EQ(copy.GetExtension(ext::imported_message).name(), "n");
  EXPECT_EQ(copy.GetExtension(ext::Scope::nested_scope).value(), 8);
  EXPECT_TRUE(copy.HasExtension(ext::one_strict));
  copy.ClearExtension(ext::one_message);
  EXPECT_FALSE(copy.HasExtension(ext::one_message));
  EXPECT_EQ(copy.GetExtension(ext::onegroup).x(), 7);

  EXPECT_EQ(ext::Base().ReleaseExtension(ext::one_message), nullptr);
  ext::Payload* released = m.ReleaseExtension(ext::one_message);
  ASSERT_NE(released, nullptr);
  EXPECT_EQ(released->id(), 5);
  EXPECT_FALSE(m.HasExtension(ext::one_message));
  copy.SetAllocatedExtension(ext::one_message, released);
  EXPECT_EQ(copy.GetExtension(ext::one_message).children_size(), 1);
  copy.SetAllocatedExtension(ext::one_message, nullptr);
  EXPECT_FALSE(copy.HasExtension(ext::one_message));
}

TEST(ApiExtensions, ExtensionsOfExtensions) {
  ext::Base m;
  m.MutableExtension(ext::one_message)->MutableExtension(ext::deeper)->MutableExtension(ext::deeper)->set_id(3);
  ext::Base copy = api::round_trip(m);
  EXPECT_EQ(copy.GetExtension(ext::one_message).GetExtension(ext::deeper).GetExtension(ext::deeper).id(), 3);
}

template <typename Id, typename Value>
void expect_repeated(const Id& id, const std::vector<Value>& values) {
  ext::Base m;
  EXPECT_EQ(m.ExtensionSize(id), 0);
  for (const Value& value : values) m.AddExtension(id, value);
  ASSERT_EQ(m.ExtensionSize(id), static_cast<int>(values.size()));
  ext::Base copy = api::round_trip(m);
  ASSERT_EQ(copy.ExtensionSize(id), static_cast<int>(values.size()));
  int i = 0;
  for (const auto& value : copy.GetRepeatedExtension(id)) EXPECT_EQ(value, values[static_cast<size_t>(i++)]);
  EXPECT_EQ(i, copy.GetRepeatedExtension(id).size());
  for (i = 0; i < copy.ExtensionSize(id); ++i) {
    EXPECT_EQ(copy.GetExtension(id, i), values[static_cast<size_t>(i)]) << id.number();
  }
  copy.SetExtension(id, 1, values[0]);
  EXPECT_EQ(copy.GetExtension(id, 0), values[0]);
  EXPECT_EQ(copy.GetExtension(id, 1), values[0]);
  EXPECT_EQ(copy.GetExtension(id, 2), values[2]);
  copy.MutableRepeatedExtension(id)->RemoveLast();
  EXPECT_EQ(copy.ExtensionSize(id), static_cast<int>(values.size()) - 1);
  EXPECT_EQ(copy.GetExtension(id, 0), values[0]);
  copy.ClearExtension(id);
  EXPECT_EQ(copy.ExtensionSize(id), 0);
  EXPECT_EQ(copy.SerializeAsString(), "");
}

TEST(ApiExtensions, RepeatedOfEveryKind) {
  expect_repeated<decltype(ext::many_bool), bool>(ext::many_bool, {true, false, true});
  expect_repeated<decltype(ext::many_int32), int32_t>(ext::many_int32, {1, -1, 300});
  expect_repeated<decltype(ext::many_sint64), int64_t>(ext::many_sint64, {1, -1, 1l << 60});
  expect_repeated<decltype(ext::many_fixed32), uint32_t>(ext::many_fixed32, {1, 2, 3, 4});
  expect_repeated<decltype(ext::many_double), double>(ext::many_double, {1.5, 2.5, 3.5});
  expect_repeated<decltype(ext::many_string), std::string>(ext::many_string, {"one", "", std::string(500, 'x')});
  expect_repeated<decltype(ext::many_bytes), std::string>(ext::many_bytes, {"a", "b", "\xff"});
  expect_repeated<decltype(ext::many_enum), ext::Answer>(ext::many_enum, {ext::YES, ext::NO, ext::PERHAPS});
  expect_repeated<decltype(ext::packed_int32), int32_t>(ext::packed_int32, {1, -1, 300, 5});
  expect_repeated<decltype(ext::packed_float), float>(ext::packed_float, {1.5f, 2.5f, 3.5f});
  expect_repeated<decltype(ext::packed_enum), ext::Answer>(ext::packed_enum, {ext::YES, ext::NO, ext::PERHAPS});
  expect_repeated<decltype(ext::packed_bool), bool>(ext::packed_bool, {false, true, true});
  expect_repeated<decltype(ext::Scope::nested_strings), std::string>(ext::Scope::nested_strings, {"x", "y", "z"});
}

TEST(ApiExtensions, RepeatedMessagesAndGroups) {
  ext::Base m;
  m.AddExtension(ext::many_message)->set_id(1);
  m.AddExtension(ext::many_message)->set_id(2);
  m.AddExtension(ext::manygroup)->set_y("a");
  m.AddExtension(ext::manygroup)->set_y("b");
  *m.AddExtension(ext::many_string) = "s";
  ext::Base copy = api::round_trip(m);
  ASSERT_EQ(copy.ExtensionSize(ext::many_message), 2);
  ASSERT_EQ(copy.ExtensionSize(ext::manygroup), 2);
  EXPECT_EQ(copy.GetExtension(ext::many_message, 1).id(), 2);
  EXPECT_EQ(copy.GetExtension(ext::manygroup, 0).y(), "a");
  copy.MutableExtension(ext::many_message, 0)->set_note("first");
  copy.MutableExtension(ext::manygroup, 1)->set_y("longer than it was before");
  copy.MutableExtension(ext::many_string, 0)->append("!");
  EXPECT_EQ(copy.GetExtension(ext::many_message, 0).note(), "first");
  EXPECT_EQ(copy.GetExtension(ext::many_message, 0).id(), 1);
  EXPECT_EQ(copy.GetExtension(ext::manygroup, 1).y(), "longer than it was before");
  EXPECT_EQ(copy.GetExtension(ext::many_string, 0), "s!");
  copy.MutableRepeatedExtension(ext::many_message)->SwapElements(0, 1);
  EXPECT_EQ(copy.GetExtension(ext::many_message, 1).note(), "first");
}

// Set in any order, the bytes are protobuf's: by number.
TEST(ApiExtensions, AreSerializedByNumber) {
  ext::Base m;
  m.SetExtension(ext::far, 1);
  m.SetExtension(ext::one_int32, 2);
  m.AddExtension(ext::many_int32, 3);
  m.SetExtension(ext::one_bool, true);
  m.AddExtension(ext::many_int32, 4);
  m.AddExtension(ext::packed_int32, 5);
  m.AddExtension(ext::packed_int32, 600);
  m.set_first(1);
  m.SetExtension(ext::one_bool, false);
  EXPECT_EQ(api::hex(m.SerializeAsString()), "080150005802c80203c8020492030305d804f8ffffff0f01");
}

TEST(ApiExtensions, OccurrencesOnTheWireMerge) {
  using api::bytes;
  ext::Base m;
  // one_int32 twice, one_message in two parts, one_string as a varint, packed as unpacked and the reverse.
  ASSERT_TRUE(
      m.ParseFromString(bytes("5801 5802  da0102 0805  b80107  da0104 1202 6869  900301 9203020203 c80204"
                              "ca02020506")));
  EXPECT_EQ(m.GetExtension(ext::one_int32), 2);
  EXPECT_EQ(m.GetExtension(ext::one_message).id(), 5);
  EXPECT_EQ(m.GetExtension(ext::one_message).note(), "hi");
  EXPECT_FALSE(m.HasExtension(ext::one_string));
  ASSERT_EQ(m.ExtensionSize(ext::packed_int32), 3);
  EXPECT_EQ(m.GetExtension(ext::packed_int32, 2), 3);
  ASSERT_EQ(m.ExtensionSize(ext::many_int32), 3);
  EXPECT_EQ(m.GetExtension(ext::many_int32, 2), 6);
  m.SetExtension(ext::one_string, "now a string");
  EXPECT_EQ(m.GetExtension(ext::one_string), "now a string");
  m.ClearExtension(ext::one_string);
  EXPECT_NE(m.SerializeAsString().find(bytes("b80107")), std::string::npos);  // the varint was none of it
}

TEST(ApiExtensions, AClosedEnumsUnknownNumbersAreUnknownFields) {
  using api::bytes;
  ext::Base m;
  ASSERT_TRUE(m.ParseFromString(bytes("c80109  f80201 f80209 f80202  a203030109 02  d00109")));
  EXPECT_FALSE(m.HasExtension(ext::one_enum));
  EXPECT_EQ(m.GetExtension(ext::one_enum), ext::NO);
  ASSERT_EQ(m.ExtensionSize(ext::many_enum), 2);
  EXPECT_EQ(m.GetExtension(ext::many_enum, 1), ext::NO);
  ASSERT_EQ(m.ExtensionSize(ext::packed_enum), 2);
  EXPECT_EQ(m.GetExtension(ext::packed_enum, 1), ext::NO);
  EXPECT_FALSE(m.HasExtension(ext::one_open_enum));  // declared in a proto2 file: closed
  m.SetExtension(ext::one_enum, ext::YES);
  m.ClearExtension(ext::one_enum);
  m.ClearExtension(ext::many_enum);
  m.ClearExtension(ext::packed_enum);
  EXPECT_FALSE(m.HasExtension(ext::one_enum));
  EXPECT_EQ(m.ExtensionSize(ext::many_enum), 0);
  EXPECT_EQ(m.ExtensionSize(ext::packed_enum), 0);
  std::string left = m.SerializeAsString();
  for (const char* unknown : {"c80109", "f80209", "d00109"}) {
    EXPECT_NE(left.find(bytes(unknown)), std::string::npos) << unknown;
  }
}

TEST(ApiExtensions, RequiredFieldsInThemAreMissed) {
  ext::Base m;
  m.MutableExtension(ext::one_strict)->set_id(1);
  EXPECT_TRUE(m.IsInitialized());
  m.MutableExtension(ext::one_strict)->mutable_next();
  EXPECT_FALSE(m.IsInitialized());
  EXPECT_EQ(m.InitializationErrorString(), "(drover_test.ext.one_strict).next.id");
  ext::Base copy;
  EXPECT_TRUE(copy.ParsePartialFromString(m.SerializePartialAsString()));
  EXPECT_FALSE(copy.IsInitialized());
  EXPECT_FALSE(copy.ParseFromString(m.SerializePartialAsString()));
  ext::Base deep;
  deep.MutableExtension(ext::imported_message)->set_id(1);
  EXPECT_EQ(deep.InitializationErrorString(), "(drover_test.ext.imported_message).name");
}

TEST(ApiExtensions, MessagesWithThemCopyMergeAndSwap) {
  ext::Base a, b;
  a.SetExtension(ext::one_int32, 1);
  a.AddExtension(ext::many_int32, 1);
  a.MutableExtension(ext::one_message)->set_id(1);
  b.SetExtension(ext::one_int32, 2);
  b.AddExtension(ext::many_int32, 2);
  b.MutableExtension(ext::one_message)->set_note("b");
  ext::Base merged(a);
  merged.MergeFrom(b);
  EXPECT_EQ(merged.GetExtension(ext::one_int32), 2);
  ASSERT_EQ(merged.ExtensionSize(ext::many_int32), 2);
  EXPECT_EQ(merged.GetExtension(ext::many_int32, 0), 1);
  EXPECT_EQ(merged.GetExtension(ext::one_message).id(), 1);
  EXPECT_EQ(merged.GetExtension(ext::one_message).note(), "b");
  a.Swap(&b);
  EXPECT_EQ(a.GetExtension(ext::one_int32), 2);
  EXPECT_EQ(b.GetExtension(ext::one_int32), 1);
  a.Clear();
  EXPECT_FALSE(a.HasExtension(ext::one_int32));
  EXPECT_EQ(a.GetExtension(ext::one_int32), -7);
  ext::Base moved(std::move(b));
  EXPECT_EQ(moved.GetExtension(ext::one_int32), 1);
}

TEST(ApiExtensions, AreNoUnknownFields) {
  ext::Base m;  // one_int32: 5, 20000: 1, one_string as a varint
  ASSERT_TRUE(m.ParseFromString(api::bytes("5805 80e20901 b80107")));
  m.DiscardUnknownFields();
  EXPECT_EQ(api::hex(m.SerializeAsString()), "5805");
  EXPECT_EQ(m.GetExtension(ext::one_int32), 5);
  m.ClearExtension(ext::one_int32);
  m.DiscardUnknownFields();
  EXPECT_EQ(m.ByteSizeLong(), 0u);
}

TEST(ApiExtensions, LiveInArenas) {
  google::protobuf::Arena arena;
  auto* m = google::protobuf::Arena::CreateMessage<ext::Base>(&arena);
  m->MutableExtension(ext::one_message)->set_id(4);
  m->SetExtension(ext::one_string, "text");
  EXPECT_EQ(m->GetExtension(ext::one_message).id(), 4);
  auto* payload = google::protobuf::Arena::CreateMessage<ext::Payload>(&arena);
  payload->set_id(5);
  m->SetAllocatedExtension(ext::one_message, payload);
  EXPECT_EQ(m->GetExtension(ext::one_message).id(), 5);
  ext::Payload* released = m->UnsafeArenaReleaseExtension(ext::one_message);
  EXPECT_EQ(released->id(), 5);
  EXPECT_EQ(released->GetArena(), &arena);
  EXPECT_FALSE(m->HasExtension(ext::one_message));
}

TEST(ApiExtensions, ArePrintedAmongTheFields) {
  ext::Base m;
  m.set_first(1);
  m.set_last("end");
  m.SetExtension(ext::one_int32, 5);
  m.SetExtension(ext::one_enum, ext::PERHAPS);
  m.SetExtension(ext::one_string, "say \"hi\"");
  m.MutableExtension(ext::one_message)->set_id(1);
  m.MutableExtension(ext::onegroup)->set_x(2);
  m.AddExtension(ext::many_int32, 1);
  m.AddExtension(ext::many_int32, 2);
  m.SetExtension(ext::Scope::nested_int32, 9);
  m.SetExtension(ext::far, 3);
  ext::Base copy = api::round_trip(m);
  EXPECT_EQ(copy.DebugString(),
            "first: 1\n[drover_test.ext.one_int32]: 5\n[drover_test.ext.one_string]: \"say \\\"hi\\\"\"\n"
            "[drover_test.ext.one_enum]: PERHAPS\n[drover_test.ext.one_message] {\n  id: 1\n}\n"
            "[drover_test.ext.onegroup] {\n  x: 2\n}\n[drover_test.ext.many_int32]: 1\n"
            "[drover_test.ext.many_int32]: 2\n[drover_test.ext.Scope.nested_int32]: 9\nlast: \"end\"\n"
            "[drover_test.ext.far]: 3\n");
  EXPECT_EQ(copy.ShortDebugString().substr(0, 45), "first: 1 [drover_test.ext.one_int32]: 5 [drov");
}

// ---- message sets

TEST(ApiMessageSets, AreItemGroups) {
  ext::Set m;
  m.MutableExtension(ext::First::message_set_extension)->set_i(23);
  EXPECT_EQ(api::hex(m.SerializeAsString()), "0b10b0a65e1a0278170c");
  m.MutableExtension(ext::second)->set_text("t");
  m.MutableExtension(ext::strict_in_set)->set_id(1);
  ext::HoldsSet holder;
  *holder.mutable_set() = m;
  ext::HoldsSet copy = api::round_trip(holder);
  EXPECT_EQ(copy.set().GetExtension(ext::First::message_set_extension).i(), 23);
  EXPECT_EQ(copy.set().GetExtension(ext::second).text(), "t");
  EXPECT_EQ(copy.set().GetExtension(ext::strict_in_set).id(), 1);
  copy.mutable_set()->ClearExtension(ext::second);
  EXPECT_FALSE(copy.set().HasExtension(ext::second));
  EXPECT_TRUE(copy.set().HasExtension(ext::First::message_set_extension));
}

TEST(ApiMessageSets, TakeTypeIdAndMessageInAnyOrder) {
  using api::bytes;
  ext::Set m;
  ASSERT_TRUE(m.ParseFromString(bytes("0b1a02781710b0a65e0c")));
  EXPECT_TRUE(m.HasExtension(ext::First::message_set_extension));
  EXPECT_EQ(m.GetExtension(ext::First::message_set_extension).i(), 23);
  // The same again, in the other order: it merges.
  ASSERT_TRUE(m.MergeFromString(bytes("0b10b0a65e1a0278180c")));
  EXPECT_EQ(m.GetExtension(ext::First::message_set_extension).i(), 24);
  // An item without a message is nothing.
  ext::Set incomplete;
  ASSERT_TRUE(incomplete.ParseFromString(bytes("0b10b0a65e0c")));
  EXPECT_FALSE(incomplete.HasExtension(ext::First::message_set_extension));
}

TEST(ApiMessageSets, KeepItemsThatNobodyKnows) {
  ext::Set m;
  std::string wire = api::bytes("0b10901c1a0161 0c");
  ASSERT_TRUE(m.ParseFromString(wire));
  EXPECT_EQ(m.SerializeAsString(), wire);
}

TEST(ApiMessageSets, MissRequiredFields) {
  ext::HoldsSet m;
  m.mutable_set()->MutableExtension(ext::strict_in_set);
  EXPECT_FALSE(m.IsInitialized());
  EXPECT_EQ(m.InitializationErrorString(), "set.(drover_test.ext.strict_in_set).id");
}

TEST(ApiMessageSets, ArePrintedByTheMessagesNames) {
  ext::Set m;
  ASSERT_TRUE(m.ParseFromString(api::bytes("0b10b0a65e1a0278170c 0b10901c1a02ff610c")));
  m.MutableExtension(ext::second)->set_text("t");
  EXPECT_EQ(m.DebugString(),
            "[drover_test.ext.First] {\n  i: 23\n}\n[drover_test.ext.second] {\n  text: \"t\"\n}\n"
            "3600: \"\\377a\"\n");
}

}  // namespace
