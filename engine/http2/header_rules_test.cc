#include "engine/http2/header_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace drover::engine::http2 {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

HeadSummary check(BlockKind kind, const Fields& fields) {
  static std::vector<Field> views;
  views.clear();
  for (const auto& [name, value] : fields) views.push_back({name, value});
  HeadSummary summary = check_fields(kind, views);
  summary.method = summary.scheme = summary.path = summary.authority = {};  // views of what is gone
  return summary;
}

// A request with these fields, and :method, :scheme, :path and :authority where they are not among them.
Fields request(const Fields& fields) {
  Fields whole = {{":method", "POST"}, {":scheme", "http"}, {":path", "/a/b"}, {":authority", "host"}};
  for (const auto& [name, value] : fields) {
    auto usual = std::find_if(whole.begin(), whole.end(), [&](const auto& one) { return one.first == name; });
    if (name.front() != ':' || usual == whole.end()) {
      whole.emplace_back(name, value);
    } else {
      usual->second = value;
    }
  }
  return whole;
}

bool well_formed(const Fields& fields) { return !check(BlockKind::kRequest, request(fields)).malformed; }

// Which of the 256 bytes may stand behind `before` in the value of `name`.
std::string legal_bytes(const std::string& name, const std::string& before) {
  std::string legal;
  for (int c = 0; c < 256; ++c) {
    if (well_formed({{name, before + static_cast<char>(c)}})) legal += static_cast<char>(c);
  }
  return legal;
}

TEST(HeaderRules, AMethodIsAToken) {
  EXPECT_EQ(legal_bytes(":method", "P"),
            "!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~");
  EXPECT_FALSE(well_formed({{":method", ""}}));
}

TEST(HeaderRules, ASchemeHasTheCharactersOfAUrisScheme) {
  EXPECT_EQ(legal_bytes(":scheme", "a"), "+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(legal_bytes(":scheme", ""), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") << "a letter first";
  EXPECT_FALSE(well_formed({{":scheme", ""}}));
}

TEST(HeaderRules, AnAuthorityHasTheCharactersOfAUrisAuthority) {
  const std::string legal = "!$%&'()*+,-.0123456789:;=@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~";
  EXPECT_EQ(legal_bytes(":authority", "h"), legal);
  EXPECT_EQ(legal_bytes("host", "h"), legal);
  EXPECT_FALSE(well_formed({{":authority", ""}}));
  EXPECT_FALSE(well_formed({{"host", ""}}));
}

TEST(HeaderRules, APathIsVisibleAscii) {
  std::string visible;
  for (char c = '!'; c <= '~'; ++c) visible += c;
  EXPECT_EQ(legal_bytes(":path", "/"), visible);
}

TEST(HeaderRules, ThePathOfHttpBeginsWithASlash) {
  EXPECT_FALSE(well_formed({{":path", ""}}));
  EXPECT_FALSE(well_formed({{":path", "a"}}));
  EXPECT_FALSE(well_formed({{":path", "a"}, {":scheme", "HTTPS"}})) << "schemes ignore case";
  EXPECT_FALSE(well_formed({{":path", "*"}}));
  EXPECT_TRUE(well_formed({{":path", "*"}, {":method", "OPTIONS"}}));
  EXPECT_TRUE(well_formed({{":path", "a"}, {":scheme", "urn"}}));
}

TEST(HeaderRules, HttpNeedsAnAuthorityOrAHost) {
  auto malformed = [](const std::string& scheme, const Fields& more) {
    Fields fields = {{":method", "POST"}, {":scheme", scheme}, {":path", "/"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return check(BlockKind::kRequest, fields).malformed != nullptr;
  };
  for (const char* scheme : {"http", "https", "HTTP"}) {
    EXPECT_TRUE(malformed(scheme, {}));
    EXPECT_FALSE(malformed(scheme, {{":authority", "h"}}));
    EXPECT_FALSE(malformed(scheme, {{"host", "h"}}));
    EXPECT_TRUE(malformed(scheme, {{":authority", ""}, {"host", "h"}}));
  }
  EXPECT_FALSE(malformed("urn", {}));
}

TEST(HeaderRules, ThereIsOneHost) {
  EXPECT_TRUE(well_formed({{"host", "host"}}));
  EXPECT_FALSE(well_formed({{"host", "host"}, {"host", "host"}}));
}

TEST(HeaderRules, TeIsTrailersInAnyCase) {
  EXPECT_TRUE(well_formed({{"te", "trailers"}}));
  EXPECT_TRUE(well_formed({{"te", "Trailers"}}));
  EXPECT_FALSE(well_formed({{"te", "trailers, gzip"}}));
}

TEST(HeaderRules, AContentLengthIsANumberOfSixtyThreeBits) {
  auto length = [](const Fields& fields) { return check(BlockKind::kRequest, request(fields)).content_length; };
  EXPECT_EQ(length({}), -1);
  EXPECT_EQ(length({{"content-length", "17"}}), 17);
  EXPECT_EQ(length({{"content-length", "00000000000000000000017"}}), 17);
  EXPECT_EQ(length({{"content-length", "9223372036854775807"}}), 9'223'372'036'854'775'807);
  for (const char* value : {"", "9223372036854775808", "99999999999999999999", "-1", "+1", "1, 1", "0x1"}) {
    EXPECT_FALSE(well_formed({{"content-length", value}})) << value;
  }
  EXPECT_TRUE(well_formed({{"content-length", "1"}, {"content-length", "01"}}));
  EXPECT_FALSE(well_formed({{"content-length", "1"}, {"content-length", "2"}}));
}

TEST(HeaderRules, AConnectNamesAnAuthorityAlone) {
  auto connect = [](const Fields& more) {
    Fields fields = {{":method", "CONNECT"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return check(BlockKind::kRequest, fields);
  };
  EXPECT_FALSE(connect({{":authority", "h:1"}}).malformed);
  EXPECT_TRUE(connect({{"host", "h:1"}}).malformed);
  EXPECT_TRUE(connect({{":authority", "h:1"}, {":path", "/"}}).malformed);
  EXPECT_TRUE(connect({{":authority", "h:1"}, {":scheme", "http"}}).malformed);
  EXPECT_EQ(connect({{":authority", "h:1"}, {"content-length", "5"}}).content_length, -1) << "it has no content";
}

}  // namespace
}  // namespace drover::engine::http2
