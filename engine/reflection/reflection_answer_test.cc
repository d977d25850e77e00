#include "engine/reflection/reflection_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/reflection/reflection_testing.h"
#include "schema/proto_text.h"

namespace drover::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kFile = 3, kSymbol = 4, kNumbers = 6, kServices = 7;  // of the request
constexpr uint32_t kFiles = 4, kExtensionNumbers = 5, kServiceList = 6, kError = 7;

ReflectionSource source(std::initializer_list<std::pair<const char*, const char*>> files,
                        std::vector<std::string> services) {
  std::string error;
  auto index = DescriptorIndex::make(schema::parse_protos(files).SerializeAsString(), &error);
  EXPECT_NE(index, nullptr) << error;
  return {std::move(index), std::move(services)};
}

class Answers : public testing::Test {
 protected:
  Reflected ask(const std::string& request) {
    const ReflectionSource* sources[] = {&reflection_itself(), &shop_, &mail_};
    auto answer = ReflectionAnswer::make(request, sources);
    EXPECT_NE(answer, nullptr);
    if (answer == nullptr) return Reflected("");
    std::string bytes;
    for (const Piece& piece : answer->pieces()) bytes.append(piece.data, piece.size);
    EXPECT_EQ(bytes.size(), answer->size());
    Reflected reflected(bytes);
    EXPECT_FALSE(reflected.broken);
    EXPECT_EQ(reflected.request, request);
    return reflected;
  }

  const ReflectionSource shop_ = source(
      {{"c.proto",
        "syntax = \"proto2\"; package p; message C { extensions 5 to 9; } extend .p.C { optional int32 five = 5; }"},
       {"b.proto", "syntax = \"proto2\"; package p; import \"c.proto\"; message B { optional C c = 1; }"},
       {"shop.proto",
        "syntax = \"proto2\"; package p; import \"b.proto\"; import \"c.proto\"; service Shop { rpc Buy(B) returns "
        "(C); }"}},
      {"common.Admin", "p.Shop"});
  const ReflectionSource mail_ =
      source({{"mail.proto", "syntax = \"proto3\"; package q; message M {} service Mail { rpc Send(M) returns (M); }"},
              {"b.proto", "syntax = \"proto3\"; package q; message Other {}"}},
             {"common.Admin", "q.Mail"});
};

TEST_F(Answers, TheServicesOfAllHostsAreListedOnceInOrder) {
  Reflected reply = ask(name_request(kServices, "*"));
  EXPECT_EQ(reply.kind, kServiceList);
  EXPECT_THAT(reply.services, ElementsAre("common.Admin", "grpc.reflection.v1.ServerReflection",
                                          "grpc.reflection.v1alpha.ServerReflection", "p.Shop", "q.Mail"));
}

TEST_F(Answers, AFileComesWithAllThatItImportsOnce) {
  EXPECT_THAT(ask(name_request(kFile, "shop.proto")).files, ElementsAre("shop.proto", "b.proto", "c.proto"));
  EXPECT_THAT(ask(name_request(kSymbol, "p.Shop.Buy")).files, ElementsAre("shop.proto", "b.proto", "c.proto"));
  EXPECT_THAT(ask(name_request(kSymbol, "p.C")).files, ElementsAre("c.proto"));
  Reflected mail = ask(name_request(kSymbol, "q.Mail"));
  EXPECT_EQ(mail.kind, kFiles);
  EXPECT_THAT(mail.files, ElementsAre("mail.proto"));
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(file.ParseFromString(mail.bytes[0]));
  EXPECT_EQ(file.service(0).name(), "Mail");
}

TEST_F(Answers, OfTwoFilesWithOneNameTheFirstHostsCounts) {
  EXPECT_THAT(ask(name_request(kFile, "b.proto")).files, ElementsAre("b.proto", "c.proto"));
  EXPECT_THAT(ask(name_request(kSymbol, "q.Other")).files, ElementsAre("b.proto")) << "with its own host's other file";
}

TEST_F(Answers, TheReflectionServiceDescribesItself) {
  for (const std::string_view name : {kReflectionV1, kReflectionV1Alpha}) {
    Reflected reply = ask(name_request(kSymbol, name));
    ASSERT_EQ(reply.files.size(), 1u);
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(reply.bytes[0]));
    EXPECT_EQ(file.package() + "." + file.service(0).name(), name);
  }
}

TEST_F(Answers, ExtensionsAreFound) {
  EXPECT_THAT(ask(extension_request("p.C", 5)).files, ElementsAre("c.proto"));
  Reflected numbers = ask(name_request(kNumbers, "p.C"));
  EXPECT_EQ(numbers.kind, kExtensionNumbers);
  EXPECT_EQ(numbers.message, "p.C");
  EXPECT_THAT(numbers.numbers, ElementsAre(5));
  numbers = ask(name_request(kNumbers, "p.B"));
  EXPECT_EQ(numbers.kind, kExtensionNumbers);
  EXPECT_THAT(numbers.numbers, IsEmpty());
}

Reflected ask_of(const std::vector<ReflectionSource>& hosts, const std::string& request) {
  std::vector<const ReflectionSource*> sources;
  for (const ReflectionSource& host : hosts) sources.push_back(&host);
  auto answer = ReflectionAnswer::make(request, sources);
  std::string bytes;
  for (const Piece& piece : answer->pieces()) bytes.append(piece.data, piece.size);
  return Reflected(bytes);
}

TEST(AnswersOfManyHosts, NumbersOfExtensionsAreThoseOfAllHostsOnce) {
  const char base[] = "syntax = \"proto2\"; package p; message C { extensions 1 to 99; }";
  std::vector<ReflectionSource> hosts;
  for (const std::vector<int>& numbers : {std::vector<int>{7, 3}, {}, {5, 7}, {9}, {3}}) {
    std::string extends = "syntax = \"proto2\"; package p; import \"c.proto\";";
    for (const int number : numbers) {
      const std::string n = std::to_string(number);
      extends += "extend .p.C { optional int32 x" + n + " = " + n + "; }";
    }
    hosts.push_back(source({{"c.proto", base}, {"x.proto", extends.c_str()}}, {}));
  }
  EXPECT_THAT(ask_of(hosts, name_request(kNumbers, "p.C")).numbers, ElementsAre(3, 5, 7, 9));
}

TEST(AnswersOfManyHosts, ListsAreBounded) {
  auto files = source({}, {}).files;
  const std::vector<std::string> half(ReflectionAnswer::kMostListed / 2, "s");
  Reflected reply = ask_of({{files, half}, {files, half}}, name_request(kServices, ""));
  EXPECT_EQ(reply.kind, kServiceList);
  reply = ask_of({{files, half}, {files, half}, {files, {"t"}}}, name_request(kServices, ""));
  EXPECT_EQ(reply.kind, kError);
  EXPECT_EQ(reply.code, 8u);
  EXPECT_EQ(reply.error, "Too many services to list.");
  const std::string large(ReflectionAnswer::kMostListedBytes, 's');
  EXPECT_EQ(ask_of({{files, {large}}}, name_request(kServices, "")).kind, kServiceList);
  EXPECT_EQ(ask_of({{files, {large}}, {files, {"t"}}}, name_request(kServices, "")).code, 8u);

  std::string file, message, extension, set, error;
  append_bytes(1, "M", &message);
  append_bytes(4, message, &file);
  append_bytes(2, ".M", &extension);
  for (size_t i = 0; i < DescriptorIndex::kMaxExtensions; ++i) append_bytes(7, extension, &file);
  append_bytes(1, file, &set);
  const ReflectionSource extends{DescriptorIndex::make(set, &error), {}};
  ASSERT_NE(extends.files, nullptr) << error;
  EXPECT_THAT(ask_of({extends}, name_request(kNumbers, "M")).numbers, ElementsAre(0));
  reply = ask_of({extends, extends}, name_request(kNumbers, "M"));
  EXPECT_EQ(reply.code, 8u);
  EXPECT_EQ(reply.error, "Too many extensions to list.");
}

TEST_F(Answers, WhatIsNotThereIsAnErrorInTheResponse) {
  const std::pair<std::string, std::string> cases[] = {
      {name_request(kFile, "d.proto"), "File not found."},
      {name_request(kSymbol, "p.D"), "Symbol not found."},
      {name_request(kSymbol, std::string(60'000, '.')), "Symbol not found."},
      {extension_request("p.C", -6), "Extension not found."},
      {extension_request("p.D", 5), "Type not found."},
      {name_request(kNumbers, "p.Shop"), "Type not found."}};
  for (const auto& [request, error] : cases) {
    Reflected reply = ask(request);
    EXPECT_EQ(reply.kind, kError);
    EXPECT_EQ(reply.code, 5u);
    EXPECT_EQ(reply.error, error);
  }
  Reflected reply = ask("");
  EXPECT_EQ(reply.kind, kError);
  EXPECT_EQ(reply.code, 12u);
}

TEST_F(Answers, TheHostIsGivenBackAndTheLastQuestionCounts) {
  Reflected reply = ask(name_request(1, "example.com") + name_request(kSymbol, "p.C") + name_request(kServices, ""));
  EXPECT_EQ(reply.host, "example.com");
  EXPECT_EQ(reply.kind, kServiceList);
}

TEST_F(Answers, ImportsInACircleEnd) {
  google::protobuf::FileDescriptorSet set;
  for (const auto& [name, import] : {std::pair("x.proto", "y.proto"), std::pair("y.proto", "x.proto")}) {
    auto* file = set.add_file();
    file->set_name(name);
    file->add_dependency(import);
    file->add_dependency(name);
    file->add_dependency("missing.proto");
  }
  std::string error;
  const ReflectionSource circle{DescriptorIndex::make(set.SerializeAsString(), &error), {}};
  const ReflectionSource* sources[] = {&circle};
  auto answer = ReflectionAnswer::make(name_request(kFile, "x.proto"), sources);
  std::string bytes;
  for (const Piece& piece : answer->pieces()) bytes.append(piece.data, piece.size);
  EXPECT_THAT(Reflected(bytes).files, ElementsAre("x.proto", "y.proto"));
}

TEST_F(Answers, OtherBytesAreNoRequest) {
  const ReflectionSource* sources[] = {&shop_};
  EXPECT_EQ(ReflectionAnswer::make("\xff", sources), nullptr);
  EXPECT_EQ(ReflectionAnswer::make("\x22\x7f", sources), nullptr);
  EXPECT_EQ(ReflectionAnswer::make(name_request(5, "\x0a\x7f"), sources), nullptr);
}

TEST_F(Answers, AnAnswerKeepsTheDescriptorsThatItRefersTo) {
  auto gone = std::make_unique<ReflectionSource>(source({{"g.proto", "syntax = \"proto3\"; message G {}"}}, {}));
  const ReflectionSource* sources[] = {gone.get()};
  auto answer = ReflectionAnswer::make(name_request(kFile, "g.proto"), sources);
  gone.reset();
  std::string bytes;
  for (const Piece& piece : answer->pieces()) bytes.append(piece.data, piece.size);
  EXPECT_THAT(Reflected(bytes).files, ElementsAre("g.proto"));
}

}  // namespace
}  // namespace drover::engine
