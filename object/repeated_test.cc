#include "object/repeated.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace drover {
namespace {

template <typename Field>
struct Holder {
  OwnerWord owner = 0;
  int64_t unknown = 0;
  Field field;
  ~Holder() {
    if (owner & kOwnsArena) delete reinterpret_cast<Arena*>(owner & ~kOwnsArena);
  }
  Field* mutable_field() {
    field.note_owner(&owner);
    return &field;
  }
};

TEST(RepeatedField, KeepsScalarsInOrderWhileItGrows) {
  Holder<RepeatedField<int32_t>> holder;
  auto* field = holder.mutable_field();
  std::vector<int32_t> model;
  for (int32_t i = 0; i < 1000; ++i) {
    field->Add(i * 7);
    model.push_back(i * 7);
  }
  EXPECT_TRUE(std::equal(field->begin(), field->end(), model.begin(), model.end()));
  EXPECT_EQ(std::accumulate(field->begin(), field->end(), int64_t{0}), 7 * 999 * 500);
  field->erase(field->begin() + 3);
  model.erase(model.begin() + 3);
  field->RemoveLast();
  model.pop_back();
  EXPECT_TRUE(std::equal(field->begin(), field->end(), model.begin(), model.end()));
  field->Resize(3, 0);
  EXPECT_EQ(field->size(), 3);
  EXPECT_EQ(field->Get(2), 14);
}

TEST(RepeatedField, AddsAnElementOfItself) {
  Holder<RepeatedField<uint64_t>> holder;
  auto* field = holder.mutable_field();
  for (uint64_t i = 0; i < 4; ++i) field->Add(i);
  field->Add(field->Get(3));
  EXPECT_EQ(field->Get(4), 3u);
}

TEST(RepeatedPtrField, KeepsStringsWholeWhileTheArrayMoves) {
  Holder<RepeatedPtrField<String>> holder;
  auto* field = holder.mutable_field();
  for (int i = 0; i < 200; ++i) {
    *field->Add() = std::string(static_cast<size_t>(i), 'a');
    field->Add(std::to_string(i));
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(field->Get(2 * i).size(), static_cast<size_t>(i));
    EXPECT_EQ(field->Get(2 * i + 1), std::to_string(i));
  }
  field->Mutable(7)->append("!");
  EXPECT_EQ(field->Get(7), "3!");
  field->SwapElements(1, 7);
  EXPECT_EQ(field->Get(1), "3!");
  EXPECT_EQ(field->Get(7), "0");
  field->Mutable(1)->append("?");
  EXPECT_EQ(field->Get(1), "3!?");
  field->DeleteSubrange(0, 390);
  EXPECT_EQ(field->size(), 10);
  EXPECT_EQ(field->Get(9), "199");
}

TEST(RepeatedPtrField, AddsAnElementOfItselfWhileTheArrayMoves) {
  Holder<RepeatedPtrField<String>> holder;
  auto* field = holder.mutable_field();
  field->Add("value-number-0");
  for (int i = 0; i < 40; ++i) {
    if (i % 2 == 0) {
      field->Add(field->Get(0));
    } else {
      *field->Add() = std::as_const(*field).Get(0);
    }
  }
  for (int i = 0; i <= 40; ++i) EXPECT_EQ(field->Get(i), "value-number-0");
}

TEST(RepeatedPtrField, ReusesClearedStrings) {
  Holder<RepeatedPtrField<String>> holder;
  auto* field = holder.mutable_field();
  *field->Add() = std::string(100, 'x');
  field->Clear();
  String* again = field->Add();
  EXPECT_TRUE(again->empty());
  EXPECT_GE(again->capacity(), 60u);
}

}  // namespace
}  // namespace drover
