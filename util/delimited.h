// Messages one behind the other in a stream, each with its size as a varint in front (google/protobuf/util/
// delimited_message_util.h). The bytes may be hostile: a size that they claim allocates only what comes.
#pragma once

#include <climits>
#include <ostream>
#include <string>

#include "generated/generated_message.h"
#include "streams/coded_input.h"
#include "streams/coded_output.h"
#include "streams/copying_streams.h"

namespace drover::util {

// False after an error of the stream, and for a message past 2^31 - 1 bytes. Required fields may be missing.
template <typename T>
bool SerializeDelimitedToCodedStream(const T& message, io::CodedOutputStream* out) {
  std::string wire;
  if (!message.SerializePartialToString(&wire) || wire.size() > INT_MAX) return false;
  out->WriteVarint32(static_cast<uint32_t>(wire.size()));
  out->WriteString(wire);
  return !out->HadError();
}
template <typename T>
bool SerializeDelimitedToZeroCopyStream(const T& message, io::ZeroCopyOutputStream* out) {
  io::CodedOutputStream coded(out);
  return SerializeDelimitedToCodedStream(message, &coded);
}
template <typename T>
bool SerializeDelimitedToFileDescriptor(const T& message, int fd) {
  io::FileOutputStream out(fd);
  return SerializeDelimitedToZeroCopyStream(message, &out) && out.Flush();
}
template <typename T>
bool SerializeDelimitedToOstream(const T& message, std::ostream* out) {
  {
    io::OstreamOutputStream stream(out);
    if (!SerializeDelimitedToZeroCopyStream(message, &stream)) return false;
  }
  return out->good();
}

// Merges the next message into *message. False at the end and after an error; *clean_eof, unless it is null, tells: it
// is set to whether the stream had ended before the size's first byte.
template <typename T>
bool ParseDelimitedFromCodedStream(T* message, io::CodedInputStream* in, bool* clean_eof) {
  if (clean_eof != nullptr) *clean_eof = false;
  const int begin = in->CurrentPosition();
  int size;
  if (!in->ReadVarintSizeAsInt(&size)) {
    if (clean_eof != nullptr) *clean_eof = in->CurrentPosition() == begin;
    return false;
  }
  const int position_after_size = in->CurrentPosition();
  const io::CodedInputStream::Limit limit = in->PushLimit(size);
  if (!message->MergeFromCodedStream(in) || !in->ConsumedEntireMessage()) return false;
  if (in->CurrentPosition() - position_after_size != size) return false;
  in->PopLimit(limit);
  return true;
}
template <typename T>
bool ParseDelimitedFromZeroCopyStream(T* message, io::ZeroCopyInputStream* in, bool* clean_eof) {
  io::CodedInputStream coded(in);
  return ParseDelimitedFromCodedStream(message, &coded, clean_eof);
}

}  // namespace drover::util
