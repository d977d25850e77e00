// Pre-serialized streams from an untrusted writer: the reader in software ends in an error or a message, and reads
// nothing outside (AddressSanitizer sees that). A message that comes out is no longer than the stream can explain.
//
//   input: u16 payload size | payload | records; the engine's and the host's memory are the payload once more
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "codec/preserialize/preserialize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  size_t payload_size = std::min<size_t>(data[0] | size_t{data[1]} << 8, size - 2);
  size_t record_size = size - 2 - payload_size;
  std::unique_ptr<char[]> payload(new char[payload_size]), records(new char[record_size]);
  std::memcpy(payload.get(), data + 2, payload_size);
  std::memcpy(records.get(), data + 2 + payload_size, record_size);
  std::string wire;
  drover::StreamError error =
      drover::finish_preserialized({records.get(), record_size}, {payload.get(), payload_size},
                                   {payload.get(), payload_size}, {payload.get(), payload_size}, &wire);
  // A slot becomes 15 bytes at most, or two varints of 10; payload is used once, the memories once for two slots.
  if (error == drover::StreamError::kOk && wire.size() > record_size / 8 * 20 + payload_size * (1 + record_size / 16)) {
    std::abort();
  }
  return 0;
}
