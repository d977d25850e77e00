// One source, built twice: against Drover's generated classes and against protobuf C++'s. Both must pass.
// Repeated fields: the accessors, and the members of RepeatedField and RepeatedPtrField.
#include <google/protobuf/arena.h>
#include <google/protobuf/repeated_field.h>
#include <google/protobuf/repeated_ptr_field.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/api_testing.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

using drover_test::three::Everything;
using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;
namespace three = ::drover_test::three;

Everything with_numbers(std::vector<int32_t> numbers) {
  Everything m;
  for (int32_t number : numbers) m.add_i32s(number);
  return m;
}
Everything with_texts(std::vector<std::string> texts) {
  Everything m;
  for (const std::string& text : texts) m.add_texts(text);
  return m;
}
std::vector<int32_t> numbers_of(const Everything& m) { return {m.i32s().begin(), m.i32s().end()}; }
std::vector<std::string> texts_of(const Everything& m) { return {m.texts().begin(), m.texts().end()}; }
using Numbers = std::vector<int32_t>;
using Texts = std::vector<std::string>;

// ---- accessors

template <typename T, typename Get, typename Set, typename Add, typename Size, typename Clear>
void expect_scalars(const T (&values)[3], Get get, Set set, Add add, Size size, Clear clear) {
  for (const T& value : values) add(value);
  ASSERT_EQ(size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(i), values[i]);
  set(1, values[0]);
  EXPECT_EQ(get(1), values[0]);
  clear();
  EXPECT_EQ(size(), 0);
}
#define EXPECT_SCALARS(TYPE, NAME, ...)                                                                \
  do {                                                                                                 \
    Everything m;                                                                                      \
    const TYPE values[3] = {__VA_ARGS__};                                                              \
    expect_scalars<TYPE>(                                                                              \
        values, [&](int i) { return m.NAME(i); }, [&](int i, TYPE v) { m.set_##NAME(i, v); },          \
        [&](TYPE v) { m.add_##NAME(v); }, [&] { return m.NAME##_size(); }, [&] { m.clear_##NAME(); }); \
  } while (false)

TEST(ApiRepeated, ScalarAccessors) {
  EXPECT_SCALARS(bool, flags, true, false, true);
  EXPECT_SCALARS(int32_t, i32s, 1, -2, 3);
  EXPECT_SCALARS(int64_t, s64s, 1, -2, 3);
  EXPECT_SCALARS(uint32_t, f32s, 1, 2, 3);
  EXPECT_SCALARS(uint64_t, u64s, 1, 2, 3);
  EXPECT_SCALARS(float, reals, 1.5f, 2.5f, 3.5f);
  EXPECT_SCALARS(double, wides, 1.5, 2.5, 3.5);
  EXPECT_SCALARS(three::Color, colors, three::COLOR_RED, three::COLOR_DARK, three::COLOR_LAST);
}

TEST(ApiRepeated, StringAccessors) {
  Everything m;
  m.add_texts("literal");
  m.add_texts(std::string("moved"));
  std::string kept = "copied";
  m.add_texts(kept);
  m.add_texts("cut off", 3);
  *m.add_texts() = "assigned";
  m.add_texts()->append("appended");
  m.add_blobs("a\0b", 3);
  EXPECT_EQ(texts_of(m), (Texts{"literal", "moved", "copied", "cut", "assigned", "appended"}));
  EXPECT_EQ(m.blobs(0).size(), 3u);
  m.set_texts(0, "set");
  m.set_texts(1, std::string("set 1"));
  m.set_texts(2, "set 2 and more", 5);
  m.mutable_texts(3)->push_back('!');
  EXPECT_EQ(m.texts(0), "set");
  EXPECT_EQ(m.texts(1), "set 1");
  EXPECT_EQ(m.texts(2), "set 2");
  EXPECT_EQ(m.texts(3), "cut!");
  EXPECT_EQ(m.texts_size(), 6);
  m.clear_texts();
  EXPECT_EQ(m.texts_size(), 0);
}

TEST(ApiRepeated, MessageAccessors) {
  Everything m;
  m.add_inners()->set_id(1);
  Everything::Inner* second = m.add_inners();
  second->set_id(2);
  m.mutable_inners(0)->set_note("first");
  EXPECT_EQ(m.inners(0).note(), "first");
  EXPECT_EQ(m.inners(1).id(), 2);
  EXPECT_EQ(m.inners_size(), 2);
  for (const Everything::Inner& inner : m.inners()) EXPECT_GT(inner.id(), 0);
  for (Everything::Inner& inner : *m.mutable_inners()) inner.set_id(9);
  for (auto& inner : *m.mutable_inners()) EXPECT_EQ(inner.id(), 9);
  m.clear_inners();
  EXPECT_EQ(m.inners_size(), 0);
}

// ---- RepeatedField

TEST(ApiRepeated, FieldReads) {
  Everything m = with_numbers({5, 6, 7});
  const RepeatedField<int32_t>& field = m.i32s();
  EXPECT_EQ(field.size(), 3);
  EXPECT_FALSE(field.empty());
  EXPECT_EQ(field.Get(0), 5);
  EXPECT_EQ(field[1], 6);
  EXPECT_EQ(field.at(2), 7);
  EXPECT_EQ(field.data()[2], 7);
  EXPECT_EQ(field.end() - field.begin(), 3);
  EXPECT_EQ(*field.cbegin(), 5);
  EXPECT_EQ(*(field.cend() - 1), 7);
  EXPECT_EQ(*field.rbegin(), 7);
  EXPECT_EQ(*(field.rend() - 1), 5);
  EXPECT_EQ(std::accumulate(field.begin(), field.end(), 0), 18);
  EXPECT_GE(field.Capacity(), 3);
  EXPECT_GE(field.SpaceUsedExcludingSelfLong(), 12u);
  RepeatedField<int32_t>::const_iterator at = field.begin();
  RepeatedField<int32_t>::value_type value = *at;
  RepeatedField<int32_t>::size_type size = field.size();
  EXPECT_EQ(value + size, 8);
}

TEST(ApiRepeated, FieldWrites) {
  Everything m = with_numbers({5, 6, 7});
  RepeatedField<int32_t>* field = m.mutable_i32s();
  field->Add(8);
  *field->Add() = 9;
  field->Set(0, 50);
  *field->Mutable(1) = 60;
  (*field)[2] = 70;
  field->at(3) = 80;
  EXPECT_EQ(numbers_of(m), (Numbers{50, 60, 70, 80, 9}));
  field->mutable_data()[4] = 90;
  field->SwapElements(0, 4);
  EXPECT_EQ(numbers_of(m), (Numbers{90, 60, 70, 80, 50}));
  for (int32_t& value : *field) value /= 10;
  *field->rbegin() = 1;
  EXPECT_EQ(numbers_of(m), (Numbers{9, 6, 7, 8, 1}));
  std::sort(field->begin(), field->end());
  EXPECT_EQ(numbers_of(m), (Numbers{1, 6, 7, 8, 9}));
}

TEST(ApiRepeated, FieldGrows) {
  Everything m;
  RepeatedField<int32_t>* field = m.mutable_i32s();
  Numbers more = {1, 2, 3};
  field->Add(more.begin(), more.end());
  field->Reserve(100);
  EXPECT_GE(field->Capacity(), 100);
  field->AddAlreadyReserved(4);
  *field->AddAlreadyReserved() = 5;
  std::fill_n(field->AddNAlreadyReserved(2), 2, 6);
  EXPECT_EQ(numbers_of(m), (Numbers{1, 2, 3, 4, 5, 6, 6}));
  field->Resize(9, 7);
  field->Resize(8, 0);
  EXPECT_EQ(numbers_of(m), (Numbers{1, 2, 3, 4, 5, 6, 6, 7}));
  std::copy(more.begin(), more.end(), google::protobuf::RepeatedFieldBackInserter(field));
  EXPECT_EQ(field->size(), 11);
  field->Assign(more.begin(), more.end());
  EXPECT_EQ(numbers_of(m), more);
  Everything other = with_numbers({8, 9});
  field->MergeFrom(other.i32s());
  EXPECT_EQ(numbers_of(m), (Numbers{1, 2, 3, 8, 9}));
  field->CopyFrom(other.i32s());
  EXPECT_EQ(numbers_of(m), (Numbers{8, 9}));
  *field = with_numbers({1}).i32s();
  EXPECT_EQ(numbers_of(m), (Numbers{1}));
}

TEST(ApiRepeated, FieldShrinks) {
  Everything m = with_numbers({0, 1, 2, 3, 4, 5, 6, 7});
  RepeatedField<int32_t>* field = m.mutable_i32s();
  field->RemoveLast();
  field->Truncate(6);
  EXPECT_EQ(numbers_of(m), (Numbers{0, 1, 2, 3, 4, 5}));
  auto behind = field->erase(field->begin() + 1);
  EXPECT_EQ(*behind, 2);
  behind = field->erase(field->begin() + 1, field->begin() + 3);
  EXPECT_EQ(*behind, 4);
  EXPECT_EQ(numbers_of(m), (Numbers{0, 4, 5}));
  int32_t extracted[2];
  field->ExtractSubrange(0, 2, extracted);
  EXPECT_EQ(extracted[0] + extracted[1], 4);
  EXPECT_EQ(numbers_of(m), (Numbers{5}));
  field->erase(std::remove(field->begin(), field->end(), 5), field->end());
  EXPECT_TRUE(field->empty());
  field->Add(1);
  field->Clear();
  EXPECT_EQ(field->size(), 0);
}

TEST(ApiRepeated, FieldsSwap) {
  Everything a = with_numbers({1, 2}), b = with_numbers({3});
  a.mutable_i32s()->Swap(b.mutable_i32s());
  EXPECT_EQ(numbers_of(a), (Numbers{3}));
  EXPECT_EQ(numbers_of(b), (Numbers{1, 2}));
  google::protobuf::Arena arena;
  auto* c = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  auto* d = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  c->add_i32s(1);
  d->add_i32s(2);
  d->add_i32s(3);
  c->mutable_i32s()->UnsafeArenaSwap(d->mutable_i32s());
  EXPECT_EQ(numbers_of(*c), (Numbers{2, 3}));
  EXPECT_EQ(numbers_of(*d), (Numbers{1}));
  c->add_i32s(4);
  d->add_i32s(5);
  EXPECT_EQ(numbers_of(*c), (Numbers{2, 3, 4}));
  EXPECT_EQ(numbers_of(*d), (Numbers{1, 5}));
  c->mutable_i32s()->Swap(a.mutable_i32s());
  EXPECT_EQ(numbers_of(*c), (Numbers{3}));
  EXPECT_EQ(numbers_of(a), (Numbers{2, 3, 4}));
  EXPECT_EQ(c->mutable_i32s()->GetArena(), &arena);
}

TEST(ApiRepeated, PartsReleasedInAnArenaStayThere) {
  google::protobuf::Arena arena;
  auto* m = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  for (int i = 0; i < 3; ++i) m->add_inners()->set_id(i);
  Everything::Inner* last = m->mutable_inners()->UnsafeArenaReleaseLast();
  EXPECT_EQ(last->id(), 2);
  EXPECT_EQ(last->GetArena(), &arena);
  Everything::Inner* both[2];
  m->mutable_inners()->UnsafeArenaExtractSubrange(0, 2, both);
  EXPECT_EQ(both[1]->id(), 1);
  EXPECT_EQ(m->inners_size(), 0);
  Everything outside;
  outside.add_inners()->set_id(4);
  EXPECT_EQ(outside.mutable_inners(0)->GetArena(), nullptr);
  std::unique_ptr<Everything::Inner> owned(outside.mutable_inners()->UnsafeArenaReleaseLast());
  EXPECT_EQ(owned->id(), 4);
}

TEST(ApiRepeated, EnumsAreFieldsOfInt) {
  Everything m;
  m.add_colors(three::COLOR_RED);
  m.mutable_colors()->Add(three::COLOR_DARK);
  const RepeatedField<int>& colors = m.colors();
  EXPECT_EQ(colors.Get(1), three::COLOR_DARK);
  for (int color : m.colors()) EXPECT_TRUE(three::Color_IsValid(color));
}

// ---- RepeatedPtrField

TEST(ApiRepeated, PtrFieldReads) {
  Everything m = with_texts({"a", "b", "c"});
  const auto& field = m.texts();
  EXPECT_EQ(field.size(), 3);
  EXPECT_FALSE(field.empty());
  EXPECT_EQ(field.Get(0), "a");
  EXPECT_EQ(field[1], "b");
  EXPECT_EQ(field.at(2), "c");
  EXPECT_EQ(field.end() - field.begin(), 3);
  EXPECT_EQ(*field.cbegin(), "a");
  EXPECT_EQ(field.begin()->size(), 1u);
  EXPECT_EQ(field.begin()[2], "c");
  EXPECT_EQ(*field.rbegin(), "c");
  EXPECT_EQ(*(field.rend() - 1), "a");
  EXPECT_TRUE(field.begin() < field.end());
  EXPECT_EQ(**field.pointer_begin(), "a");
  EXPECT_EQ(field.pointer_end() - field.pointer_begin(), 3);
  EXPECT_NE(std::find(field.begin(), field.end(), "b"), field.end());
  EXPECT_EQ(std::count_if(field.begin(), field.end(), [](const std::string& text) { return text > "a"; }), 2);
  EXPECT_GE(field.Capacity(), 3);
  EXPECT_GT(field.SpaceUsedExcludingSelfLong(), 0u);
}

TEST(ApiRepeated, PtrFieldWrites) {
  Everything m = with_texts({"c", "a", "b"});
  auto* field = m.mutable_texts();
  *field->Add() = "d";
  field->Add("e");
  field->Mutable(0)->append("!");
  (*field)[1] = "A";
  field->at(2) = "B";
  EXPECT_EQ(texts_of(m), (Texts{"c!", "A", "B", "d", "e"}));
  field->SwapElements(0, 4);
  for (auto& text : *field) text += "x";
  EXPECT_EQ(texts_of(m), (Texts{"ex", "Ax", "Bx", "dx", "c!x"}));
  std::sort(field->begin(), field->end());
  EXPECT_EQ(texts_of(m), (Texts{"Ax", "Bx", "c!x", "dx", "ex"}));
  std::sort(field->begin(), field->end(), [](const std::string& a, const std::string& b) { return a > b; });
  EXPECT_EQ(m.texts(0), "ex");
  std::reverse(field->begin(), field->end());
  std::rotate(field->begin(), field->begin() + 2, field->end());
  EXPECT_EQ(texts_of(m), (Texts{"c!x", "dx", "ex", "Ax", "Bx"}));
  *field->rbegin() = "last";
  EXPECT_EQ(m.texts(4), "last");
}

TEST(ApiRepeated, PtrFieldGrowsAndShrinks) {
  Everything m;
  auto* field = m.mutable_texts();
  Texts more = {"1", "2", "3"};
  field->Add(more.begin(), more.end());
  field->Reserve(50);
  EXPECT_GE(field->Capacity(), 50);
  std::copy(more.begin(), more.end(), google::protobuf::RepeatedFieldBackInserter(field));
  EXPECT_EQ(field->size(), 6);
  field->DeleteSubrange(1, 3);
  EXPECT_EQ(texts_of(m), (Texts{"1", "2", "3"}));
  auto behind = field->erase(field->begin());
  EXPECT_EQ(*behind, "2");
  field->Assign(more.begin(), more.end());
  field->erase(field->begin() + 1, field->end());
  EXPECT_EQ(texts_of(m), (Texts{"1"}));
  field->erase(std::remove(field->begin(), field->end(), "1"), field->end());
  EXPECT_TRUE(field->empty());
  Everything other = with_texts({"x", "y"});
  field->MergeFrom(other.texts());
  field->MergeFrom(other.texts());
  EXPECT_EQ(texts_of(m), (Texts{"x", "y", "x", "y"}));
  field->CopyFrom(other.texts());
  *field = other.texts();
  EXPECT_EQ(texts_of(m), (Texts{"x", "y"}));
  field->RemoveLast();
  EXPECT_EQ(texts_of(m), (Texts{"x"}));
  field->Clear();
  EXPECT_EQ(field->size(), 0);
  *field->Add() = "again";
  EXPECT_EQ(texts_of(m), (Texts{"again"}));
}

TEST(ApiRepeated, PtrFieldsTakeOverAndRelease) {
  Everything m;
  m.mutable_texts()->AddAllocated(new std::string("given"));
  std::unique_ptr<std::string> text(m.mutable_texts()->ReleaseLast());
  EXPECT_EQ(*text, "given");
  EXPECT_EQ(m.texts_size(), 0);
  auto* inner = new Everything::Inner();
  inner->set_id(7);
  m.mutable_inners()->AddAllocated(inner);
  EXPECT_EQ(m.inners(0).id(), 7);
  std::unique_ptr<Everything::Inner> released(m.mutable_inners()->ReleaseLast());
  EXPECT_EQ(released->id(), 7);
  EXPECT_EQ(m.inners_size(), 0);
  Everything::Inner moved;
  moved.set_note("moved");
  m.mutable_inners()->Add(std::move(moved));
  EXPECT_EQ(m.inners(0).note(), "moved");
  for (int i = 1; i < 4; ++i) m.add_inners()->set_id(i);
  Everything::Inner* extracted[2];
  m.mutable_inners()->ExtractSubrange(1, 2, extracted);
  EXPECT_EQ(extracted[0]->id(), 1);
  EXPECT_EQ(extracted[1]->id(), 2);
  EXPECT_EQ(m.inners_size(), 2);
  EXPECT_EQ(m.inners(1).id(), 3);
  delete extracted[0];
  delete extracted[1];
}

TEST(ApiRepeated, PtrFieldsSwap) {
  Everything a = with_texts({"1", std::string(100, '2')}), b = with_texts({"3"});
  a.mutable_texts()->Swap(b.mutable_texts());
  EXPECT_EQ(texts_of(a), (Texts{"3"}));
  EXPECT_EQ(texts_of(b), (Texts{"1", std::string(100, '2')}));
  google::protobuf::Arena arena;
  auto* c = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  auto* d = google::protobuf::Arena::CreateMessage<Everything>(&arena);
  c->add_texts("c");
  d->add_inners()->set_id(1);
  c->mutable_inners()->Swap(d->mutable_inners());
  c->mutable_texts()->UnsafeArenaSwap(d->mutable_texts());
  c->add_texts("new");
  c->add_inners()->set_id(2);
  EXPECT_EQ(texts_of(*c), (Texts{"new"}));
  EXPECT_EQ(texts_of(*d), (Texts{"c"}));
  EXPECT_EQ(c->inners(0).id(), 1);
  EXPECT_EQ(c->inners(1).id(), 2);
  EXPECT_EQ(d->inners_size(), 0);
  c->mutable_inners()->Swap(a.mutable_inners());
  EXPECT_EQ(a.inners(1).id(), 2);
}

TEST(ApiRepeated, MessagesSort) {
  Everything m;
  for (int id : {3, 1, 2}) m.add_inners()->set_id(id);
  std::sort(m.mutable_inners()->begin(), m.mutable_inners()->end(),
            [](const Everything::Inner& a, const Everything::Inner& b) { return a.id() < b.id(); });
  EXPECT_EQ(m.inners(0).id(), 1);
  EXPECT_EQ(m.inners(2).id(), 3);
  std::sort(m.mutable_inners()->pointer_begin(), m.mutable_inners()->pointer_end(),
            [](const Everything::Inner* a, const Everything::Inner* b) { return a->id() > b->id(); });
  EXPECT_EQ(m.inners(0).id(), 3);
  EXPECT_EQ(m.inners(2).id(), 1);
  auto found = std::find_if(m.inners().begin(), m.inners().end(), [](const auto& inner) { return inner.id() == 2; });
  ASSERT_NE(found, m.inners().end());
  EXPECT_EQ(found - m.inners().begin(), 1);
}

}  // namespace
