#include "engine/compress/inflater.h"

#include <algorithm>

namespace drover::engine {
namespace {

constexpr size_t kFirstOutput = 4 << 10;
constexpr size_t kMostFirstOutput = 256 << 10;
constexpr size_t kUsualRatio = 4;

}  // namespace

Inflater::~Inflater() {
  end();
  if (made_) inflateEnd(&stream_);
}

bool Inflater::begin(Compression compression, std::string_view message, size_t most, Account* account) {
  end();
  message_ = message;
  at_ = 0;
  most_ = most;
  result_ = Result::kNoMemory;
  if (!memory_.charge_to(account)) return false;
  output_.start(account);
  if (!made_) {
    stream_ = z_stream{};
    memory_.attach(stream_);
    made_ = inflateInit2(&stream_, window_bits(compression)) == Z_OK;
  } else {
    // Another container's window is as large: nothing is allocated.
    if (inflateReset2(&stream_, window_bits(compression)) != Z_OK) return false;
  }
  if (made_) result_ = Result::kMore;
  return made_;
}

Inflater::Result Inflater::step() { return result_ = next_step(); }

// One byte more than is wanted has room, so that a message of the largest size is told from one that is larger.
Inflater::Result Inflater::next_step() {
  const size_t first = std::min(std::max(kFirstOutput, kUsualRatio * message_.size()), kMostFirstOutput);
  if (output_.rest().empty() && !output_.grow(first, most_ + 1)) return Result::kNoMemory;
  const size_t in = std::min(message_.size() - at_, kInBytes);
  const size_t out = std::min(output_.rest().size(), kOutBytes);
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(message_.data() + at_));  // zlib's API; it only reads
  stream_.avail_in = static_cast<uInt>(in);
  stream_.next_out = reinterpret_cast<Bytef*>(output_.rest().data());
  stream_.avail_out = static_cast<uInt>(out);
  const int code = inflate(&stream_, Z_NO_FLUSH);
  const size_t took = in - stream_.avail_in, gave = out - stream_.avail_out;
  at_ += took;
  output_.add(gave);
  if (output_.size() > most_) return Result::kTooLarge;
  return result_of(code, took, gave);
}

Inflater::Result Inflater::result_of(int code, size_t took, size_t gave) const {
  switch (code) {
    case Z_STREAM_END:
      return at_ == message_.size() ? Result::kDone : Result::kTrailing;
    case Z_MEM_ERROR:
      return Result::kNoMemory;
    case Z_OK:
    case Z_BUF_ERROR:
      return took == 0 && gave == 0 ? Result::kCut : Result::kMore;
    default:
      return Result::kCorrupt;
  }
}

void Inflater::end() {
  output_.clear();
  memory_.charge_to(nullptr);
}

}  // namespace drover::engine
