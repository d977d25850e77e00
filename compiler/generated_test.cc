// The generated classes: every shape of field through its accessors, and the images that go with them.
#include <google/protobuf/any.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>

#include "extensions.pb.h"
#include "imported.pb.h"
#include "message/extensions.h"
#include "proto2.pb.h"
#include "proto3.pb.h"
#include "schema/image_load.h"
#include "unpackaged.pb.h"

namespace drover {
namespace {

namespace three = ::drover_test::three;
namespace two = ::drover_test::two;
namespace ext = ::drover_test::ext;
using three::Everything;

template <typename T>
T round_trip(const T& message) {
  std::string bytes;
  EXPECT_TRUE(message.SerializeToString(&bytes));
  T copy;
  EXPECT_TRUE(copy.ParseFromString(bytes));
  EXPECT_EQ(copy.SerializeAsString(), bytes);
  return copy;
}

TEST(Generated, EveryEmbeddedImagePassesTheLoader) {
  for (const schema::MessageType& type :
       {Everything::drover_type(), two::Defaults::drover_type(), UnpackagedRequest::drover_type(),
        drover_test::imported::Point::drover_type(), ext::Set::drover_type(), google::protobuf::Struct::drover_type(),
        google::protobuf::Any::drover_type()}) {
    schema::Image image;
    schema::LoadResult result = schema::Image::load(type.image->data(), type.image->size(), &image);
    EXPECT_TRUE(result.ok()) << type.full_name() << ": " << schema::load_message(result);
  }
  EXPECT_EQ(Everything().GetTypeName(), "drover_test.three.Everything");
  EXPECT_EQ(Everything::Inner::Deepest().GetTypeName(), "drover_test.three.Everything.Inner.Deepest");
}

TEST(Generated, ImagesAreSelfContained) {
  const schema::Image& image = *two::FarAway::drover_type().image;
  EXPECT_GE(image.find_message("drover_test.imported.Point.Label", 32), 0);
  EXPECT_GE(image.find_message("drover_test.two.FarAway", 23), 0);
}

TEST(Generated, ScalarsWithoutPresenceAreZeroUntilSet) {
  Everything m;
  EXPECT_FALSE(m.flag());
  EXPECT_EQ(m.i32(), 0);
  EXPECT_EQ(m.color(), three::COLOR_NONE);
  EXPECT_EQ(m.text(), "");
  m.set_flag(true);
  m.set_i32(-1);
  m.set_s32(std::numeric_limits<int32_t>::min());
  m.set_u32(4294967295u);
  m.set_f32(32);
  m.set_sf32(-32);
  m.set_i64(std::numeric_limits<int64_t>::min());
  m.set_s64(-64);
  m.set_u64(std::numeric_limits<uint64_t>::max());
  m.set_f64(64);
  m.set_sf64(-64);
  m.set_real(1.5f);
  m.set_wide(2.5);
  m.set_color(three::COLOR_DARK);
  m.set_shape(Everything::SQUARE);
  m.set_weekday(drover_test::imported::MONDAY);
  m.set_far_number(9);
  Everything copy = round_trip(m);
  EXPECT_TRUE(copy.flag());
  EXPECT_EQ(copy.i32(), -1);
  EXPECT_EQ(copy.s32(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(copy.u32(), 4294967295u);
  EXPECT_EQ(copy.f32(), 32u);
  EXPECT_EQ(copy.sf32(), -32);
  EXPECT_EQ(copy.i64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(copy.s64(), -64);
  EXPECT_EQ(copy.u64(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(copy.f64(), 64u);
  EXPECT_EQ(copy.sf64(), -64);
  EXPECT_EQ(copy.real(), 1.5f);
  EXPECT_EQ(copy.wide(), 2.5);
  EXPECT_EQ(copy.color(), three::COLOR_DARK);
  EXPECT_EQ(copy.shape(), three::Everything_Shape_SQUARE);
  EXPECT_EQ(copy.weekday(), drover_test::imported::MONDAY);
  EXPECT_EQ(copy.far_number(), 9);
  copy.clear_i32();
  copy.clear_color();
  EXPECT_EQ(copy.i32(), 0);
  EXPECT_EQ(copy.color(), three::COLOR_NONE);
}

TEST(Generated, StringsReadAndWriteLikeStdString) {
  Everything m;
  m.set_text("literal");
  EXPECT_EQ(m.text(), "literal");
  m.set_text(std::string("std::string, long enough for the heap"));
  EXPECT_EQ("Hello " + m.text(), "Hello std::string, long enough for the heap");
  m.set_text(std::string_view("view"));
  m.set_blob("a\0b", 3);
  EXPECT_EQ(m.blob().size(), 3u);
  m.mutable_text()->append(" and more");
  EXPECT_EQ(m.text(), "view and more");
  *m.mutable_text() = "assigned";
  Everything other;
  other.set_text(m.text());
  EXPECT_EQ(other.text(), m.text());
  std::unique_ptr<std::string> released(m.release_text());
  EXPECT_EQ(*released, "assigned");
  EXPECT_EQ(m.text(), "");
  m.set_allocated_text(new std::string("given"));
  EXPECT_EQ(m.text(), "given");
  m.clear_text();
  EXPECT_TRUE(m.text().empty());
}

TEST(Generated, OptionalFieldsKnowWhetherTheyAreSet) {
  Everything m;
  EXPECT_FALSE(m.has_maybe_i32());
  m.set_maybe_i32(0);
  m.set_maybe_text("");
  m.set_maybe_flag(false);
  m.set_maybe_color(three::COLOR_NONE);
  Everything copy = round_trip(m);
  EXPECT_TRUE(copy.has_maybe_i32());
  EXPECT_TRUE(copy.has_maybe_text());
  EXPECT_TRUE(copy.has_maybe_flag());
  EXPECT_TRUE(copy.has_maybe_color());
  EXPECT_FALSE(copy.has_maybe_wide());
  EXPECT_FALSE(copy.has_maybe_inner());
  copy.mutable_maybe_inner();
  EXPECT_TRUE(copy.has_maybe_inner());
  copy.clear_maybe_i32();
  EXPECT_FALSE(copy.has_maybe_i32());
  copy.mutable_maybe_text();
  EXPECT_TRUE(copy.has_maybe_text());
}

TEST(Generated, SubMessagesAppearWhenTheyAreTouched) {
  Everything m;
  EXPECT_FALSE(m.has_inner());
  EXPECT_EQ(m.inner().id(), 0);
  EXPECT_EQ(&m.inner(), &Everything::Inner::default_instance());
  m.mutable_inner()->set_id(5);
  m.mutable_inner()->mutable_deepest()->set_blob("deep");
  m.mutable_inner()->mutable_parent()->set_i32(3);
  m.mutable_self()->mutable_self()->set_text("recursive");
  m.mutable_point()->mutable_label()->set_text("imported");
  m.mutable_label()->set_text("nested import");
  m.mutable_at()->set_seconds(77);
  m.mutable_wrapped()->set_value("wrapped");
  Everything copy = round_trip(m);
  EXPECT_EQ(copy.inner().id(), 5);
  EXPECT_EQ(copy.inner().deepest().blob(), "deep");
  EXPECT_EQ(copy.inner().parent().i32(), 3);
  EXPECT_EQ(copy.self().self().text(), "recursive");
  EXPECT_EQ(copy.point().label().text(), "imported");
  EXPECT_EQ(copy.label().text(), "nested import");
  EXPECT_EQ(copy.at().seconds(), 77);
  EXPECT_EQ(copy.wrapped().value(), "wrapped");
  copy.clear_inner();
  EXPECT_FALSE(copy.has_inner());

  std::unique_ptr<Everything::Inner> released(m.release_inner());
  EXPECT_FALSE(m.has_inner());
  EXPECT_EQ(released->deepest().blob(), "deep");
  EXPECT_EQ(m.release_inner(), nullptr);
  m.set_allocated_inner(released.release());
  EXPECT_EQ(m.inner().id(), 5);
  m.set_allocated_inner(nullptr);
  EXPECT_FALSE(m.has_inner());
}

TEST(Generated, AMessageTakesThePlaceOfTheOneItIsAPartOf) {
  auto nested = [](Everything* m, std::string_view text) {
    m->Clear();
    m->mutable_self()->mutable_self()->set_text(text);
    m->mutable_self()->set_text(std::string(500, 'x'));
  };
  Arena arena;
  Everything on_stack;
  for (Everything* m : {&on_stack, arena.create<Everything>()}) {
    nested(m, "copied");
    *m = m->self();
    EXPECT_EQ(m->text(), std::string(500, 'x'));
    *m = m->self();
    EXPECT_EQ(m->text(), "copied");
    nested(m, "moved");
    *m = std::move(*m->mutable_self()->mutable_self());
    EXPECT_EQ(m->text(), "moved");
  }
  nested(&on_stack, "swapped");
  on_stack.Swap(on_stack.mutable_self());
  EXPECT_EQ(on_stack.text(), std::string(500, 'x'));
  EXPECT_EQ(on_stack.self().text(), "swapped");
}

TEST(Generated, RepeatedScalarsGrowAndRead) {
  Everything m;
  for (int i = 0; i < 100; ++i) {
    m.add_i32s(i);
    m.add_s64s(-i);
    m.add_wides(i / 2.0);
    m.add_f32s(static_cast<uint32_t>(i));
  }
  m.add_flags(true);
  m.add_flags(false);
  m.add_colors(three::COLOR_RED);
  m.add_colors(static_cast<three::Color>(77));
  m.set_i32s(3, 33);
  m.mutable_reals()->Add(1.0f);
  Everything copy = round_trip(m);
  ASSERT_EQ(copy.i32s_size(), 100);
  EXPECT_EQ(copy.i32s(3), 33);
  EXPECT_EQ(copy.i32s().Get(99), 99);
  EXPECT_EQ(copy.s64s(9), -9);
  EXPECT_EQ(copy.wides(5), 2.5);
  EXPECT_EQ(copy.f32s(98), 98u);
  EXPECT_TRUE(copy.flags(0));
  EXPECT_FALSE(copy.flags(1));
  EXPECT_EQ(copy.colors(0), three::COLOR_CRIMSON);
  EXPECT_EQ(copy.colors(1), 77);
  EXPECT_EQ(copy.reals_size(), 1);
  int sum = 0;
  for (int32_t value : copy.i32s()) sum += value;
  EXPECT_EQ(sum, 4950 + 30);
  copy.clear_i32s();
  EXPECT_EQ(copy.i32s_size(), 0);
}

TEST(Generated, RepeatedStringsAndMessagesGrowAndRead) {
  Everything m;
  m.add_texts("one");
  m.add_texts(std::string("two, with more than a few characters"));
  *m.add_texts() = "three";
  m.add_texts("fourth", 4);
  m.set_texts(0, "first");
  m.mutable_texts(2)->append("!");
  m.add_blobs("x\0y", 3);
  for (int i = 0; i < 20; ++i) {
    Everything::Inner* inner = m.add_inners();
    inner->set_id(i);
    inner->add_children()->set_note("child");
  }
  m.mutable_inners(4)->set_id(44);
  Everything copy = round_trip(m);
  ASSERT_EQ(copy.texts_size(), 4);
  EXPECT_EQ(copy.texts(0), "first");
  EXPECT_EQ(copy.texts(1), "two, with more than a few characters");
  EXPECT_EQ(copy.texts(2), "three!");
  EXPECT_EQ(copy.texts(3), "four");
  EXPECT_EQ(copy.blobs(0).size(), 3u);
  ASSERT_EQ(copy.inners_size(), 20);
  EXPECT_EQ(copy.inners(4).id(), 44);
  EXPECT_EQ(copy.inners(19).children(0).note(), "child");
  copy.mutable_inners()->RemoveLast();
  EXPECT_EQ(copy.inners().size(), 19);
}

TEST(Generated, MapsOfEveryKeyKind) {
  Everything m;
  (*m.mutable_by_i32())[-1] = 1;
  (*m.mutable_by_i64())[-2] = "two";
  (*m.mutable_by_u32())[3] = true;
  (*m.mutable_by_u64())[4].set_id(4);
  (*m.mutable_by_s32())[-5] = "five";
  (*m.mutable_by_s64())[-6] = 6.5;
  (*m.mutable_by_f32())[7] = 7.5f;
  (*m.mutable_by_f64())[8] = three::COLOR_RED;
  (*m.mutable_by_sf32())[-9] = 9;
  (*m.mutable_by_sf64())[-10].set_text("ten");
  (*m.mutable_by_flag())[true] = "eleven";
  (*m.mutable_by_text())["twelve"].set_note("12");
  for (int i = 0; i < 50; ++i) (*m.mutable_counts())["count " + std::to_string(i)] = i;
  Everything copy;
  ASSERT_TRUE(copy.ParseFromString(m.SerializeAsString()));
  EXPECT_EQ(copy.by_i32().at(-1), 1);
  EXPECT_EQ(copy.by_i64().at(-2), "two");
  EXPECT_TRUE(copy.by_u32().at(3));
  EXPECT_EQ(copy.by_u64().at(4).id(), 4);
  EXPECT_EQ(copy.by_s32().at(-5), "five");
  EXPECT_EQ(copy.by_s64().at(-6), 6.5);
  EXPECT_EQ(copy.by_f32().at(7), 7.5f);
  EXPECT_EQ(copy.by_f64().at(8), three::COLOR_RED);
  EXPECT_EQ(copy.by_sf32().at(-9), 9);
  EXPECT_EQ(copy.by_sf64().at(-10).text(), "ten");
  EXPECT_EQ(copy.by_flag().at(true), "eleven");
  EXPECT_EQ(copy.by_text().at("twelve").note(), "12");
  ASSERT_EQ(copy.counts_size(), 50);
  EXPECT_EQ(copy.counts().at("count 49"), 49);
  EXPECT_FALSE(copy.counts().contains("count 50"));
  copy.clear_counts();
  EXPECT_EQ(copy.counts_size(), 0);
}

TEST(Generated, AOneofHoldsTheMemberThatWasSetLast) {
  Everything m;
  EXPECT_EQ(m.choice_case(), Everything::CHOICE_NOT_SET);
  m.set_choice_i32(5);
  EXPECT_EQ(m.choice_case(), Everything::kChoiceI32);
  m.set_choice_text("text");
  EXPECT_FALSE(m.has_choice_i32());
  EXPECT_EQ(m.choice_i32(), 0);
  EXPECT_EQ(m.choice_text(), "text");
  m.mutable_choice_text()->append(" and more");
  EXPECT_EQ(round_trip(m).choice_text(), "text and more");
  m.mutable_choice_inner()->set_id(3);
  EXPECT_EQ(m.choice_text(), "");
  EXPECT_EQ(round_trip(m).choice_inner().id(), 3);
  std::unique_ptr<Everything::Inner> released(m.release_choice_inner());
  EXPECT_EQ(released->id(), 3);
  EXPECT_EQ(m.choice_case(), Everything::CHOICE_NOT_SET);
  m.set_allocated_choice_inner(released.release());
  EXPECT_TRUE(m.has_choice_inner());
  m.set_choice_flag(false);
  EXPECT_EQ(round_trip(m).choice_case(), Everything::kChoiceFlag);
  m.set_choice_color(three::COLOR_LAST);
  EXPECT_EQ(round_trip(m).choice_color(), three::COLOR_LAST);
  m.set_choice_blob("b\0", 2);
  EXPECT_EQ(round_trip(m).choice_blob().size(), 2u);
  m.set_choice_wide(-0.0);
  EXPECT_TRUE(std::signbit(round_trip(m).choice_wide()));
  m.clear_choice_i32();  // not the one that is set
  EXPECT_TRUE(m.has_choice_wide());
  m.clear_choice();
  EXPECT_EQ(m.choice_case(), Everything::CHOICE_NOT_SET);
  m.set_maybe(1.0f);
  EXPECT_EQ(m.Small_choice_case(), Everything::kMaybe);
}

TEST(Generated, EnumsHaveNamesAndParse) {
  EXPECT_EQ(three::Color_Name(three::COLOR_RED), "COLOR_RED");
  EXPECT_EQ(three::Color_Name(1), "COLOR_RED");
  EXPECT_EQ(three::Color_Name(2), "");
  EXPECT_EQ(Everything::Shape_Name(Everything::SQUARE), "SQUARE");
  three::Color color;
  EXPECT_TRUE(three::Color_Parse("COLOR_CRIMSON", &color));
  EXPECT_EQ(color, three::COLOR_RED);
  EXPECT_FALSE(three::Color_Parse("COLOR", &color));
  EXPECT_TRUE(three::Color_IsValid(-5));
  EXPECT_FALSE(three::Color_IsValid(2));
  EXPECT_EQ(three::Color_MIN, three::COLOR_DARK);
  EXPECT_EQ(three::Color_MAX, three::COLOR_LAST);
  EXPECT_EQ(three::Color_ARRAYSIZE, 1001);
  EXPECT_EQ(Everything::Shape_MAX, Everything::SQUARE);
  EXPECT_EQ(two::Level_MIN, two::BOTTOM);
  EXPECT_EQ(two::Level_MAX, two::TOP);
  Everything::Shape shape;
  EXPECT_TRUE(Everything::Shape_Parse("ROUND", &shape));
}

TEST(Generated, DefaultsOfProto2ShowUntilAFieldIsSet) {
  two::Defaults m;
  EXPECT_EQ(m.i32(), -42);
  EXPECT_EQ(m.i64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(m.u32(), 4294967295u);
  EXPECT_EQ(m.u64(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(m.real(), 1.5f);
  EXPECT_TRUE(std::isinf(m.infinite()) && m.infinite() < 0);
  EXPECT_EQ(m.wide(), 1e-300);
  EXPECT_TRUE(std::isnan(m.not_a_number()));
  EXPECT_TRUE(m.flag());
  EXPECT_EQ(m.text(), "say \"hi\"\n\001?");
  EXPECT_EQ(m.blob(), std::string("a\0b\377", 4));
  EXPECT_EQ(m.level(), two::HIGH);
  EXPECT_EQ(m.first_level(), two::LOW);
  EXPECT_EQ(m.least(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(m.one_i32(), 5);
  EXPECT_EQ(m.one_text(), "five");
  EXPECT_EQ(m.one_level(), two::LOW);
  EXPECT_TRUE(std::signbit(m.minus_zero()));
  EXPECT_FALSE(m.has_i32() || m.has_text() || m.has_level());
  EXPECT_EQ(m.ByteSizeLong(), 0u);

  m.set_i32(0);
  m.set_text("");
  m.set_flag(false);
  two::Defaults copy = round_trip(m);
  EXPECT_TRUE(copy.has_i32() && copy.has_text() && copy.has_flag());
  EXPECT_EQ(copy.i32(), 0);
  EXPECT_EQ(copy.text(), "");
  EXPECT_FALSE(copy.flag());
  copy.clear_text();
  copy.clear_i32();
  EXPECT_EQ(copy.text(), "say \"hi\"\n\001?");
  EXPECT_EQ(copy.i32(), -42);
  copy.mutable_text()->append("!");
  EXPECT_EQ(copy.text(), "say \"hi\"\n\001?!");
  copy.mutable_one_text()->append("!");
  EXPECT_EQ(copy.one_text(), "five!");
  copy.mutable_onegroup()->set_a(1);
  EXPECT_EQ(round_trip(copy).onegroup().a(), 1);
}

TEST(Generated, RequiredFieldsAreMissedAtAnyDepth) {
  two::Needs m;
  EXPECT_FALSE(m.IsInitialized());
  Everything holder;
  holder.set_text("kept no longer");
  EXPECT_FALSE(m.SerializeToString(holder.mutable_text()));
  EXPECT_EQ(holder.text(), "");
  m.set_id(1);
  m.set_name("n");
  EXPECT_TRUE(m.IsInitialized());
  m.mutable_next();
  EXPECT_FALSE(m.IsInitialized());
  two::Around around;
  EXPECT_TRUE(around.IsInitialized());
  (*around.mutable_needs())["key"];
  EXPECT_FALSE(around.IsInitialized());
}

TEST(Generated, GroupsNestAndRepeat) {
  two::Around m;
  m.mutable_single()->set_x(1);
  m.add_many()->set_y("a");
  m.add_many()->set_y("b");
  m.add_packed(1);
  m.add_packed(2);
  m.add_unpacked(3);
  m.add_unpacked(4);
  m.add_levels(two::HIGH);
  m.add_more()->add_more()->add_packed(9);
  two::Around copy = round_trip(m);
  EXPECT_EQ(copy.single().x(), 1);
  EXPECT_EQ(copy.many(1).y(), "b");
  EXPECT_EQ(copy.packed(1), 2);
  EXPECT_EQ(copy.unpacked(1), 4);
  EXPECT_EQ(copy.levels(0), two::HIGH);
  EXPECT_EQ(copy.more(0).more(0).packed(0), 9);
  two::Around only_group;
  only_group.mutable_single()->set_x(1);
  EXPECT_EQ(only_group.SerializeAsString(), "\x33\x08\x01\x34");
}

TEST(Generated, ExtensionsStayAmongTheUnknownFields) {
  two::Around m;
  std::string wire("\xa0\x06\x05", 3);  // extra = 100, varint 5
  ASSERT_TRUE(m.ParseFromString(wire));
  EXPECT_EQ(m.GetExtension(two::extra), 5);
  EXPECT_EQ(m.unknown_fields(), wire);
  EXPECT_EQ(m.SerializeAsString(), wire);
  m.SetExtension(two::extra, 6);
  EXPECT_EQ(m.unknown_fields(), std::string("\xa0\x06\x06", 3));
}

TEST(Generated, AnExtensionKeepsItsPlaceAmongUnknownFields) {
  ext::Base m;  // 20001: 1, one_int32: 1, 20000: 2, one_int32: 3, 20002: 3
  std::string before("\x88\xe2\x09\x01", 4), between("\x80\xe2\x09\x02", 4), behind("\x90\xe2\x09\x03", 4);
  ASSERT_TRUE(m.ParseFromString(before + "\x58\x01" + between + "\x58\x03" + behind));
  m.SetExtension(ext::one_int32, 7);
  EXPECT_EQ(m.SerializeAsString(), before + "\x58\x07" + between + behind);
  m.ClearExtension(ext::one_int32);
  EXPECT_EQ(m.SerializeAsString(), before + between + behind);
}

TEST(Generated, AMessageExtensionIsReadIntoAMessageThatIsThere) {
  ext::Base m;
  ext::Payload payload;
  payload.set_id(1);
  EXPECT_FALSE(m.ReadExtension(ext::one_message, &payload));
  EXPECT_EQ(payload.id(), 0);
  payload.set_note("set whole");
  m.SetExtension(ext::one_message, payload);
  m.AddExtension(ext::many_message, payload);
  ext::Payload read;
  EXPECT_TRUE(m.ReadExtension(ext::one_message, &read));
  EXPECT_EQ(read.note(), "set whole");
  EXPECT_EQ(m.GetExtension(ext::many_message, 0).note(), "set whole");
}

TEST(Generated, AMalformedMessageExtensionIsThereAndGivesWhatCouldBeRead) {
  ext::Base m;  // id = 1, then a length that leads out
  ASSERT_TRUE(m.ParseFromString(std::string("\xda\x01\x04\x08\x01\x12\x7f", 7)));
  EXPECT_TRUE(m.HasExtension(ext::one_message));
  EXPECT_EQ(m.GetExtension(ext::one_message).id(), 1);
  ext::Payload payload;
  EXPECT_FALSE(m.ReadExtension(ext::one_message, &payload));
  EXPECT_EQ(m.SerializeAsString().size(), 7u);
}

TEST(Generated, AMalformedPackedExtensionHurtsNoOther) {
  // packed_int32: {2, and a varint that is cut off}, then {5}
  std::string wire("\x92\x03\x02\x02\xae\x92\x03\x01\x05", 9);
  ext::Base m;
  ASSERT_TRUE(m.ParseFromString(wire));
  m.AddExtension(ext::packed_int32, 6);
  int size = m.ExtensionSize(ext::packed_int32);
  ASSERT_GE(size, 2);
  EXPECT_EQ(m.GetExtension(ext::packed_int32, size - 2), 5);
  EXPECT_EQ(m.GetExtension(ext::packed_int32, size - 1), 6);
  ext::Base last;
  ASSERT_TRUE(last.ParseFromString(wire.substr(0, 5)));
  last.AddExtension(ext::packed_int32, 7);
  size = last.ExtensionSize(ext::packed_int32);
  EXPECT_EQ(last.GetExtension(ext::packed_int32, size - 1), 7);
}

// What a dynamic user does: find the type, fill an object of it, put it into the extendee; and read it all back.
TEST(Generated, ExtensionsAreFoundByNameAndNumberAndFilledDynamically) {
  const schema::MessageType base = ext::Base::drover_type();
  schema::MessageType by_name = message::find_extension(base, "drover_test.ext.one_int32");
  ASSERT_NE(by_name.image, nullptr);
  EXPECT_EQ(by_name.index, message::find_extension(base, 11).index);
  EXPECT_EQ(message::find_extension(base, "drover_test.ext.nothing").image, nullptr);
  EXPECT_EQ(message::find_extension(base, 1).image, nullptr);
  // Declared in another file than its extendee: found among what the process has registered.
  EXPECT_NE(message::find_extension(two::Around::drover_type(), "drover_test.ext.Scope.for_around").image, nullptr);

  Arena arena;
  auto* object = static_cast<Message*>(arena.allocate_zeroed(by_name.entry().object_size));
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  ASSERT_TRUE(decode(by_name, object, std::string("\x58\x09", 2), arena).ok());
  ext::Base m;
  m.SetExtension(ext::one_int32, 1);
  extension::write_field({base, by_name}, &m, *object);
  EXPECT_EQ(m.GetExtension(ext::one_int32), 9);
  message::ExtensionFinder finder;
  message::DecodedExtensions decoded(base, m.drover_bytes(), &finder);
  ASSERT_EQ(decoded.extensions().size(), 1u);
  EXPECT_EQ(decoded.extensions()[0].type.index, by_name.index);
  EXPECT_EQ(decoded.unknown(), "");
}

// A pointer into an extension does not exist: what would keep one must not compile.
template <typename Editor>
concept CanBeNamed = requires(Editor& editor) { editor.operator->(); };
template <typename Editor>
concept CanBeUsedAtOnce = requires(Editor&& editor) { std::move(editor).operator->(); };
static_assert(!CanBeNamed<ExtensionEditor<ext::Payload>> && CanBeUsedAtOnce<ExtensionEditor<ext::Payload>>);
static_assert(!std::is_convertible_v<ExtensionEditor<ext::Payload>, ext::Payload*>);
static_assert(!std::is_move_constructible_v<ExtensionEditor<ext::Payload>>);
static_assert(!CanBeNamed<RepeatedExtensionEditor<int32_t>> && CanBeUsedAtOnce<RepeatedExtensionEditor<int32_t>>);
// An identifier fits its extendee, and one value or many.
template <typename M, typename Id>
concept HasIt = requires(const M& m, const Id& id) { m.HasExtension(id); };
static_assert(HasIt<ext::Base, decltype(ext::one_bool)> && !HasIt<two::Around, decltype(ext::one_bool)>);
static_assert(!HasIt<ext::Base, decltype(ext::many_bool)>);
static_assert(HasIt<two::Around, decltype(ext::Scope::for_around)>);

TEST(Generated, KeywordsAndNearClashesHaveProtobufsNames) {
  three::Keywords m;
  m.set_class_(1);
  m.set_namespace_("ns");
  m.add_int_(3);
  m.mutable_template_();
  m.set_new_("n");
  m.set_union_(true);
  EXPECT_EQ(m.operator_case(), three::Keywords::kUnion);
  m.set_has_bits(7);
  m.set_oneof_case(8);
  m.set_camelcase(11);
  m.set_field_with_2_numbers3four(14);
  (*m.mutable_delete_())["a"] = "b";
  m.set_type(three::Keywords::NULL_);
  m.mutable_string()->set_string("s");
  m.set_index(1);
  EXPECT_EQ(three::Keywords::kFieldWith2Numbers3FourFieldNumber, 14);
  EXPECT_EQ(three::Keywords::kCamelCaseFieldNumber, 11);
  three::Keywords copy = round_trip(m);
  EXPECT_EQ(copy.class_(), 1);
  EXPECT_EQ(copy.namespace_(), "ns");
  EXPECT_EQ(copy.int_(0), 3);
  EXPECT_EQ(copy.has_bits(), 7);
  EXPECT_EQ(copy.oneof_case(), 8);
  EXPECT_EQ(copy.delete_().at("a"), "b");
  EXPECT_EQ(copy.type(), three::Keywords_Type_NULL_);
  three::struct_ keyword;
  keyword.set_short_(three::struct__long_unsigned_);
  two::AlmostTheSame same;
  same.set_x(1);
  same.set_x_(2);
  same.set_x__(3);
  EXPECT_EQ(round_trip(same).x_(), 2);
  EXPECT_EQ(two::AlmostTheSame::kXFieldNumber_2, 2);
}

TEST(Generated, MessagesCopyMoveAndSwap) {
  Everything a;
  a.set_text("text");
  a.mutable_inner()->set_id(1);
  a.add_texts("t");
  (*a.mutable_counts())["k"] = 1;
  Everything copied(a);
  Everything assigned;
  assigned = a;
  EXPECT_EQ(copied.SerializeAsString(), a.SerializeAsString());
  EXPECT_EQ(assigned.SerializeAsString(), a.SerializeAsString());
  copied.mutable_inner()->set_id(2);
  EXPECT_EQ(a.inner().id(), 1);
  Everything moved(std::move(copied));
  EXPECT_EQ(moved.inner().id(), 2);
  Everything empty;
  empty.Swap(&moved);
  EXPECT_EQ(empty.inner().id(), 2);
  EXPECT_FALSE(moved.has_inner());
  std::vector<Everything> many;
  for (int i = 0; i < 10; ++i) many.push_back(a);
  EXPECT_EQ(many[0].text(), "text");
  a.Clear();
  EXPECT_EQ(a.ByteSizeLong(), 0u);
}

TEST(Generated, MessagesAreComparedByWhatTheyHold) {
  Everything a, b;
  EXPECT_EQ(a, b);
  a.set_text("same");
  for (int i = 0; i < 20; ++i) (*a.mutable_counts())[std::to_string(i)] = i;
  for (int i = 19; i >= 0; --i) (*b.mutable_counts())[std::to_string(i)] = i;
  EXPECT_NE(a, b);
  b.set_text("same");
  EXPECT_EQ(a, b);  // whatever the order of the entries
  b.set_maybe_i32(0);
  EXPECT_FALSE(a.MessageEquals(b));
  a.set_maybe_i32(0);
  a.set_wide(0.0);
  b.set_wide(-0.0);
  EXPECT_NE(a, b);  // by the bits
}

TEST(Generated, MessagesLiveInArenas) {
  Arena arena;
  auto* m = Arena::CreateMessage<Everything>(&arena);
  m->mutable_inner()->set_note("in the arena, and long enough to be stored there");
  EXPECT_EQ(m->GetArena(), &arena);
  EXPECT_EQ(m->inner().GetArena(), &arena);
  Everything heap;
  heap = *m;
  EXPECT_EQ(heap.inner().note(), m->inner().note());
}

TEST(Generated, AnyPacksAndUnpacks) {
  Everything::Inner inner;
  inner.set_id(99);
  Everything m;
  ASSERT_TRUE(m.mutable_any()->PackFrom(inner));
  EXPECT_EQ(m.any().type_url(), "type.googleapis.com/drover_test.three.Everything.Inner");
  EXPECT_TRUE(m.any().Is<Everything::Inner>());
  EXPECT_FALSE(m.any().Is<Everything>());
  Everything::Inner out;
  ASSERT_TRUE(round_trip(m).any().UnpackTo(&out));
  EXPECT_EQ(out.id(), 99);
  EXPECT_FALSE(m.any().UnpackTo(&m));
}

TEST(Generated, AStructHoldsItself) {
  google::protobuf::Struct s;
  (*s.mutable_fields())["list"].mutable_list_value()->add_values()->set_number_value(1.5);
  (*s.mutable_fields())["nothing"].set_null_value(google::protobuf::NULL_VALUE);
  google::protobuf::Struct copy;
  ASSERT_TRUE(copy.ParseFromString(s.SerializeAsString()));
  EXPECT_EQ(copy.fields().at("list").list_value().values(0).number_value(), 1.5);
  EXPECT_EQ(copy.fields().at("nothing").kind_case(), google::protobuf::Value::kNullValue);
}

}  // namespace
}  // namespace drover
