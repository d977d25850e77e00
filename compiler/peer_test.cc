// Generated classes against protobuf C++'s for the same .proto, in one program: random messages, made through
// protobuf's reflection, must come out of Drover's classes as the same message.
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "beside/proto2.pb.h"
#include "beside/proto3.pb.h"
#include "proto2.pb.h"
#include "proto3.pb.h"

namespace drover {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

class RandomMessages {
 public:
  explicit RandomMessages(uint64_t seed) : random_(seed) {}

  void fill(Message* message, int depth) {
    const google::protobuf::Descriptor* type = message->GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (!field->is_required() && random_() % 3 != 0) continue;
      int count = field->is_repeated() ? static_cast<int>(random_() % 4) : 1;
      for (int n = 0; n < count; ++n) set(message, field, depth);
    }
  }

 private:
  void set(Message* m, const FieldDescriptor* f, int depth) {
    const Reflection* r = m->GetReflection();
    bool add = f->is_repeated();
    uint64_t bits = random_() >> (random_() % 64);
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: {
        auto v = static_cast<int32_t>(bits);
        return add ? r->AddInt32(m, f, v) : r->SetInt32(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        auto v = static_cast<int64_t>(bits);
        return add ? r->AddInt64(m, f, v) : r->SetInt64(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_UINT32: {
        auto v = static_cast<uint32_t>(bits);
        return add ? r->AddUInt32(m, f, v) : r->SetUInt32(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_UINT64:
        return add ? r->AddUInt64(m, f, bits) : r->SetUInt64(m, f, bits);
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double v = static_cast<double>(bits) / 3;
        return add ? r->AddDouble(m, f, v) : r->SetDouble(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        float v = static_cast<float>(bits) / 3;
        return add ? r->AddFloat(m, f, v) : r->SetFloat(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        return add ? r->AddBool(m, f, bits & 1) : r->SetBool(m, f, bits & 1);
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* v =
            f->enum_type()->value(static_cast<int>(bits % static_cast<uint64_t>(f->enum_type()->value_count())));
        return add ? r->AddEnum(m, f, v) : r->SetEnum(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string v(random_() % 40, static_cast<char>('a' + bits % 26));
        if (f->type() == FieldDescriptor::TYPE_BYTES) v += static_cast<char>(bits);
        return add ? r->AddString(m, f, v) : r->SetString(m, f, v);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        if (depth <= 0) return;
        return fill(add ? r->AddMessage(m, f) : r->MutableMessage(m, f), depth - 1);
      }
    }
  }

  std::mt19937_64 random_;
};

template <typename Peer, typename Ours>
void expect_same_messages(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Peer random;
    RandomMessages(static_cast<uint64_t>(round)).fill(&random, 3);
    std::string wire = random.SerializePartialAsString();
    Peer peer;  // as protobuf reads the same bytes: of map entries with one key, the last counts
    ASSERT_TRUE(peer.ParsePartialFromString(wire)) << round;
    Ours ours;
    ASSERT_TRUE(ours.ParsePartialFromString(wire)) << round;
    EXPECT_EQ(ours.IsInitialized(), peer.IsInitialized()) << round;
    Peer back;
    ASSERT_TRUE(back.ParsePartialFromString(ours.SerializePartialAsString())) << round;
    MessageDifferencer differencer;
    std::string difference;
    differencer.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differencer.Compare(peer, back)) << round << ": " << difference;
    Ours copy(ours);
    EXPECT_EQ(copy.SerializePartialAsString(), ours.SerializePartialAsString()) << round;
    EXPECT_EQ(ours.ByteSizeLong(), ours.SerializePartialAsString().size()) << round;
  }
}

TEST(BesideProtobuf, Proto3MessagesPassThroughUnchanged) {
  expect_same_messages<drover_test::three::Everything, beside::drover_test::three::Everything>(300);
}
TEST(BesideProtobuf, Proto3KeywordsPassThroughUnchanged) {
  expect_same_messages<drover_test::three::Keywords, beside::drover_test::three::Keywords>(100);
}
TEST(BesideProtobuf, Proto2DefaultsPassThroughUnchanged) {
  expect_same_messages<drover_test::two::Defaults, beside::drover_test::two::Defaults>(300);
}
TEST(BesideProtobuf, Proto2GroupsMapsAndRequiredFieldsPassThroughUnchanged) {
  expect_same_messages<drover_test::two::Around, beside::drover_test::two::Around>(300);
  expect_same_messages<drover_test::two::Needs, beside::drover_test::two::Needs>(100);
  expect_same_messages<drover_test::two::FarAway, beside::drover_test::two::FarAway>(100);
}

}  // namespace
}  // namespace drover
