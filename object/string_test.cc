#include "object/string.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <unordered_map>

namespace drover {
namespace {

// A String as in a message: at a distance behind an owner word.
struct Holder {
  OwnerWord owner = 0;
  int64_t unknown = 0;
  String s;
  ~Holder() {
    if (owner & kOwnsArena) delete reinterpret_cast<Arena*>(owner & ~kOwnsArena);
  }
  String& mutable_s() { return *s.with_owner(&owner); }
  const String& get() const { return s; }
};

size_t length_of(const std::string& s) { return s.size(); }
size_t view_length(std::string_view s) { return s.size(); }

TEST(String, WorksInTheExpressionsThatUsersOfStdStringWrite) {
  Holder holder;
  holder.mutable_s() = "world";
  const String& name = holder.get();
  EXPECT_EQ("Hello " + name, "Hello world");
  EXPECT_EQ(std::string("Hello ") + name + "!", "Hello world!");
  EXPECT_EQ(name + '!', "world!");
  EXPECT_EQ(name + name, "worldworld");
  std::string copy = name;
  EXPECT_EQ(copy, "world");
  std::string constructed(name);
  constructed = name;
  constructed += name;
  EXPECT_EQ(constructed, "worldworld");
  EXPECT_EQ(length_of(name), 5u);
  EXPECT_EQ(view_length(name), 5u);
  EXPECT_TRUE(name == "world");
  EXPECT_TRUE("world" == name);
  EXPECT_TRUE(name == std::string("world"));
  EXPECT_TRUE(std::string("world") == name);
  EXPECT_TRUE(name == name);
  EXPECT_TRUE(name != "World");
  EXPECT_TRUE(name < "x");
  std::ostringstream out;
  out << name;
  EXPECT_EQ(out.str(), "world");
  EXPECT_STREQ(name.c_str(), "world");
  EXPECT_EQ(name.substr(1, 3), "orl");
  EXPECT_EQ(name.find('r'), 2u);
  EXPECT_EQ(name.find("xyz"), std::string::npos);
  std::unordered_map<std::string, int> counts;
  counts[name] += 1;
  EXPECT_EQ(counts["world"], 1);
  std::string spelled;
  for (char c : name) spelled += c;
  EXPECT_EQ(spelled, "world");
  EXPECT_THROW(name.at(5), std::out_of_range);
}

TEST(String, IsChangedAsAStdStringIs) {
  Holder holder;
  String& s = holder.mutable_s();
  std::string model;
  for (int i = 0; i < 300; ++i) {
    s.append("ab").push_back('c');
    model.append("ab").push_back('c');
  }
  EXPECT_EQ(s, model);
  s += s;
  model += model;
  EXPECT_EQ(s, model);
  s.resize(10);
  model.resize(10);
  EXPECT_EQ(s, model);
  EXPECT_STREQ(s.c_str(), model.c_str());
  s.resize(12, 'x');
  model.resize(12, 'x');
  EXPECT_EQ(s, model);
  s[0] = 'Z';
  EXPECT_EQ(s.front(), 'Z');
  s = std::string_view(s).substr(3, 4);
  EXPECT_EQ(s, model.substr(3, 4));
  s.clear();
  EXPECT_TRUE(s.empty());
  s.assign(3, 'q');
  EXPECT_EQ(s, "qqq");
}

TEST(String, KeepsItsStorageWhenItShrinksAndGrowsAgain) {
  Holder holder;
  String& s = holder.mutable_s();
  s = std::string(100, 'a');
  const char* before = holder.get().data();
  s = "short";
  s = std::string(60, 'b');
  EXPECT_EQ(holder.get().data(), before);
  EXPECT_EQ(s, std::string(60, 'b'));
}

TEST(String, DoesNotGrowItsArenaWhenItIsSetAgainAndAgain) {
  Holder holder;
  Arena arena;
  holder.owner = reinterpret_cast<OwnerWord>(&arena);
  for (int i = 0; i < 10000; ++i) holder.mutable_s() = std::string(static_cast<size_t>(100 + i * 37 % 900), 'x');
  EXPECT_LT(arena.space_allocated(), 64u << 10);
}

TEST(String, BorrowsWithoutCopyAndTerminatesOnlyWhenAsked) {
  const char wire[] = {'a', 'b', 'c', 'X'};
  Holder holder;
  holder.s.borrow(wire, 3, /*terminated=*/false);
  EXPECT_EQ(holder.get().data(), wire);
  EXPECT_STREQ(holder.get().c_str(), "abc");
  EXPECT_NE(holder.get().c_str(), wire);
  EXPECT_EQ(holder.get().data(), wire);
  forget_terminated_copies(&holder, sizeof(holder));
}

TEST(String, NeverShowsATerminatedCopyOfLongerBytesThatWereThereBefore) {
  Holder holder;
  holder.s.borrow("12345-secret", 12, /*terminated=*/false);
  EXPECT_STREQ(holder.get().c_str(), "12345-secret");
  holder.s.borrow("123X", 3, /*terminated=*/false);  // another object at the same address
  EXPECT_STREQ(holder.get().c_str(), "123");
  forget_terminated_copies(&holder, sizeof(holder));
}

TEST(String, KeepsOneTerminatedCopyOfBytesWithANulInside) {
  const char wire[] = {'a', '\0', 'b', 'X'};
  Holder holder;
  holder.s.borrow(wire, 3, /*terminated=*/false);
  const char* first = holder.get().c_str();
  EXPECT_EQ(holder.get().c_str(), first);
  EXPECT_EQ(std::string_view(first, 4), std::string_view("a\0b\0", 4));
  forget_terminated_copies(&holder, sizeof(holder));
}

TEST(String, CopiesBorrowedBytesBeforeItChangesThem) {
  char wire[] = "abc";
  Holder holder;
  holder.s.borrow(wire, 3, /*terminated=*/true);
  EXPECT_EQ(holder.get().c_str(), wire);
  holder.mutable_s().append("d");
  EXPECT_EQ(holder.get(), "abcd");
  EXPECT_STREQ(wire, "abc");
}

TEST(String, RefersToBytesThatItsArenaMayBorrow) {
  std::string request(1000, 'r');
  Holder from, to;
  from.s.borrow(request.data(), request.size(), true);
  Arena arena;
  arena.set_borrowable(request.data(), request.size());
  to.s.assign_string(&arena, from.s);
  EXPECT_EQ(to.get().data(), request.data());
  Arena other;
  to.s.assign_string(&other, from.s);
  EXPECT_NE(to.get().data(), request.data());
  EXPECT_EQ(to.get(), request);
}

TEST(StringDeath, RefusesToChangeAReceivedMessage) {
  Holder holder;
  holder.owner = kReceived;
  EXPECT_DEATH(holder.mutable_s() = "x", "read-only");
  holder.owner = 0;
}

}  // namespace
}  // namespace drover
