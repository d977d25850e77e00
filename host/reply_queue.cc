#include "host/reply_queue.h"

#include "host/call.h"
#include "message/operations.h"

namespace drover::host {

ReplyQueue::Put ReplyQueue::put(Call& call, const Message* message, bool as_it_is) {
  uint32_t number = written_.load(std::memory_order_relaxed);
  Entry& entry = entries_[number % kMaxStreamMessages];
  entry = {0, 0, {0, 0}, ring_next_, 0, message == nullptr, as_it_is, call.compression(), false};
  bool metadata = !metadata_sent_ && call.has_initial_metadata();
  bool in_ring = !metadata && message != nullptr && put_in_ring(call.method->reply_type(), *message, &entry);
  if (!in_ring && (metadata || message != nullptr)) {
    Put result = put_in_run(call, message, &entry);
    if (result != Put::kDone) return result;
  }
  metadata_sent_ = true;
  bytes_written_ += entry.bytes;
  written_.store(number + 1, std::memory_order_seq_cst);
  return Put::kDone;
}

bool ReplyQueue::put_in_ring(const schema::MessageType& type, const Message& message, Entry* entry) {
  if (ring_ == nullptr) {
    uint64_t offset = link_.tx.allocate(kRingChunks);
    if (offset == ChunkPool::kNone) return false;
    ring_ = link_.region.base() + offset;
  }
  if (put_at(ring_next_, type, message, entry)) return true;
  uint32_t at = ring_next_ % kRingBytes;
  return at != 0 && put_at(ring_next_ - at + kRingBytes, type, message, entry);
}

// At that position, as far as the ring goes on there and is free.
bool ReplyQueue::put_at(uint32_t position, const schema::MessageType& type, const Message& message, Entry* entry) {
  uint32_t used = position - ring_freed_.load(std::memory_order_acquire);
  uint32_t at = position % kRingBytes;
  uint32_t size = used >= kRingBytes ? 0 : std::min(kRingBytes - used, kRingBytes - at);
  if (size < type.entry().object_size) return false;
  Arena arena(Arena::FixedMemory{ring_ + at, size});
  const Message* copy = message::deep_copy_into(type, message, &arena);
  if (copy == nullptr) return false;
  entry->response = link_.region.offset_of(copy);
  entry->bytes = static_cast<uint32_t>(arena.initial_used());
  ring_next_ = entry->ring_end = position + entry->bytes;
  return true;
}

ReplyQueue::Put ReplyQueue::put_in_run(Call& call, const Message* message, Entry* entry) {
  const schema::MessageType& type = call.method->reply_type();
  bool metadata = !metadata_sent_ && call.has_initial_metadata();
  size_t bytes = (message == nullptr ? 0 : message::linearized_size(type, *message)) +
                 (metadata ? call.initial_metadata_size() : 0);
  if (bytes > uint64_t{link_.tx.total_chunks()} * kChunkSize) return Put::kTooLarge;
  uint32_t chunks = ChunkPool::chunks_for(bytes);
  uint64_t offset = link_.tx.allocate(chunks);
  if (offset == ChunkPool::kNone) return Put::kNoMemory;
  Arena arena(Arena::FixedMemory{link_.region.base() + offset, size_t{chunks} * kChunkSize});
  const Message* copy = message == nullptr ? nullptr : message::deep_copy_into(type, *message, &arena);
  if (message != nullptr && copy == nullptr) {
    link_.tx.free(offset, chunks);
    return Put::kTooDeep;
  }
  if (copy != nullptr) entry->response = link_.region.offset_of(copy);
  if (metadata) entry->trailer = call.build_initial_metadata(arena);
  entry->run = {offset, chunks};
  entry->bytes = chunks * kChunkSize;
  return Put::kDone;
}

bool ReplyQueue::next(Outgoing* out) {
  if (given_ == written_.load(std::memory_order_seq_cst)) return false;
  const Entry& entry = entries_[given_ % kMaxStreamMessages];
  *out = {entry.response,     entry.trailer,  given_ % kMaxStreamMessages,
          entry.headers_only, entry.as_it_is, entry.compression};
  ++given_;
  return true;
}

bool ReplyQueue::release(uint32_t index) {
  uint32_t reclaimed = reclaimed_.load(std::memory_order_relaxed);
  uint32_t age = (index - reclaimed) % kMaxStreamMessages;  // from the oldest that is not reclaimed
  if (index >= kMaxStreamMessages || age >= given_ - reclaimed || entries_[index].released) return false;
  entries_[index].released = true;
  for (; reclaimed != given_ && entries_[reclaimed % kMaxStreamMessages].released; ++reclaimed) {
    reclaim(entries_[reclaimed % kMaxStreamMessages]);
    // One at a time: once it is counted, the writer may use the entry.
    reclaimed_.store(reclaimed + 1, std::memory_order_seq_cst);
  }
  return true;
}

void ReplyQueue::reclaim(Entry& entry) {
  if (entry.run.chunks != 0) link_.tx.free(entry.run.offset, entry.run.chunks);
  ring_freed_.store(entry.ring_end, std::memory_order_release);
  bytes_reclaimed_.store(bytes_reclaimed_.load(std::memory_order_relaxed) + entry.bytes, std::memory_order_release);
}

void ReplyQueue::reset() {
  uint32_t written = written_.load(std::memory_order_relaxed);
  for (uint32_t n = reclaimed_.load(std::memory_order_relaxed); n != written; ++n) {
    reclaim(entries_[n % kMaxStreamMessages]);
  }
  if (ring_ != nullptr) link_.tx.free(link_.region.offset_of(ring_), kRingChunks);
  ring_ = nullptr;
  ring_next_ = 0;
  ring_freed_.store(0, std::memory_order_relaxed);
  written_.store(0, std::memory_order_relaxed);
  reclaimed_.store(0, std::memory_order_relaxed);
  given_ = 0;
  bytes_written_ = 0;
  bytes_reclaimed_.store(0, std::memory_order_relaxed);
  metadata_sent_ = false;
}

}  // namespace drover::host
