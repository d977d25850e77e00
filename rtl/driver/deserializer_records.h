// What the deserializer and its driver say to each other: commands, free memory, completion records, and the names of
// the reasons for which a message is left to software. docs/rtl.md has the ports; rtl/deserializer/deser_pkg.sv the
// bits.
#pragma once

#include <cstdint>

namespace drover::rtl {

inline constexpr uint32_t kChunkBytes = 4096;
inline constexpr uint64_t kTlbPageBytes = uint64_t{2} << 20;
inline constexpr uint32_t kRecordBytes = 32;

// Precedes the bytes of its packet.
struct DeserializerCommand {
  uint16_t type = 0;  // index of the message in the schema image
  uint32_t length = 0;
  uint32_t cookie = 0;  // comes back with the records
};

// Memory that the driver gives to the engine, in chunks of the region. A chunk by itself has a count of 1.
struct ChunkRun {
  uint32_t first = 0, count = 1;
};

enum class RecordType : uint8_t {
  kChunk = 0,     // a chunk of the message is full; more records follow
  kDone = 1,      // `root` is the object
  kError = 2,     // `code` is a DecodeError, or one of the codes below
  kSoftware = 3,  // `code` is why; left_to_software_reason() names it
};
// Errors beside the codec's DecodeError.
inline constexpr uint8_t kBadAddress = 64;    // a chunk, run or page outside the region: nothing was written
inline constexpr uint8_t kPacketLength = 65;  // the packet is longer or shorter than its command says
inline constexpr uint8_t kUnknownType = 66;   // the command's type is not in the schema table
inline constexpr uint8_t kReadRefused = 67;   // a read was answered with an error

struct DeserializerRecord {
  RecordType type;
  uint8_t lane, code;
  uint32_t cookie;
  uint32_t position;                   // how far the message was read
  uint64_t root;                       // region offset
  uint32_t chunk;                      // the last one taken; of kChunk the full one
  uint32_t run, run_chunks;            // of the message's run; run_chunks 0: it took none
  uint32_t engine_run, engine_chunks;  // the same in engine memory
};

// `words` are the record's 256 bits, least significant first.
DeserializerRecord parse_record(const uint32_t words[8]);

// "map_entries"; "?" for a code that is not one of kSoftware's.
const char* left_to_software_reason(uint8_t code);

}  // namespace drover::rtl
