// Call: one call as the host sees it, from the CALL slot until its memory has come back by RELEASE. CallMemory: the
// blocks behind its reply.
//
// Calls are pooled by their worker and keep what they have: a first 4096-byte chunk of tx, both contexts and a default
// reactor. In the steady state nothing is allocated and nothing is constructed per call but the reply object.
//
//   reply arena:  [ first chunk, kept ] -> more runs of tx, from the host's pool -> heap, once tx is full
//
// A reply that had to go to the heap is linearized into one run before it is sent (`reply_on_heap`).
//
// Threads: a Call belongs to the *leader* of its worker (host/worker.h). There are two exceptions: a handler's thread
// uses request, reply, status and context while the handler runs, and the thread that calls Finish writes `status`
// before it posts the call to the worker's inbox (host/call_inbox.h). Fields that other threads read are atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/drover_service.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "channel/chunk_pool.h"
#include "host/call_inbox.h"
#include "host/call_interception.h"
#include "host/call_metadata.h"
#include "host/checked_request.h"
#include "host/engine_link.h"
#include "message/message.h"
#include "object/arena.h"
#include "object/region.h"

namespace drover::host {

class AsyncCall;
struct Stream;

// Something that a Call keeps for later calls once it was made.
class CallPart {
 public:
  virtual ~CallPart() = default;
  virtual void recycle() = 0;
};

// Blocks from a pool of tx, and from the heap once that is exhausted. May be used by the thread that runs the handler.
class CallMemory final : public BlockSource {
 public:
  CallMemory(ChunkPool& pool, char* region_base) : pool_(&pool), base_(region_base) {}
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  Block allocate_block(size_t min_size) override;
  void free_block(void* data, size_t size) override;

  // A run that is freed together with the rest, by free_extra. Null: tx is full.
  char* allocate_run(uint32_t chunks);
  void free_extra();
  bool used_heap() const { return used_heap_; }
  void reset() { used_heap_ = false; }

 private:
  ChunkPool* pool_;
  char* base_;
  RunList runs_;      // the arena's
  ChunkRun extra_{};  // of a linearized reply
  bool used_heap_ = false;
};

// The reactor that DefaultReactor() hands out.
class DefaultUnaryReactor final : public grpc::ServerUnaryReactor {
 public:
  void OnDone() override {}
};

class Call {
 public:
  // `id` names the call in COMPLETE and RELEASE; `inbox` is its worker's. A first chunk of kChunkSize bytes, or null.
  Call(CallInbox& inbox, uint32_t id, EngineLink& link, void* first_chunk);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const uint32_t id;

  // ---- from the CALL slot
  const grpc::internal::Method* method = nullptr;
  uint32_t engine_thread = 0;
  uint32_t engine_call = 0;
  uint32_t generation = 0;
  const void* request = nullptr;
  uint64_t metadata = 0;  // region offset of a CallMetadata, not checked yet; 0: none
  int64_t deadline_ns = 0;
  const char* rx_begin = nullptr;
  size_t rx_size = 0;

  // ---- the answer
  void* reply = nullptr;
  grpc::Status status;
  grpc::internal::ServerReactor* reactor = nullptr;  // what the handler returned
  Stream* stream = nullptr;                          // if the method streams; of the worker's Streams
  AsyncCall* async = nullptr;                        // of completion queues; made at the first use
  std::unique_ptr<CallPart> part;                    // which is kept here
  std::unique_ptr<CallInterception> interception;    // null: the server has no interceptors
  bool initial_metadata_sent = false;                // in a MESSAGE, so that the answer does not have it

  // The application serves it through completion queues.
  bool is_async() const { return method->kind == grpc::internal::Method::Kind::kAsync; }

  // ---- its progress; only the leader uses it
  bool active = false;        // between CALL and done
  bool bound = false;         // the handler has returned its reactor
  bool completed = false;     // COMPLETE is pushed or, with a dead engine, needless
  bool finished = false;      // the request is not used any more, and FINISHED is pushed or needless
  bool released = false;      // RELEASE has come, or never will
  bool cancel_seen = false;   // OnCancel was called, or there is no reactor to call
  int reactions_running = 0;  // OnCancel and OnSendInitialMetadataDone on threads that lost the lead
  bool initial_metadata_asked = false;
  bool load_reported = false;        // in the trailing metadata
  bool headers_with_engine = false;  // put_headers' memory is in use
  bool no_room = false;              // no memory for the reply, nor for a trailer that reports it
  int64_t memory_deadline_ns = 0;    // while waiting for room for the reply

  std::atomic<bool> cancelled{false};     // what IsCancelled says
  std::atomic<bool> cancel_asked{false};  // TryCancel was called

  CallMemory memory;
  Arena arena;

  // Replaces the request at that region offset by a checked copy. False: no such object can be; it is reported.
  bool check_request(uint64_t offset);
  // Makes request, contexts and an empty reply ready; false: no memory for a reply.
  bool begin();
  // The same of a call that streams.
  bool begin_stream();
  // The same of a call that the application serves through completion queues.
  void begin_async();
  // A message of the client's stream at a region offset that was checked, into the application's message. False: no
  // such object can be; it is reported.
  bool copy_request(uint64_t offset, Message* to);
  // Shows the call to its interceptors, as CallInterception has it. For a call that the application has not asked for.
  bool intercept(Resume resume);
  bool interceptor_threw() const {
    return interception != nullptr && interception->threw.load(std::memory_order_relaxed);
  }
  // Runs the handler on this thread; catches what it throws. Behind an interceptor that has thrown: only sets the
  // status.
  void run_handler();
  // In which a call ends whose handler or interceptor has thrown, as in gRPC.
  static grpc::Status status_of_throw();
  // After the handler: binds the reactor. True if the status is known already.
  bool bind_reactor();
  // Reply and trailer, as region offsets for COMPLETE (0: none). False: no room in tx for now.
  bool prepare_answer(uint64_t* response, uint64_t* trailer);
  // Gives up the reply: the status becomes RESOURCE_EXHAUSTED.
  void give_up_reply();
  // What AddInitialMetadata has collected, as a CallTrailer.
  bool has_initial_metadata() const;
  // How its reply's messages are to be compressed, as a slot has it.
  uint8_t compression() const {
    return static_cast<uint8_t>(context().dirty_ ? chosen_compression() : link_.compression.standard);
  }
  size_t initial_metadata_size() const;
  uint64_t build_initial_metadata(Arena& into);
  // The same in memory of its own, for a call without a stream, in front of its reply. False: no room in tx.
  bool put_headers(uint64_t* trailer);
  // The engine has read them.
  void free_headers();
  // True if the application has a reactor of its own, whose OnDone is to be called.
  bool has_user_reactor() const { return reactor != nullptr && reactor != &default_reactor_; }
  // Frees what was kept beside the request for its readers. Call it before the engine is told that the request is no
  // longer used: after that its memory belongs to another call.
  void forget_request();
  // Ready for the pool.
  void recycle();

  // ---- the thread that finishes an asynchronous call
  // What was added to the application's context, for the answer; trailing metadata with `end`.
  void take_metadata(grpc::ServerContextBase& context, bool end);
  // The reply becomes a copy of that message; null if it is nested too deeply.
  void copy_reply(const Message& message);

  // ---- for interceptors, where the application's code runs
  // A copy of the request that may be changed, in an arena of its own; the call's request from now on.
  Message* own_request(std::unique_ptr<Arena>* owner);
  // What AddInitialMetadata or AddTrailingMetadata has collected, and other pairs in its place.
  std::multimap<std::string, std::string> added_metadata(bool trailing) const;
  void set_added_metadata(bool trailing, std::multimap<std::string, std::string> pairs);
  // A reply parsed from these wire bytes; null: they cannot be parsed, or memory is short.
  Message* parse_reply(const grpc::ByteBuffer& wire, Arena* into) const;
  CallEvent intercept_event;

  // ---- any thread, while the handler may use its context
  // From the CallMetadata; empty without one, and after one that cannot be, which is reported.
  std::string_view authority() const;
  // Of a method of a generic service.
  std::string_view path() const;
  std::string_view peer() const;
  std::string_view identity() const;  // packed
  MetadataView client_metadata() const;
  // What the views of the client's metadata show may change under their reader: they have to be copied.
  bool check_requests() const { return link_.check_requests; }

  // Null: the server reports no load.
  const LoadReports* load_reports() const { return link_.load_reports.get(); }

  int64_t reply_memory_wait_ns() const { return link_.reply_memory_wait_ns; }

  // ---- any thread
  void post(CallEvent& event) { inbox_.post(event); }
  static void finish(grpc::ServerUnaryReactor& reactor, grpc::Status status);
  static void start_initial_metadata(grpc::ServerUnaryReactor& reactor);
  grpc::ServerUnaryReactor* default_reactor();
  // The call is to be cancelled; its inbox's request_held_scan has to follow.
  CallInbox& ask_cancel();

  CallEvent handler_event;           // handler and OnDone returned
  CallEvent finish_event;            // Finish
  CallEvent cancel_event;            // OnCancel returned
  CallEvent initial_metadata_event;  // StartSendInitialMetadata; OnSendInitialMetadataDone returned

 private:
  template <class Visit>
  void visit_unsent_metadata(Visit&& visit) const;
  uint64_t build_trailer(Arena& into);
  size_t trailer_size() const;
  bool needs_trailer() const;
  ReplyCompression chosen_compression() const;
  // There is a reply to send in COMPLETE.
  bool has_reply() const { return status.ok() && !method->reply_streams; }
  void report_load(grpc::ServerContextBase& context);
  const grpc::ServerContextBase& context() const {
    if (method->kind == grpc::internal::Method::Kind::kCallback) return callback_context_;
    return sync_context_;
  }
  bool linearize_answer(uint64_t* response, uint64_t* trailer);
  bool evacuate_reply();

  CallInbox& inbox_;
  EngineLink& link_;
  std::unique_ptr<CheckedRequest> checked_;  // made at the first use
  grpc::ServerContext sync_context_;
  grpc::GenericCallbackServerContext callback_context_;
  DefaultUnaryReactor default_reactor_;
  bool default_reactor_used_ = false;
  ChunkRun headers_{};                // put_headers'
  std::unique_ptr<Arena> evacuated_;  // holds the reply while it waits for room
};

}  // namespace drover::host
