// ResponseReader: from a COMPLETE slot to the client's answer: status, trailer, and with OK the response object's wire
// bytes. Everything in tx is taken as hostile: each word is read once, checked, and used.
//
// The encoded bytes lie in buffers that are kept for the next call, or in the host's region.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "channel/layout.h"
#include "codec/encode/encode.h"
#include "engine/call/call.h"
#include "engine/dispatch/call_records.h"
#include "engine/dispatch/call_table.h"

namespace drover::engine {

class ResponseReader {
 public:
  explicit ResponseReader(size_t max_response_bytes);
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  struct Answer {
    Reply reply;        // valid until the next read; its message as long as state.reply
    bool lent = false;  // the message refers to the region, which must stay as it is until the transport is done
  };
  // The answer of `state`, which its host runs. An invalid response is kInternal, with the reason. Fills in
  // state.reply if the answer has a message that is not empty.
  Answer read(CallState& state, const CompleteSlot& slot);
  // state.reply is no longer needed.
  void recycle(CallState& state);

 private:
  Answer broken(std::string why);
  Encoded* take_encoded();

  const size_t max_response_bytes_;
  Trailer trailer_;   // used again and again
  std::string text_;  // of an invalid answer
  std::vector<std::unique_ptr<Encoded>> spare_;
  size_t spare_bytes_ = 0;
};

}  // namespace drover::engine
