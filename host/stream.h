// Stream: what a Call has beside itself if its method streams. Streams are pooled by their worker's Streams.
//
// Threads: the leader's members are the leader's; requests and replies say who may do what; the others are atomic, or
// used by the handler's threads alone.
#pragma once

#include <atomic>
#include <cstdint>

#include <grpcpp/support/status.h>

#include "host/call_inbox.h"
#include "host/parking.h"
#include "host/reply_queue.h"
#include "host/request_queue.h"

namespace drover::host {

struct Stream {
  Stream(EngineLink& link, uint32_t stream_index) : index(stream_index), replies(link) {}

  const uint32_t index;  // names the stream in tx_call
  RequestQueue requests;
  ReplyQueue replies;

  // ---- the leader
  bool listed = false;  // in Streams' list of those to look at
  // What the application waits for. Synchronous handlers wait by themselves.
  bool metadata_wanted = false, read_wanted = false, write_wanted = false, finish_wanted = false;
  bool write_reported = false;     // the wanted write has an OnWriteDone
  bool waits_for_memory = false;   // the wanted write found no room in tx
  int64_t memory_deadline_ns = 0;  // while it waits for that
  bool metadata_started = false;   // OnSendInitialMetadataDone was called, or runs
  // OnReadDone, OnWriteDone on a thread that has lost the lead, or interceptors that have not all proceeded.
  bool reads = false, writes = false;
  // The interceptors have seen, or see, the message that was read, the wanted one, or the initial metadata.
  bool read_intercepted = false, write_intercepted = false, metadata_intercepted = false;
  bool metadata_intercepts = false;            // see it, and have not all proceeded
  bool write_over = false;                     // sent or not, and the interceptors see, or have seen, which
  bool read_fine = false, write_fine = false;  // what OnReadDone and OnWriteDone are going to say
  bool done_started = false;                   // OnDone was called, or runs
  bool handler_returned = false;               // of a synchronous handler, whose event is still on its way
  CallEvent look_event;                        // something was asked for by a thread that is not the leader
  CallEvent read_event, write_event;           // OnReadDone, OnWriteDone returned

  // ---- a synchronous handler's reader
  uint32_t silent_reads = 0;  // messages taken since the leader was told

  // ---- any of the call's threads
  std::atomic<bool> look_posted{false};  // of a synchronous handler: look_event is on its way
  Parking parking;
  grpc::Status failure;  // what a Write that cannot be done makes of the call; the writer's until the handler returned
};

}  // namespace drover::host
