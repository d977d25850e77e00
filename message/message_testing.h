// For the tests of message/: an object and protobuf C++'s message with the same random content, to do the same to both.
#pragma once

#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "testing/deterministic.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/random_schema.h"

namespace drover::message {

struct Pair {
  Pair(const testing::TestSchema& schema, const std::string& name, std::mt19937_64& random)
      : object(schema.type(name)), peer(schema.peer(name)) {
    testing::RandomMessages(random).fill(peer.get(), 3);
    wire = testing::deterministic(*peer);
    // Parsed again: a dynamic message holds some things otherwise that were set by reflection.
    EXPECT_TRUE(peer->ParsePartialFromString(wire));
    EXPECT_TRUE(object.decode(wire).ok());
  }
  // What the object says, as the peer writes it: map entries have no order of their own.
  std::string canonical() const { return canonical(object.encode()); }
  std::string peer_canonical() const { return canonical(testing::deterministic(*peer)); }

  testing::TestObject object;
  std::unique_ptr<google::protobuf::Message> peer;
  std::string wire;

 private:
  std::string canonical(const std::string& bytes) const {
    std::unique_ptr<google::protobuf::Message> parsed(peer->New());
    EXPECT_TRUE(parsed->ParsePartialFromString(bytes));
    return testing::deterministic(*parsed);
  }
};

// A random schema, and ten random messages of it for each body.
class RandomMessagesTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  explicit RandomMessagesTest(const workload::SchemaOptions& options = {})
      : schema(workload::random_schema(GetParam(), options)), names(workload::message_names(schema.files())) {}

  template <typename Body>
  void for_messages(Body body) {
    for (int round = 0; round < 10 && !HasFatalFailure(); ++round) {
      const std::string& name = names[random() % names.size()];
      SCOPED_TRACE(name);
      body(name);
    }
  }
  Pair pair(const std::string& name) { return Pair(schema, name, random); }

  testing::TestSchema schema;
  std::vector<std::string> names;
  std::mt19937_64 random{GetParam()};
};

// Without maps: a dynamic message of protobuf C++ may keep map entries of one key apart, and unknown fields in entries.
class RandomMessagesWithoutMapsTest : public RandomMessagesTest {
 protected:
  RandomMessagesWithoutMapsTest() : RandomMessagesTest({.maps = false}) {}
};

// The codec's own test messages, whose peers are of generated classes.
template <typename Make>
void for_generated_classes(Make body) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 60 * testing::test_factor(); ++round) {
    const char* const names[] = {"t.Every", "t.Maps", "t3.Implicit"};
    const std::string name = names[round % 3];
    SCOPED_TRACE(name);
    body(round % 3 == 2 ? testing::implicit_schema() : testing::every_schema(), name, random);
  }
}

inline auto random_seeds() { return testing::seeds<uint64_t>(15); }

}  // namespace drover::message
