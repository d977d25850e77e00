#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <algorithm>
#include <cstring>

#include "object/owner.h"

namespace grpc {

ByteBuffer::ByteBuffer(const Slice* slices, size_t count) : ByteBuffer() {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += slices[i].size();
  char* to = drover_resize(size);
  for (size_t i = 0; i < count; ++i) {
    if (slices[i].size() != 0) std::memcpy(to, slices[i].begin(), slices[i].size());
    to += slices[i].size();
  }
}

char* ByteBuffer::drover_resize(size_t size) {
  drover_.has |= 1;
  char* bytes = drover_.data.allocate_in(drover::arena_of(drover_owner()), size);
  if (bytes == nullptr) drover::fatal("a ByteBuffer of more than 2 GiB - 1, or without memory");
  return bytes;
}

Status ByteBuffer::DumpToSingleSlice(Slice* slice) const {
  if (!Valid()) return Status(StatusCode::FAILED_PRECONDITION, "Buffer not initialized");
  *slice = Slice(drover_view().data(), drover_view().size());
  return Status();
}

Status ByteBuffer::Dump(std::vector<Slice>* slices) const {
  slices->clear();
  Slice slice;
  Status status = DumpToSingleSlice(&slice);
  if (status.ok() && slice.size() != 0) slices->push_back(std::move(slice));
  return status;
}

// ---- ProtoBufferReader

ProtoBufferReader::ProtoBufferReader(ByteBuffer* buffer) : bytes_(buffer->drover_view()) {
  if (!buffer->Valid()) status_ = Status(StatusCode::INTERNAL, "Couldn't initialize byte buffer reader");
}

bool ProtoBufferReader::Next(const void** data, int* size) {
  if (!status_.ok() || at_ == bytes_.size()) return false;
  *data = bytes_.data() + at_;
  *size = static_cast<int>(bytes_.size() - at_);
  at_ = bytes_.size();
  return true;
}

bool ProtoBufferReader::Skip(int count) {
  const size_t skipped = std::min(static_cast<size_t>(std::max(count, 0)), bytes_.size() - at_);
  at_ += skipped;
  return skipped == static_cast<size_t>(std::max(count, 0));
}

// ---- ProtoBufferWriter

ProtoBufferWriter::ProtoBufferWriter(ByteBuffer* buffer, int /*block_size*/, int total_size)
    : buffer_(*buffer), total_(static_cast<size_t>(std::max(total_size, 0))) {
  buffer_.Clear();
  bytes_ = buffer_.drover_resize(total_);
}

bool ProtoBufferWriter::Next(void** data, int* size) {
  if (at_ == total_) return false;
  *data = bytes_ + at_;
  *size = static_cast<int>(total_ - at_);
  at_ = total_;
  return true;
}

ProtoBufferWriter::~ProtoBufferWriter() {
  if (at_ != total_) buffer_.drover_resize(at_);
}

}  // namespace grpc
