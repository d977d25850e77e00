// One source, built twice: against Drover and against protobuf C++. Both must pass.
// google/protobuf/util/json_util.h and delimited_message_util.h.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "proto2.pb.h"
#include "proto3.pb.h"

namespace {

namespace util = google::protobuf::util;
namespace io = google::protobuf::io;
using drover_test::three::Everything;
using drover_test::two::Needs;

TEST(JsonUtil, PrintsWithOptions) {
  Everything m;
  m.set_maybe_i32(1);
  m.set_maybe_color(drover_test::three::COLOR_RED);
  std::string text;
  ASSERT_TRUE(util::MessageToJsonString(m, &text).ok());
  EXPECT_EQ(text, "{\"maybeI32\":1,\"maybeColor\":\"COLOR_RED\"}");
  util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_enums_as_ints = true;
  options.add_whitespace = true;
  text.clear();
  ASSERT_TRUE(util::MessageToJsonString(m, &text, options).ok());
  EXPECT_EQ(text, "{\n \"maybe_i32\": 1,\n \"maybe_color\": 1\n}\n");
  options = {};
  options.always_print_primitive_fields = true;
  text.clear();
  ASSERT_TRUE(util::MessageToJsonString(Everything::Inner::Deepest(), &text, options).ok());
  EXPECT_EQ(text, "{\"blob\":\"\"}");
}

TEST(JsonUtil, ParsesAndSaysThatItCannot) {
  Everything m;
  EXPECT_TRUE(util::JsonStringToMessage("{\"i32\": 5, \"inner\": {\"id\": \"6\"}}", &m).ok());
  EXPECT_EQ(m.i32(), 5);
  EXPECT_EQ(m.inner().id(), 6);
  const util::Status status = util::JsonStringToMessage("{\"nothing\": 5}", &m);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), util::StatusCode::kInvalidArgument);
  EXPECT_FALSE(status.message().empty());
  EXPECT_NE(status.ToString().find("INVALID_ARGUMENT:"), std::string::npos);
  util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  EXPECT_TRUE(util::JsonStringToMessage("{\"nothing\": 5, \"text\": \"t\"}", &m, options).ok());
  EXPECT_EQ(m.text(), "t");
  EXPECT_EQ(util::Status().ToString(), "OK");
}

TEST(JsonUtil, ParsingReplacesTheMessageUnlessItFails) {
  Everything m;
  ASSERT_TRUE(util::JsonStringToMessage("{\"i32\": 5, \"i32s\": [1], \"inner\": {\"id\": \"6\"}}", &m).ok());
  ASSERT_TRUE(util::JsonStringToMessage("{\"text\": \"new\", \"i32s\": [2]}", &m).ok());
  EXPECT_EQ(m.text(), "new");
  EXPECT_EQ(m.i32(), 0);
  EXPECT_FALSE(m.has_inner());
  ASSERT_EQ(m.i32s_size(), 1);
  EXPECT_EQ(m.i32s(0), 2);
  for (const char* text : {"{\"i32\": 7, \"text\"", "{\"i32\": 7, \"nothing\": 1}", "{\"i32\": 7, \"flag\": 3}", "["}) {
    EXPECT_FALSE(util::JsonStringToMessage(text, &m).ok()) << text;
    EXPECT_EQ(m.text(), "new") << text;
    EXPECT_EQ(m.i32(), 0) << text;
  }
  // A part of another message, whose memory is not its own.
  Everything outer;
  outer.mutable_self()->set_i32(1);
  ASSERT_TRUE(util::JsonStringToMessage("{\"text\": \"inside\"}", outer.mutable_self()).ok());
  EXPECT_EQ(outer.self().i32(), 0);
  EXPECT_EQ(outer.self().text(), "inside");
}

TEST(JsonUtil, MissingRequiredFieldsAreRefused) {
  Needs needs;
  EXPECT_FALSE(util::JsonStringToMessage("{\"id\": 1}", &needs).ok());
  EXPECT_TRUE(util::JsonStringToMessage("{\"id\": 1, \"name\": \"n\"}", &needs).ok());
  EXPECT_EQ(needs.name(), "n");
}

TEST(Delimited, MessagesAreWrittenWithoutTheirRequiredFields) {
  Needs needs;
  needs.set_id(5);
  std::string bytes;
  {
    io::StringOutputStream stream(&bytes);
    EXPECT_TRUE(util::SerializeDelimitedToZeroCopyStream(needs, &stream));
  }
  EXPECT_EQ(bytes, "\x02\x08\x05");
}

TEST(Delimited, MessagesComeOneAfterTheOther) {
  std::stringstream stream;
  for (int i = 0; i < 100; ++i) {
    Needs needs;
    needs.set_id(i);
    needs.set_name(std::string(static_cast<size_t>(i) * 7, 'n'));
    ASSERT_TRUE(util::SerializeDelimitedToOstream(needs, &stream));
  }
  io::IstreamInputStream in(&stream, 50);
  bool clean = true;
  for (int i = 0; i < 100; ++i) {
    Needs needs;
    ASSERT_TRUE(util::ParseDelimitedFromZeroCopyStream(&needs, &in, &clean));
    EXPECT_FALSE(clean);
    EXPECT_EQ(needs.id(), i);
    EXPECT_EQ(needs.name().size(), static_cast<size_t>(i) * 7);
  }
  Needs needs;
  EXPECT_FALSE(util::ParseDelimitedFromZeroCopyStream(&needs, &in, &clean));
  EXPECT_TRUE(clean);
}

TEST(Delimited, AMessageThatIsCutOffIsNoCleanEnd) {
  Needs needs;
  needs.set_id(1);
  needs.set_name("name");
  std::string bytes;
  {
    io::StringOutputStream stream(&bytes);
    ASSERT_TRUE(util::SerializeDelimitedToZeroCopyStream(needs, &stream));
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    io::ArrayInputStream in(bytes.data(), static_cast<int>(size));
    Needs read;
    bool clean = size != 0;
    EXPECT_FALSE(util::ParseDelimitedFromZeroCopyStream(&read, &in, &clean));
    EXPECT_EQ(clean, size == 0);
  }
  std::FILE* file = std::tmpfile();
  ASSERT_TRUE(util::SerializeDelimitedToFileDescriptor(needs, fileno(file)));
  lseek(fileno(file), 0, SEEK_SET);
  io::FileInputStream in(fileno(file));
  Needs read;
  EXPECT_TRUE(util::ParseDelimitedFromZeroCopyStream(&read, &in, nullptr));
  EXPECT_EQ(read.name(), "name");
  std::fclose(file);
}

}  // namespace
