// Decodes and encodes every case of its input (tests/freestanding/cases.h) and compares with what the host's codec did,
// by both memory policies:
//
//   host memory   decode in one piece and in three; encode trusted, and bounded into pieces
//   scratchpad    decode through a window of 64 KiB into a host area of 128 KiB by DMA; encode what lies there, and
//                 encode it by DMA. What does not fit ends in out_of_memory, and is counted.
//
//   check_codec                             checks all; the last line says how many of what
//   check_codec POLICY WHAT PASSES MAX      runs so many passes over the workload's messages of up to MAX bytes, for a
//                                           count of instructions. POLICY: host, scratchpad, or twice (by scratchpad,
//                                           DMA commands done twice over); WHAT: decode, both
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "codec/freestanding/codec.h"
#include "codec/freestanding/delayed_dma.h"
#include "codec/freestanding/fetched_memory.h"
#include "codec/freestanding/scratchpad_memory.h"
#include "tests/freestanding/bare.h"
#include "tests/freestanding/cases.h"

namespace drover {
namespace {

using bare::print;
using cases::Case;
using cases::CasesHeader;

constexpr uint64_t kHostBase = 0x7f1234560000;  // more than 32 bits, as a host's address is
constexpr size_t kWindow = 64 << 10, kHostArea = 128 << 10;

alignas(16) char input[48 << 20];
alignas(16) char object_memory[64 << 20];
alignas(16) char output[8 << 20];
alignas(16) char window[kWindow];
alignas(16) char host_memory[kHostArea];
FixedPiece pieces[64];

[[noreturn]] void fault() {
  print("a DMA command leaves the host's memory\n");
  bare::end(1);
}

struct Totals {
  uint32_t messages = 0, malformed = 0, fitted = 0, too_large = 0;
  uint32_t workload_fitted = 0, workload_too_large = 0;
};

class Checker {
 public:
  Checker() : dma_(kHostBase, host_memory, kHostArea, fault), scratchpad_(dma_, window, kWindow), cache_(dma_) {}

  void check(const schema::Image& image, const Case& expected, const char* wire, const char* encoded) {
    image_ = &image;
    expected_ = &expected;
    wire_ = wire;
    encoded_ = encoded;
    (expected.error == 0 ? totals_.messages : totals_.malformed) += 1;
    check_host_memory();
    check_in_pieces();
    check_scratchpad();
    ++number_;
  }
  const Totals& totals() const { return totals_; }
  DelayedDma& dma() { return dma_; }

  void run_host_memory(const schema::Image& image, const Case& item, const char* wire, bool encode_too) {
    Arena arena(Arena::FixedMemory{object_memory, sizeof(object_memory)});
    char* object = freestanding::new_object(image, item.message, arena);
    std::string_view piece(wire, item.wire_size);
    DecodeResult result = freestanding::decode(image, item.message, object, &piece, 1, arena);
    if (!result.ok()) fail("a message of the workload does not decode");
    if (!encode_too) return;
    FixedOutput out;
    out.buffer = output;
    out.buffer_size = sizeof(output);
    if (!freestanding::encode(image, item.message, object, {}, &out).ok()) fail("a message does not encode");
  }
  // False: it does not fit.
  bool run_scratchpad(const schema::Image& image, const Case& item, const char* wire, bool encode_too) {
    std::string_view piece(wire, item.wire_size);
    DecodeResult result = decode_to_host(image, item.message, &piece, 1, {kHostBase, kHostArea}, scratchpad_);
    if (result.error == DecodeError::kOutOfMemory) return false;
    if (!result.ok()) fail("a message of the workload does not decode");
    FixedOutput out;
    out.buffer = output;
    out.buffer_size = sizeof(output);
    if (!encode_too) return true;
    if (!encode_from_host(image, item.message, kHostBase, {kHostBase, kHostArea}, cache_, {}, &out).ok()) {
      fail("a message does not encode");
    }
    return true;
  }

 private:
  [[noreturn]] void fail(const char* what) {
    print("case ");
    print(number_);
    print(": ");
    print(what);
    print("\n");
    bare::end(1);
  }
  void same_result(const DecodeResult& result, const char* what) {
    bool same = static_cast<uint32_t>(result.error) == expected_->error;
    if (same && expected_->error != 0) {
      same = result.offset == expected_->error_offset && result.field_number == expected_->error_field &&
             result.message_name == image_->name(image_->message(expected_->error_message).name);
    }
    if (same && expected_->error == 0) same = result.offset == expected_->wire_size;
    if (same) return;
    print(decode_error_name(result.error));
    print(" at ");
    print(static_cast<uint32_t>(result.offset));
    print(" instead of ");
    print(decode_error_name(static_cast<DecodeError>(expected_->error)));
    print(" at ");
    print(expected_->error_offset);
    print("\n");
    fail(what);
  }
  void same_bytes(const EncodeResult& result, const FixedOutput& out, const char* what) {
    if (!result.ok()) {
      print(encode_error_name(result.error));
      print("\n");
      fail(what);
    }
    if (result.size != expected_->encoded_size) fail(what);
    const char* rest = encoded_;
    for (size_t i = 0; i < out.piece_count; ++i) {
      const FixedPiece& piece = out.first_piece[i];
      bool remote = piece.referred && piece.address >= kHostBase && piece.address < kHostBase + kHostArea;
      auto* bytes = remote ? host_memory + static_cast<size_t>(piece.address - kHostBase)
                           : reinterpret_cast<const char*>(static_cast<uintptr_t>(piece.address));
      if (std::string_view(bytes, piece.size) != std::string_view(rest, piece.size)) fail(what);
      rest += piece.size;
    }
    if (out.piece_count == 0) {
      if (std::string_view(out.begin, result.size) != std::string_view(rest, result.size)) fail(what);
      rest += result.size;
    }
    if (rest != encoded_ + expected_->encoded_size) fail(what);
  }
  static FixedOutput whole_output() {
    FixedOutput out;
    out.buffer = output;
    out.buffer_size = sizeof(output);
    return out;
  }
  static FixedOutput output_in_pieces() {
    FixedOutput out = whole_output();
    out.pieces = pieces;
    out.piece_capacity = sizeof(pieces) / sizeof(pieces[0]);
    return out;
  }

  void check_host_memory() {
    Arena arena(Arena::FixedMemory{object_memory, sizeof(object_memory)});
    char* object = freestanding::new_object(*image_, expected_->message, arena);
    std::string_view piece(wire_, expected_->wire_size);
    same_result(freestanding::decode(*image_, expected_->message, object, &piece, 1, arena), "decode");
    if (expected_->error != 0) return;
    FixedOutput out = whole_output();
    same_bytes(freestanding::encode(*image_, expected_->message, object, {}, &out), out, "encode");
    Bounds bounds{object_memory, arena.initial_used()};
    EncodeOptions options;
    options.bounds = &bounds;
    options.reference_threshold = 100;
    out = output_in_pieces();
    same_bytes(freestanding::encode(*image_, expected_->message, object, options, &out), out, "encode, bounded");
  }
  void check_in_pieces() {
    Arena arena(Arena::FixedMemory{object_memory, sizeof(object_memory)});
    char* object = freestanding::new_object(*image_, expected_->message, arena);
    uint32_t size = expected_->wire_size, first = size / 3, second = size * 3 / 4;
    std::string_view cut[] = {{wire_, first}, {wire_ + first, second - first}, {wire_ + second, size - second}};
    same_result(freestanding::decode(*image_, expected_->message, object, cut, 3, arena), "decode, in pieces");
    if (expected_->error != 0) return;
    FixedOutput out = output_in_pieces();
    same_bytes(freestanding::encode(*image_, expected_->message, object, {}, &out), out, "encode what came in pieces");
  }
  void check_scratchpad() {
    const HostArea area{kHostBase, kHostArea};
    std::memset(host_memory, 0x5A, sizeof(host_memory));
    std::string_view piece(wire_, expected_->wire_size);
    DecodeResult result = decode_to_host(*image_, expected_->message, &piece, 1, area, scratchpad_);
    if (result.error == DecodeError::kOutOfMemory) {
      ++totals_.too_large;
      totals_.workload_too_large += expected_->workload;
      return;
    }
    same_result(result, "decode by scratchpad");
    if (expected_->error != 0) return;
    ++totals_.fitted;
    totals_.workload_fitted += expected_->workload;
    // The host's memory, at any mapped address.
    FixedOutput out = whole_output();
    same_bytes(freestanding::encode(*image_, expected_->message, host_memory, {}, &out), out,
               "encode the host's object");
    out = output_in_pieces();
    EncodeOptions options;
    options.reference_threshold = 200;
    same_bytes(encode_from_host(*image_, expected_->message, kHostBase, area, cache_, options, &out), out,
               "encode by DMA, in pieces");
    out = whole_output();
    same_bytes(encode_from_host(*image_, expected_->message, kHostBase, area, cache_, {}, &out), out, "encode by DMA");
  }

  DelayedDma dma_;
  ScratchpadMemory<DelayedDma> scratchpad_;
  ObjectCache<DelayedDma> cache_;
  const schema::Image* image_ = nullptr;
  const Case* expected_ = nullptr;
  const char* wire_ = nullptr;
  const char* encoded_ = nullptr;
  uint32_t number_ = 0;
  Totals totals_;
};

// visit(image, case, wire, encoded) for each.
template <typename Visit>
void for_each_case(Visit visit) {
  auto* header = reinterpret_cast<const CasesHeader*>(input);
  if (header->magic != cases::kMagic) {
    print("the input is no file of cases\n");
    bare::end(2);
  }
  constexpr uint32_t kMaxImages = 16;
  schema::Image images[kMaxImages];
  if (header->image_count > kMaxImages) {
    print("too many images\n");
    bare::end(2);
  }
  const char* at = input + sizeof(CasesHeader);
  for (uint32_t i = 0; i < header->image_count; ++i) {
    size_t size = static_cast<size_t>(*reinterpret_cast<const uint64_t*>(at));
    images[i] = schema::Image::from_trusted(static_cast<const void*>(at + 8));
    at += 8 + cases::padded(size);
  }
  for (uint32_t i = 0; i < header->case_count; ++i) {
    auto* item = reinterpret_cast<const Case*>(at);
    const char* wire = at + sizeof(Case);
    const char* encoded = wire + cases::padded(item->wire_size);
    at = encoded + cases::padded(item->encoded_size);
    visit(images[item->image], *item, wire, encoded);
  }
}

uint32_t number(const char* text) {
  uint32_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + static_cast<uint32_t>(*text - '0');
  return value;
}

// Created by main: no constructors or destructors run here.
alignas(Checker) char checker_memory[sizeof(Checker)];
Checker* checker;

int check_all() {
  for_each_case([](const schema::Image& image, const Case& item, const char* wire, const char* encoded) {
    checker->check(image, item, wire, encoded);
  });
  const Totals& totals = checker->totals();
  print(totals.messages);
  print(" messages and ");
  print(totals.malformed);
  print(" malformed ones as on the host; by scratchpad ");
  print(totals.fitted);
  print(", of the workload ");
  print(totals.workload_fitted);
  print("; did not fit ");
  print(totals.too_large);
  print(", of the workload ");
  print(totals.workload_too_large);
  print("\n");
  return totals.messages != 0 && totals.malformed != 0 && totals.fitted != 0 ? 0 : 1;
}

int run_passes(char** argv) {
  bool twice = argv[1][0] == 't', by_scratchpad = twice || argv[1][0] == 's', both = argv[2][0] == 'b';
  checker->dma().set_repeats(twice ? 2 : 1);
  uint32_t messages = 0, bytes = 0, max = number(argv[4]);
  for (uint32_t pass = number(argv[3]); pass != 0; --pass) {
    messages = bytes = 0;
    for_each_case([&](const schema::Image& image, const Case& item, const char* wire, const char*) {
      if (item.workload == 0 || item.wire_size > max) return;
      if (by_scratchpad) {
        if (!checker->run_scratchpad(image, item, wire, both)) return;
      } else {
        checker->run_host_memory(image, item, wire, both);
      }
      ++messages;
      bytes += item.wire_size;
    });
  }
  print("messages ");
  print(messages);
  print(" bytes ");
  print(bytes);
  print(" dma_commands ");
  print(checker->dma().commands());
  print(" dma_bytes ");
  print(checker->dma().bytes());
  print("\n");
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  drover::bare::read_input(drover::input, sizeof(drover::input));
  drover::checker = new (drover::checker_memory) drover::Checker();
  return argc == 5 ? drover::run_passes(argv) : drover::check_all();
}
