// The texts of single values: numbers, base64, times, durations, paths of field masks.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "json/base64.h"
#include "json/lexer.h"
#include "json/number.h"
#include "json/special_text.h"

namespace drover::json {
namespace {

int64_t int64_of(std::string_view text, Error expected = Error::kOk) {
  int64_t value = -77;
  EXPECT_EQ(read_int64(text, &value), expected) << text;
  return value;
}
uint64_t uint64_of(std::string_view text, Error expected = Error::kOk) {
  uint64_t value = 77;
  EXPECT_EQ(read_uint64(text, &value), expected) << text;
  return value;
}

TEST(Number, ReadsIntegersExactlyHoweverTheyAreWritten) {
  EXPECT_EQ(int64_of("0"), 0);
  EXPECT_EQ(int64_of("-0"), 0);
  EXPECT_EQ(int64_of("1e3"), 1000);
  EXPECT_EQ(int64_of("1.50e1"), 15);
  EXPECT_EQ(int64_of("-12300e-2"), -123);
  EXPECT_EQ(int64_of("100.000"), 100);
  EXPECT_EQ(int64_of("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(int64_of("9.223372036854775807e18"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(int64_of("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(uint64_of("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(uint64_of("18446744073709551615.0"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(uint64_of("-0"), 0u);
  EXPECT_EQ(uint64_of("0e99999999999999999999"), 0u);
}

TEST(Number, RefusesIntegersThatAreNoneOrTooLarge) {
  int64_of("0.5", Error::kWrongType);
  int64_of("1e-1", Error::kWrongType);
  int64_of("123e-99999999999999999999", Error::kWrongType);
  int64_of("9223372036854775808", Error::kOutOfRange);
  int64_of("-9223372036854775809", Error::kOutOfRange);
  int64_of("1e99999999999999999999", Error::kOutOfRange);
  uint64_of("18446744073709551616", Error::kOutOfRange);
  uint64_of("1.8446744073709551616e19", Error::kOutOfRange);
  uint64_of("-1", Error::kOutOfRange);
}

TEST(Number, TellsTooLargeFromTooSmall) {
  double value;
  EXPECT_EQ(read_double("1.7976931348623157e308", &value), Error::kOk);
  EXPECT_EQ(value, std::numeric_limits<double>::max());
  EXPECT_EQ(read_double("1.8e308", &value), Error::kOutOfRange);
  EXPECT_EQ(read_double("100000000000000000000e300", &value), Error::kOutOfRange);
  EXPECT_EQ(read_double("-1e-400", &value), Error::kOk);
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(std::signbit(value));
  EXPECT_EQ(read_double("0.00000000001e-400", &value), Error::kOk);
  EXPECT_EQ(value, 0);
  float narrow;
  EXPECT_EQ(read_float("3.4028235e38", &narrow), Error::kOk);
  EXPECT_EQ(narrow, std::numeric_limits<float>::max());
  EXPECT_EQ(read_float("3.5e38", &narrow), Error::kOutOfRange);
}

template <typename T>
std::string text_of(T value) {
  char text[kMaxNumber];
  char* end;
  if constexpr (sizeof(T) == 4) {
    end = write_float(text, value);
  } else {
    end = write_double(text, value);
  }
  return {text, end};
}

TEST(Number, WritesTheShortestTextThatReadsBack) {
  EXPECT_EQ(text_of(0.0), "0");
  EXPECT_EQ(text_of(-0.0), "-0.0");
  EXPECT_EQ(text_of(0.1), "0.1");
  EXPECT_EQ(text_of(0.1f), "0.1");
  EXPECT_EQ(text_of(100000.0), "100000");
  EXPECT_EQ(text_of(1e22), "1e+22");
  EXPECT_EQ(text_of(5e-324), "5e-324");
  EXPECT_EQ(text_of(3.4028235e38f), "3.4028235e+38");
}

TEST(Number, EveryFloatReadsBackTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t bits = random();
    double wide;
    std::memcpy(&wide, &bits, sizeof(wide));
    if (std::isfinite(wide)) {
      const std::string text = text_of(wide);
      double again = 0;
      ASSERT_TRUE(is_number(text)) << text;
      ASSERT_EQ(read_double(text, &again), Error::kOk) << text;
      ASSERT_EQ(again, wide) << text;
    }
    float narrow;
    std::memcpy(&narrow, &bits, sizeof(narrow));
    if (std::isfinite(narrow)) {
      const std::string text = text_of(narrow);
      float again = 0;
      ASSERT_TRUE(is_number(text)) << text;
      ASSERT_EQ(read_float(text, &again), Error::kOk) << text;
      ASSERT_EQ(again, narrow) << text;
    }
  }
}

// ---- base64

std::string decoded(std::string_view text) {
  const ptrdiff_t size = base64_decoded_size(text);
  if (size < 0) return "bad length";
  std::string bytes(static_cast<size_t>(size), '?');
  return decode_base64(text, bytes.data()) ? bytes : "bad character";
}
std::string encoded(std::string_view bytes) {
  std::string text;
  append_base64(bytes, &text);
  return text;
}

TEST(Base64, ReadsWhatItWrites) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(decoded(encoded(bytes)), bytes);
    bytes += static_cast<char>(i * 7);
  }
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
}

TEST(Base64, TakesBothAlphabetsAndNoPadding) {
  EXPECT_EQ(decoded("-_-_"), decoded("+/+/"));
  EXPECT_EQ(decoded("Zm9vYg"), "foob");
  EXPECT_EQ(decoded("Zm9vYmE"), "fooba");
  EXPECT_EQ(decoded(""), "");
}

TEST(Base64, RefusesOtherText) {
  EXPECT_EQ(decoded("A"), "bad length");
  EXPECT_EQ(decoded("AAAAA"), "bad length");
  EXPECT_EQ(decoded("AA="), "bad character");
  EXPECT_EQ(decoded("A==="), "bad character");
  EXPECT_EQ(decoded("AA==AA=="), "bad character");
  EXPECT_EQ(decoded("AA A"), "bad character");
  EXPECT_EQ(decoded("AA\nA"), "bad character");
  EXPECT_EQ(decoded("===="), "bad character");
}

// ---- times and durations

std::string timestamp_through(std::string_view text) {
  int64_t seconds;
  int32_t nanos;
  std::string out;
  if (!read_timestamp(text, &seconds, &nanos)) return "refused";
  return append_timestamp(seconds, nanos, &out) ? out : "not printed";
}

TEST(Timestamp, ReadsRfc3339AndPrintsUtc) {
  EXPECT_EQ(timestamp_through("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(timestamp_through("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z");
  EXPECT_EQ(timestamp_through("9999-12-31T23:59:59.999999999Z"), "9999-12-31T23:59:59.999999999Z");
  EXPECT_EQ(timestamp_through("1970-01-01T08:00:01+08:00"), "1970-01-01T00:00:01Z");
  EXPECT_EQ(timestamp_through("1969-12-31T16:00:01-08:00"), "1970-01-01T00:00:01Z");
  EXPECT_EQ(timestamp_through("2000-02-29T12:00:00.1Z"), "2000-02-29T12:00:00.100Z");
  EXPECT_EQ(timestamp_through("2000-02-29T12:00:00.0001Z"), "2000-02-29T12:00:00.000100Z");
  EXPECT_EQ(timestamp_through("2000-02-29T12:00:00.00000001Z"), "2000-02-29T12:00:00.000000010Z");
  EXPECT_EQ(timestamp_through("1969-12-31T23:59:59.5Z"), "1969-12-31T23:59:59.500Z");
}

TEST(Timestamp, RefusesOtherTextsAndTimes) {
  for (const char* bad : {"",
                          "2000-01-01",
                          "2000-01-01T00:00:00",
                          "2000-01-01t00:00:00Z",
                          "2000-01-01T00:00:00z",
                          "2000-13-01T00:00:00Z",
                          "2001-02-29T00:00:00Z",
                          "2000-01-00T00:00:00Z",
                          "2000-01-01T24:00:00Z",
                          "2000-01-01T00:60:00Z",
                          "2000-01-01T00:00:60Z",
                          "2000-01-01T00:00:00.Z",
                          "2000-01-01T00:00:00.1234567890Z",
                          "0000-01-01T00:00:00Z",
                          "0001-01-01T00:00:00+00:01",
                          "9999-12-31T23:59:59-00:01",
                          "10000-01-01T00:00:00Z",
                          "2000-01-01T00:00:00Z ",
                          " 2000-01-01T00:00:00Z",
                          "2000-01-01 00:00:00Z",
                          "2000-1-01T00:00:00Z",
                          "2000-01-01T00:00:00+0100",
                          "2000-01-01T00:00:00+24:00",
                          "-001-01-01T00:00:00Z"}) {
    EXPECT_EQ(timestamp_through(bad), "refused") << bad;
  }
  std::string out;
  EXPECT_FALSE(append_timestamp(253402300800, 0, &out));
  EXPECT_FALSE(append_timestamp(-62135596801, 0, &out));
  EXPECT_FALSE(append_timestamp(0, -1, &out));
  EXPECT_FALSE(append_timestamp(0, 1000000000, &out));
}

std::string duration_through(std::string_view text) {
  int64_t seconds;
  int32_t nanos;
  std::string out;
  if (!read_duration(text, &seconds, &nanos)) return "refused";
  return append_duration(seconds, nanos, &out) ? out : "not printed";
}

TEST(Duration, ReadsAndPrintsSecondsWithAFraction) {
  for (const char* text : {"0s", "1s", "-1s", "1.500s", "-0.500s", "0.000001s", "-315576000000s", "1.000000001s"}) {
    EXPECT_EQ(duration_through(text), text);
  }
  EXPECT_EQ(duration_through("1.5s"), "1.500s");
  EXPECT_EQ(duration_through("-0s"), "0s");
}

TEST(Duration, RefusesOtherTexts) {
  for (const char* bad : {"", "s", "1", "1.s", ".5s", "+1s", "1e3s", "1s ", " 1s", "-s", "--1s", "1.1234567890s",
                          "315576000001s", "-315576000001s", "99999999999999999999s", "1.5.5s", "1S"}) {
    EXPECT_EQ(duration_through(bad), "refused") << bad;
  }
  std::string out;
  EXPECT_FALSE(append_duration(1, -1, &out));
  EXPECT_FALSE(append_duration(-1, 1, &out));
  EXPECT_FALSE(append_duration(0, 1000000000, &out));
}

TEST(FieldMask, PathsGoFromSnakeToCamelCaseAndBack) {
  for (const auto& [path, text] :
       {std::pair("foo", "foo"), {"foo_bar", "fooBar"}, {"a.b_c.d1", "a.bC.d1"}, {"_a", "A"}}) {
    std::string out, back;
    EXPECT_TRUE(append_mask_path(path, &out));
    EXPECT_EQ(out, text);
    EXPECT_TRUE(read_mask_path(text, &back));
    EXPECT_EQ(back, path);
  }
  for (const char* path : {"", "fooBar", "foo_3", "foo__bar", "foo_", "foo-bar"}) {
    std::string out;
    EXPECT_FALSE(append_mask_path(path, &out)) << path;
  }
  std::string path;
  EXPECT_FALSE(read_mask_path("foo_bar", &path));
  EXPECT_FALSE(read_mask_path("foo bar", &path));
  EXPECT_FALSE(read_mask_path("", &path));
}

}  // namespace
}  // namespace drover::json
