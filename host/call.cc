#include "host/call.h"

#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

#include "channel/call_records.h"
#include "generated/generated_message.h"
#include "host/log.h"
#include "host/reply_compression.h"
#include "message/operations.h"

namespace drover::host {
namespace {

constexpr const char* kDetailsKey = "grpc-status-details-bin";

// The call whose handler this thread runs, so that Finish inside it needs no atomic exchange.
thread_local Call* handler_of_this_thread = nullptr;

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }
size_t pair_size(std::string_view key, std::string_view value) {
  return sizeof(MetadataPair) + padded(key.size() + 1) + padded(value.size() + 1);
}

}  // namespace

// ---- CallMemory

BlockSource::Block CallMemory::allocate_block(size_t min_size) {
  uint32_t chunks = ChunkPool::chunks_for(min_size);
  uint64_t offset = pool_->allocate(chunks);
  if (offset != ChunkPool::kNone) [[likely]] {
    runs_.push({offset, chunks});
    return {base_ + offset, size_t{chunks} * kChunkSize};
  }
  used_heap_ = true;
  void* data = std::malloc(min_size);
  return {data, data == nullptr ? 0 : min_size};
}

void CallMemory::free_block(void* data, size_t /*size*/) {
  uint64_t offset = static_cast<uint64_t>(static_cast<char*>(data) - base_);
  ChunkRun run = runs_.remove(offset);
  if (run.chunks != 0) {
    pool_->free(run.offset, run.chunks);
  } else {
    std::free(data);
  }
}

char* CallMemory::allocate_run(uint32_t chunks) {
  uint64_t offset = pool_->allocate(chunks);
  if (offset == ChunkPool::kNone) return nullptr;
  extra_ = {offset, chunks};
  return base_ + offset;
}

void CallMemory::free_extra() {
  if (extra_.chunks != 0) pool_->free(extra_.offset, extra_.chunks);
  extra_ = {};
}

// ---- Call

Call::Call(CallInbox& inbox, uint32_t call_id, EngineLink& link, void* first_chunk)
    : id(call_id),
      memory(link.tx, link.region.base()),
      arena(memory, first_chunk, first_chunk == nullptr ? 0 : kChunkSize),
      inbox_(inbox),
      link_(link) {
  sync_context_.call_ = this;
  callback_context_.call_ = this;
  default_reactor_.home_ = this;
  handler_event = {nullptr, this, CallEvent::Kind::kHandlerReturned};
  finish_event = {nullptr, this, CallEvent::Kind::kFinished};
  cancel_event = {nullptr, this, CallEvent::Kind::kReactionReturned};
  initial_metadata_event = {nullptr, this, CallEvent::Kind::kInitialMetadataAsked};
  intercept_event = {nullptr, this, CallEvent::Kind::kEndIntercepted};
}

Call::~Call() {
  arena.reset();
  memory.free_extra();
  free_headers();
}

bool Call::check_request(uint64_t offset) {
  if (checked_ == nullptr) checked_ = std::make_unique<CheckedRequest>();
  std::string error;
  request = checked_->copy(link_.region, method->request_type(), offset, &error);
  if (request != nullptr) return true;
  if (link_.broken.load(std::memory_order_relaxed) == nullptr) {
    log(LogLevel::kError, "a request of %s: %s", method->path, error.c_str());
  }
  link_.report_broken("a request object that cannot be");
  return false;
}

std::string_view Call::authority() const {
  std::string_view text;
  const char* wrong = metadata == 0 ? nullptr : read_authority(link_.region, metadata, &text);
  return wrong == nullptr ? text : (link_.report_broken(wrong), std::string_view());
}

std::string_view Call::path() const {
  std::string_view text;
  const char* wrong = read_path(link_.region, metadata, &text);
  return wrong == nullptr ? text : (link_.report_broken(wrong), std::string_view());
}

std::string_view Call::peer() const {
  std::string_view text;
  const char* wrong = metadata == 0 ? nullptr : read_peer(link_.region, metadata, &text);
  return wrong == nullptr ? text : (link_.report_broken(wrong), std::string_view());
}

std::string_view Call::identity() const {
  std::string_view text;
  const char* wrong = metadata == 0 ? nullptr : read_identity(link_.region, metadata, &text);
  return wrong == nullptr ? text : (link_.report_broken(wrong), std::string_view());
}

MetadataView Call::client_metadata() const {
  MetadataView view;
  const char* wrong = metadata == 0 ? nullptr : read_metadata(link_.region, metadata, &view);
  if (wrong != nullptr) return link_.report_broken(wrong), MetadataView();
  if (method->any && !view.pairs.empty()) view.pairs.erase(view.pairs.begin());  // the path
  return view;
}

bool Call::copy_request(uint64_t offset, Message* to) {
  const schema::MessageType& type = method->request_type();
  if (link_.check_requests) [[unlikely]] {
    if (!check_request(offset)) return false;
    generated::copy_from(type, to, *static_cast<const Message*>(request));
    request = nullptr;
    checked_->clear();
    return true;
  }
  generated::copy_from(type, to, *reinterpret_cast<const Message*>(link_.region.base() + offset));
  return true;
}

bool Call::begin() {
  active = true;
  arena.set_borrowable(rx_begin, rx_size);
  reply = method->create_reply(arena);
  return reply != nullptr;
}

bool Call::begin_stream() {
  if (!method->reply_streams) return begin();
  arena.set_borrowable(nullptr, 0);
  reply = link_.region.base();  // whose offset in COMPLETE is that of no reply
  return true;
}

void Call::begin_async() {
  arena.set_borrowable(nullptr, 0);
  reply = method->reply_streams ? link_.region.base() : nullptr;
}

void Call::take_metadata(grpc::ServerContextBase& from, bool end) {
  if (end && link_.load_reports != nullptr) [[unlikely]]
    report_load(from);
  if (!from.dirty_) [[likely]]
    return;
  auto take = [](auto& pairs, auto& into) {
    into.insert(into.end(), std::make_move_iterator(pairs.begin()), std::make_move_iterator(pairs.end()));
    pairs.clear();
  };
  sync_context_.dirty_ = true;
  if (from.compression_level_set_) sync_context_.set_compression_level(from.compression_level_);
  if (from.compression_algorithm_set_) sync_context_.set_compression_algorithm(from.compression_algorithm_);
  take(from.added_initial_, sync_context_.added_initial_);
  if (end) take(from.added_trailing_, sync_context_.added_trailing_);
}

void Call::copy_reply(const Message& message) {
  reply = message::deep_copy_into(method->reply_type(), message, &arena);
}

Message* Call::own_request(std::unique_ptr<Arena>* owner) {
  if (request == nullptr) return nullptr;
  *owner = std::make_unique<Arena>();
  Message* copy = message::deep_copy_into(method->request_type(), *static_cast<const Message*>(request), owner->get());
  if (copy != nullptr) request = copy;
  return copy;
}

std::multimap<std::string, std::string> Call::added_metadata(bool trailing) const {
  const auto& added = trailing ? context().added_trailing_ : context().added_initial_;
  return {added.begin(), added.end()};
}

void Call::set_added_metadata(bool trailing, std::multimap<std::string, std::string> pairs) {
  grpc::ServerContextBase& of = method->kind == grpc::internal::Method::Kind::kCallback
                                    ? static_cast<grpc::ServerContextBase&>(callback_context_)
                                    : sync_context_;
  (trailing ? of.added_trailing_ : of.added_initial_).assign(pairs.begin(), pairs.end());
  of.dirty_ = true;
}

Message* Call::parse_reply(const grpc::ByteBuffer& wire, Arena* into) const {
  const schema::MessageType& type = method->reply_type();
  auto* made = static_cast<Message*>(into->allocate_zeroed(type.entry().object_size));
  if (made == nullptr) return nullptr;
  *made->drover_owner() = reinterpret_cast<OwnerWord>(into);
  if (method->raw) {
    generated::copy_from(type, made, wire);
    return made;
  }
  return generated::merge_from_wire(type, made, wire.drover_view(), false).ok() ? made : nullptr;
}

bool Call::intercept(Resume resume) {
  const bool by_callback = method->kind == grpc::internal::Method::Kind::kCallback;
  return interception->received_call(
      by_callback ? static_cast<grpc::ServerContextBase&>(callback_context_) : sync_context_, nullptr,
      std::move(resume));
}

grpc::Status Call::status_of_throw() {
  return grpc::Status(grpc::StatusCode::UNKNOWN, "Unexpected error in RPC handling");
}

void Call::run_handler() {
  if (interceptor_threw()) [[unlikely]] {
    status = status_of_throw();
    return;
  }
  handler_of_this_thread = this;
  try {
    if (method->kind == grpc::internal::Method::Kind::kSync) {
      status = method->call(*method, &sync_context_, request, reply);
    } else {
      if (method->start != nullptr) [[likely]] {
        reactor = method->start(*method, &callback_context_, request, reply);
      } else {
        reactor = method->start_stream(*method, &callback_context_, request, reply);
      }
      if (reactor == nullptr) [[unlikely]]
        status = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
    }
  } catch (...) {
    status = status_of_throw();
    reactor = nullptr;
  }
  handler_of_this_thread = nullptr;
}

bool Call::bind_reactor() {
  bound = true;
  if (reactor == nullptr) return true;
  auto& unary = static_cast<grpc::ServerUnaryReactor&>(*reactor);
  uintptr_t asked = unary.binding_.load(std::memory_order_acquire);
  while ((asked & grpc::ServerUnaryReactor::kFinishAsked) == 0) {
    if (unary.binding_.compare_exchange_weak(asked, reinterpret_cast<uintptr_t>(this), std::memory_order_acq_rel)) {
      initial_metadata_asked = asked != 0;
      return false;
    }
  }
  initial_metadata_asked = (asked & grpc::ServerUnaryReactor::kInitialMetadataAsked) != 0;
  status = std::move(unary.status_);
  return true;
}

void Call::finish(grpc::ServerUnaryReactor& reactor, grpc::Status status) {
  using Reactor = grpc::ServerUnaryReactor;
  Call* call = reactor.home_;
  if (call != nullptr && call == handler_of_this_thread && !call->bound) {
    reactor.status_ = std::move(status);
    reactor.binding_.store(reactor.binding_.load(std::memory_order_relaxed) | Reactor::kFinishAsked,
                           std::memory_order_relaxed);
    return;
  }
  uintptr_t binding = reactor.binding_.load(std::memory_order_acquire);
  if (binding <= Reactor::kLargestAsked) {
    reactor.status_ = std::move(status);
    while (binding <= Reactor::kLargestAsked) {
      if (reactor.binding_.compare_exchange_weak(binding, binding | Reactor::kFinishAsked, std::memory_order_acq_rel)) {
        return;  // the leader finds it when it binds
      }
    }
    status = std::move(reactor.status_);
  }
  call = reinterpret_cast<Call*>(binding);
  call->status = std::move(status);
  call->inbox_.post(call->finish_event);
}

void Call::start_initial_metadata(grpc::ServerUnaryReactor& reactor) {
  using Reactor = grpc::ServerUnaryReactor;
  uintptr_t binding = reactor.binding_.load(std::memory_order_acquire);
  while (binding <= Reactor::kLargestAsked) {
    if (reactor.binding_.compare_exchange_weak(binding, binding | Reactor::kInitialMetadataAsked,
                                               std::memory_order_acq_rel)) {
      return;
    }
  }
  Call* call = reinterpret_cast<Call*>(binding);
  call->initial_metadata_event.kind = CallEvent::Kind::kInitialMetadataAsked;
  call->inbox_.post(call->initial_metadata_event);
}

grpc::ServerUnaryReactor* Call::default_reactor() {
  if (default_reactor_used_) fatal("DefaultReactor() was called twice for one call");
  default_reactor_used_ = true;
  return &default_reactor_;
}

CallInbox& Call::ask_cancel() {
  cancel_asked.store(true, std::memory_order_relaxed);
  cancelled.store(true, std::memory_order_release);
  inbox_.hold();
  return inbox_;
}

bool Call::needs_trailer() const {
  const grpc::ServerContextBase& says = context();
  return !status.ok() || !says.added_initial_.empty() || !says.added_trailing_.empty();
}

void Call::report_load(grpc::ServerContextBase& of) {
  load_reported = true;
  of.drover_report_load(*link_.load_reports);
}

ReplyCompression Call::chosen_compression() const {
  const grpc::ServerContextBase& says = context();
  if (link_.compression.off) return ReplyCompression::kNone;
  if (says.compression_level_set_) return reply_compression(says.compression_level_);
  if (says.compression_algorithm_set_) return reply_compression(says.compression_algorithm_);
  return link_.compression.standard;
}

bool Call::has_initial_metadata() const { return !context().added_initial_.empty(); }

size_t Call::initial_metadata_size() const {
  size_t size = sizeof(CallTrailer);
  for (const auto& [key, value] : context().added_initial_) size += pair_size(key, value);
  return 2 * size + 64;  // a String rounds its storage up to a power of two
}

uint64_t Call::build_initial_metadata(Arena& into) {
  const auto& pairs = context().added_initial_;
  auto* record =
      static_cast<CallTrailer*>(into.allocate_zeroed(sizeof(CallTrailer) + pairs.size() * sizeof(MetadataPair)));
  if (record == nullptr) return 0;
  record->initial_count = static_cast<uint32_t>(pairs.size());
  MetadataPair* at = record->pairs();
  for (const auto& [key, value] : pairs) {
    at->key.assign_in(&into, key);
    at->value.assign_in(&into, value);
    ++at;
  }
  return link_.region.offset_of(record);
}

bool Call::put_headers(uint64_t* trailer) {
  *trailer = 0;
  if (has_initial_metadata()) {
    const uint32_t chunks = ChunkPool::chunks_for(initial_metadata_size());
    const uint64_t offset = link_.tx.allocate(chunks);
    if (offset == ChunkPool::kNone) return false;
    headers_ = {offset, chunks};
    Arena arena(Arena::FixedMemory{link_.region.base() + offset, size_t{chunks} * kChunkSize});
    *trailer = build_initial_metadata(arena);
  }
  headers_with_engine = initial_metadata_sent = true;
  return true;
}

void Call::free_headers() {
  if (headers_.chunks != 0) link_.tx.free(headers_.offset, headers_.chunks);
  headers_ = {};
  headers_with_engine = false;
}

// What COMPLETE has to carry.
template <class Visit>
void Call::visit_unsent_metadata(Visit&& visit) const {
  context().drover_visit_metadata([&](bool initial, std::string_view key, std::string_view value) {
    if (!initial || !initial_metadata_sent) visit(initial, key, value);
  });
}

size_t Call::trailer_size() const {
  size_t size = sizeof(CallTrailer) + padded(status.error_message().size() + 1);
  auto add = [&size](std::string_view key, std::string_view value) { size += pair_size(key, value); };
  visit_unsent_metadata([&](bool, std::string_view key, std::string_view value) { add(key, value); });
  if (!status.error_details().empty()) add(kDetailsKey, status.error_details());
  // A String rounds its storage up to a power of two.
  return 2 * size + 64;
}

uint64_t Call::build_trailer(Arena& into) {
  uint32_t initial = 0, trailing = 0;
  std::string details = status.error_details();
  visit_unsent_metadata(
      [&](bool is_initial, std::string_view, std::string_view) { ++(is_initial ? initial : trailing); });
  if (!details.empty()) ++trailing;
  void* memory_at = into.allocate_zeroed(sizeof(CallTrailer) + size_t{initial + trailing} * sizeof(MetadataPair));
  if (memory_at == nullptr) return 0;
  auto* record = static_cast<CallTrailer*>(memory_at);
  record->message.assign_in(&into, status.error_message());
  record->initial_count = initial;
  record->trailing_count = trailing;
  MetadataPair* at = record->pairs();
  MetadataPair* next[2] = {at + initial, at};
  auto add = [&](bool is_initial, std::string_view key, std::string_view value) {
    MetadataPair* pair = next[is_initial]++;
    pair->key.assign_in(&into, key);
    pair->value.assign_in(&into, value);
  };
  visit_unsent_metadata(add);
  if (!details.empty()) add(false, kDetailsKey, details);
  return link_.region.offset_of(record);
}

bool Call::prepare_answer(uint64_t* response, uint64_t* trailer) {
  *response = 0;
  *trailer = 0;
  if (link_.load_reports != nullptr && !load_reported) [[unlikely]]
    report_load(const_cast<grpc::ServerContextBase&>(context()));
  if (cancel_asked.load(std::memory_order_relaxed)) [[unlikely]] {
    status = grpc::Status(grpc::StatusCode::CANCELLED, "the handler cancelled the call");
  }
  bool heap = memory.used_heap() && status.ok();
  if (needs_trailer()) [[unlikely]] {
    bool heap_before = memory.used_heap();
    // With a reply on the heap the trailer goes into the same run as the linearized reply; without one, or if the
    // reply is not sent, a trailer that finds no room sends the call the same way.
    if (!heap && !heap_before) *trailer = build_trailer(arena);
    heap = heap || memory.used_heap();
  }
  if (heap) [[unlikely]]
    return linearize_answer(response, trailer);
  if (status.ok()) *response = link_.region.offset_of(reply);
  return true;
}

bool Call::linearize_answer(uint64_t* response, uint64_t* trailer) {
  *response = 0;
  *trailer = 0;
  auto* object = static_cast<const Message*>(reply);
  size_t bytes = (has_reply() ? message::linearized_size(method->reply_type(), *object) : 0) +
                 (needs_trailer() ? trailer_size() : 0);
  char* run = memory.allocate_run(ChunkPool::chunks_for(bytes));
  if (run == nullptr) {
    // Free the reply's part of tx: calls that wait while each holds a part would wait for each other.
    if (!evacuate_reply()) return false;
    object = static_cast<const Message*>(reply);
    run = memory.allocate_run(ChunkPool::chunks_for(bytes));
    if (run == nullptr) return false;
  }
  // What the run holds fits by its size, so that this arena never asks for more.
  Arena into(heap_block_source(), run, size_t{ChunkPool::chunks_for(bytes)} * kChunkSize);
  into.set_borrowable(rx_begin, rx_size);
  if (has_reply()) {
    const Message* copy = message::deep_copy_into(method->reply_type(), *object, &into);
    if (copy != nullptr) {
      *response = link_.region.offset_of(copy);
    } else {
      status = grpc::Status(grpc::StatusCode::INTERNAL, "the reply is nested too deeply to be sent");
    }
  }
  if (needs_trailer()) *trailer = build_trailer(into);
  if (!into.only_initial_block()) fatal("a linearized reply is larger than its computed size");
  return true;
}

bool Call::evacuate_reply() {
  if (evacuated_ != nullptr || !has_reply()) return false;
  auto heap = std::make_unique<Arena>();
  heap->set_borrowable(rx_begin, rx_size);
  Message* copy = message::deep_copy_into(method->reply_type(), *static_cast<const Message*>(reply), heap.get());
  if (copy == nullptr) return false;
  reply = copy;
  arena.reset();
  evacuated_ = std::move(heap);
  return true;
}

void Call::forget_request() {
  forget_terminated_copies(rx_begin, rx_size);
  if (checked_ != nullptr) [[unlikely]]
    checked_->clear();
}

void Call::give_up_reply() {
  no_room = true;
  status = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "");
  sync_context_.drover_reset();
  callback_context_.drover_reset();
  static LogLimit limit;
  if (limit.allow()) log(LogLevel::kWarning, "no room for a reply of %s in shared memory", method->path);
}

void Call::recycle() {
  no_room = load_reported = false;
  sync_context_.drover_reset();
  callback_context_.drover_reset();
  default_reactor_.binding_.store(0, std::memory_order_relaxed);
  default_reactor_.status_ = grpc::Status();
  default_reactor_used_ = false;
  arena.reset();
  memory.free_extra();
  memory.reset();
  if (evacuated_ != nullptr) [[unlikely]]
    evacuated_.reset();
  if (part != nullptr) [[unlikely]]
    part->recycle();
  if (interception != nullptr) [[unlikely]]
    interception->recycle();
  initial_metadata_event.kind = CallEvent::Kind::kInitialMetadataAsked;
  status = grpc::Status();
  reactor = nullptr;
  active = bound = completed = finished = released = cancel_seen = initial_metadata_asked = initial_metadata_sent =
      false;
  reactions_running = 0;
  cancelled.store(false, std::memory_order_relaxed);
  cancel_asked.store(false, std::memory_order_relaxed);
}

}  // namespace drover::host

namespace grpc {

void ServerUnaryReactor::Finish(Status status) { drover::host::Call::finish(*this, std::move(status)); }
void ServerUnaryReactor::StartSendInitialMetadata() { drover::host::Call::start_initial_metadata(*this); }

}  // namespace grpc
