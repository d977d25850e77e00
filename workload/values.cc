// Seeded values of single fields.
#include "workload/values.h"

#include <algorithm>
#include <bit>

namespace drover::workload {
namespace {

using schema::Kind;

// Uniform among the numbers whose varint has `length` bytes, cut to `bits`.
uint64_t of_length(size_t length, unsigned bits, Random& random) {
  size_t longest = (bits + 6) / 7;
  length = std::clamp<size_t>(length, 1, longest);
  unsigned low_bit = static_cast<unsigned>(7 * (length - 1)), end_bit = std::min<unsigned>(low_bit + 7, bits);
  uint64_t low = length == 1 ? 0 : uint64_t{1} << low_bit;
  uint64_t high = end_bit == 64 ? ~uint64_t{0} : (uint64_t{1} << end_bit) - 1;
  return high - low == ~uint64_t{0} ? random.next() : random.between(low, high);
}

// int32 and int64: ten bytes are a negative number, anything shorter a positive one.
uint64_t signed_of_length(size_t length, unsigned bits, Random& random) {
  if (length < 10) return of_length(length, bits - 1, random);
  return 0 - random.between(1, uint64_t{1} << (bits - 1));
}

uint64_t unzigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

// A multiple of 1/1024, exact in float and double.
int64_t binary_fraction(Random& random) { return static_cast<int64_t>(random.below(1 << 21)) - (1 << 20); }

}  // namespace

uint64_t random_scalar(const schema::FieldEntry& field, const schema::MessageType& type, size_t length,
                       Random& random) {
  switch (static_cast<Kind>(field.kind)) {
    case Kind::kBool:
      return random.below(2);
    case Kind::kEnum: {
      const schema::EnumEntry& enumeration = type.image->enum_entry(field.sub);
      if (enumeration.value_count == 0) return 0;
      int32_t number = type.image->enum_values(enumeration)[random.index(enumeration.value_count)].number;
      return static_cast<uint64_t>(int64_t{number});
    }
    case Kind::kDouble:
      return std::bit_cast<uint64_t>(static_cast<double>(binary_fraction(random)) / 1024);
    case Kind::kFloat:
      return std::bit_cast<uint32_t>(static_cast<float>(binary_fraction(random)) / 1024);
    case Kind::kFixed64:
    case Kind::kSfixed64:
      return random.next();
    case Kind::kFixed32:
      return random.next() >> 32;
    case Kind::kSfixed32:
      return static_cast<uint64_t>(static_cast<int64_t>(random.next()) >> 32);
    case Kind::kInt32:
      return signed_of_length(length, 32, random);
    case Kind::kInt64:
      return signed_of_length(length, 64, random);
    case Kind::kUint32:
      return of_length(length, 32, random);
    case Kind::kSint32:
      return unzigzag(of_length(length, 32, random));
    case Kind::kSint64:
      return unzigzag(of_length(length, 64, random));
    default:
      return of_length(length, 64, random);
  }
}

std::string random_letters(size_t size, Random& random) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  std::string text(size, '\0');
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i, bits >>= 6) {
    if (i % 10 == 0) bits = random.next();
    text[i] = kLetters[bits & 63];
  }
  return text;
}

std::string random_bytes(size_t size, Random& random) {
  std::string bytes(size, '\0');
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i, bits >>= 8) {
    if (i % 8 == 0) bits = random.next();
    bytes[i] = static_cast<char>(bits);
  }
  return bytes;
}

std::string random_utf8(size_t size, Random& random) {
  std::string text;
  while (text.size() < size) {
    size_t length = std::min<size_t>(1 + random.index(4), size - text.size());
    auto tail = [&] { text += static_cast<char>(0x80 | random.below(64)); };
    switch (length) {
      case 1:
        text += static_cast<char>(random.between(0x20, 0x7e));
        break;
      case 2:
        text += static_cast<char>(random.between(0xc2, 0xdf));
        tail();
        break;
      case 3:  // U+1000..U+CFFF: no surrogates, nothing overlong
        text += static_cast<char>(random.between(0xe1, 0xec));
        tail(), tail();
        break;
      default:  // U+40000..U+FFFFF
        text += static_cast<char>(random.between(0xf1, 0xf3));
        tail(), tail(), tail();
    }
  }
  return text;
}

}  // namespace drover::workload
