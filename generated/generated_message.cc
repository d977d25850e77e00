// The bodies that all generated classes share.
#include "generated/generated_message.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <utility>

#include "message/extensions.h"
#include "streams/coded_input.h"
#include "streams/coded_output.h"

namespace drover::generated {
namespace {

// Reused by every serialize call of a thread; dropped when one message has made it large.
constexpr size_t kKeptBuffers = 1 << 20;

// A thread's buffer, taken out of its place for as long as this lives: the stream that is written to may be a program's
// own code, which serializes other messages.
class TakenBuffer {
 public:
  TakenBuffer() : encoded_(std::move(kept())) {
    if (encoded_ == nullptr) encoded_ = std::make_unique<Encoded>();
  }
  ~TakenBuffer() {
    if (encoded_->buffer_bytes() <= kKeptBuffers) kept() = std::move(encoded_);
  }
  TakenBuffer(const TakenBuffer&) = delete;
  TakenBuffer& operator=(const TakenBuffer&) = delete;
  Encoded* get() const { return encoded_.get(); }
  Encoded* operator->() const { return encoded_.get(); }

 private:
  static std::unique_ptr<Encoded>& kept() {
    thread_local std::unique_ptr<Encoded> buffer;
    return buffer;
  }

  std::unique_ptr<Encoded> encoded_;
};

bool decode_for_message(const schema::MessageType& type, Message* object, std::string_view wire, Arena* arena) {
  return decode(type, object, wire, *arena).ok();
}
[[maybe_unused]] const bool installed = [] {
  message::installed_decoder.store(decode_for_message, std::memory_order_release);
  return true;
}();

}  // namespace

void destroy(Message* message, size_t object_size) {
  forget_terminated_copies(message, object_size);
  OwnerWord owner = message->drover_owner_word();
  if ((owner & kOwnsArena) != 0) delete reinterpret_cast<Arena*>(owner & ~kOwnsArena);
}

void clear(const schema::MessageType& type, Message* message) { message::clear(type, message); }

void merge_from(const schema::MessageType& type, Message* to, const Message& from) {
  if (!message::merge(type, to, from)) fatal("a message nested too deeply is copied");
}

namespace {

bool same_arena(const Message& a, const Message& b) {
  OwnerWord one = a.drover_owner_word(), other = b.drover_owner_word();
  return one > kReceived && (one & ~kOwnsArena) == (other & ~kOwnsArena);
}

// A message in `arena` with what `from` holds.
Message* copy_of(const schema::MessageType& type, const Message& from, Arena* arena) {
  auto* copy = static_cast<Message*>(arena->allocate_zeroed(type.entry().object_size));
  if (copy == nullptr) fatal("out of memory for a message");
  *copy->drover_owner() = reinterpret_cast<OwnerWord>(arena);
  merge_from(type, copy, from);
  return copy;
}

}  // namespace

// `from` may be a part of `to`, which is gone once `to` is cleared: `m = m.child()`.
void copy_from(const schema::MessageType& type, Message* to, const Message& from) {
  if (to == &from) return;
  Arena scratch;
  const Message* source = same_arena(*to, from) ? copy_of(type, from, &scratch) : &from;
  message::clear(type, to);
  merge_from(type, to, *source);
}

void move_from(const schema::MessageType& type, Message* to, Message* from) {
  if (!message::swap_in_place(type, to, from)) copy_from(type, to, *from);
}

// Where neither may take over the other's memory, both are copied. In one arena that means that one is a part of the
// other, which owns the arena: the part's content replaces the whole's, and the part is gone.
void swap(const schema::MessageType& type, Message* a, Message* b) {
  if (message::swap_in_place(type, a, b)) return;
  if (same_arena(*a, *b)) {
    bool a_is_whole = (a->drover_owner_word() & kOwnsArena) != 0;
    return a_is_whole ? copy_from(type, a, *b) : copy_from(type, b, *a);
  }
  Arena scratch;
  const Message* held = copy_of(type, *a, &scratch);
  copy_from(type, a, *b);
  copy_from(type, b, *held);
}

DecodeResult merge_from_wire(const schema::MessageType& type, Message* to, std::string_view wire, bool alias) {
  DecodeOptions options;
  options.alias = alias;
  return decode(type, to, wire, *arena_of(to->drover_owner()), options);
}

bool check_initialized(const schema::MessageType& type, const Message& message, const char* what) {
  if (message::is_initialized(type, message)) [[likely]]
    return true;
  std::fprintf(stderr, "drover: cannot %s a %s: missing required fields: %s\n", what, type.full_name(),
               missing_fields(type, message).c_str());
  return false;
}

bool append_to_string(const schema::MessageType& type, const Message& message, std::string* out) {
  TakenBuffer buffer;
  EncodeOptions options;
  if (!encode(type, &message, options, buffer.get()).ok()) return false;
  size_t old = out->size();
  out->resize(old + buffer->size());
  buffer->copy_to(out->data() + old);
  return true;
}

bool write_to_stream(const schema::MessageType& type, const Message& message, std::ostream* out) {
  TakenBuffer buffer;
  EncodeOptions options;
  if (!encode(type, &message, options, buffer.get()).ok()) return false;
  for (const Piece& piece : buffer->pieces()) {
    out->write(piece.data, static_cast<std::streamsize>(piece.size));
  }
  return out->good();
}

bool write_to_coded(const schema::MessageType& type, const Message& message, io::CodedOutputStream* out) {
  TakenBuffer buffer;
  if (!encode(type, &message, {}, buffer.get()).ok()) return false;
  for (const Piece& piece : buffer->pieces()) out->WriteRaw(piece.data, static_cast<int>(piece.size));
  return !out->HadError();
}

bool write_to_zero_copy(const schema::MessageType& type, const Message& message, io::ZeroCopyOutputStream* out) {
  io::CodedOutputStream coded(out);
  return write_to_coded(type, message, &coded);
}

bool write_to_array(const schema::MessageType& type, const Message& message, void* data, size_t capacity) {
  TakenBuffer buffer;
  EncodeError error = encode_to_array(type, &message, {}, buffer.get(), data, capacity, nullptr);
  return error == EncodeError::kOk;
}

char* write_to_sized_array(const schema::MessageType& type, const Message& message, char* data) {
  TakenBuffer buffer;
  if (!encode(type, &message, {}, buffer.get()).ok()) fatal("a message cannot be serialized");
  buffer->copy_to(data);
  size_t size = buffer->size();
  return data + size;
}

bool write_to_file(const schema::MessageType& type, const Message& message, int fd) {
  std::string wire;
  if (!append_to_string(type, message, &wire)) return false;
  for (size_t at = 0; at < wire.size();) {
    ssize_t written = write(fd, wire.data() + at, wire.size() - at);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) at += static_cast<size_t>(written);
  }
  return true;
}

bool read_file(int fd, std::string* out) {
  char buffer[16384];
  for (;;) {
    ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) out->append(buffer, static_cast<size_t>(got));
  }
}

std::string read_all(std::istream* in) {
  return std::string(std::istreambuf_iterator<char>(*in), std::istreambuf_iterator<char>());
}

void read_all(io::ZeroCopyInputStream* in, std::string* out) {
  const void* data;
  int size;
  while (in->Next(&data, &size)) out->append(static_cast<const char*>(data), static_cast<size_t>(size));
}

bool read_bounded(io::ZeroCopyInputStream* in, int size, std::string* out) {
  io::CodedInputStream coded(in);
  return coded.ReadString(out, size);
}

bool read_coded(io::CodedInputStream* in, std::string* out) {
  const void* data;
  int size;
  while (in->GetDirectBufferPointer(&data, &size)) {
    out->append(static_cast<const char*>(data), static_cast<size_t>(size));
    in->Skip(size);
  }
  return in->ReadTag() == 0 && in->ConsumedEntireMessage();
}

std::string missing_fields(const schema::MessageType& type, const Message& message) {
  std::vector<std::string> paths;
  message::find_missing(type, message, &paths);
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ", ") + path;
  return text;
}

std::string_view full_name(const schema::MessageType& type) { return type.full_name(); }

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace drover::generated
