#include "engine/compress/deflater.h"

#include <algorithm>

namespace drover::engine {
namespace {

constexpr int kMemoryLevel = 8;  // zlib's default
constexpr size_t kFirstOutput = 1 << 10;
constexpr size_t kUsualRatio = 4;

}  // namespace

Deflater::~Deflater() {
  end();
  if (made_) deflateEnd(&stream_);
}

// zlib cannot change a stream's container: another one is made.
bool Deflater::make(Compression compression, int level) {
  if (made_ && compression == compression_ && level == level_) return deflateReset(&stream_) == Z_OK;
  if (made_) deflateEnd(&stream_);
  stream_ = z_stream{};
  memory_.attach(stream_);
  made_ = deflateInit2(&stream_, level, Z_DEFLATED, window_bits(compression), kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
  compression_ = compression;
  level_ = level;
  return made_;
}

bool Deflater::begin(Compression compression, int level, std::span<const Piece> pieces, size_t size, Account* account) {
  end();
  pieces_ = pieces;
  at_ = 0;
  left_ = size;
  most_ = size == 0 ? 0 : size - 1;
  result_ = Result::kNoMemory;
  if (!memory_.charge_to(account)) return false;
  output_.start(account);
  if (!make(compression, level)) return false;
  result_ = Result::kMore;
  return true;
}

// Points zlib at the next bytes; how many.
size_t Deflater::next_input() {
  while (!pieces_.empty() && at_ == pieces_.front().size) {
    pieces_ = pieces_.subspan(1);
    at_ = 0;
  }
  const size_t size = pieces_.empty() ? 0 : std::min({pieces_.front().size - at_, left_, kInBytes});
  stream_.next_in = size == 0 ? nullptr : reinterpret_cast<Bytef*>(const_cast<char*>(pieces_.front().data + at_));
  stream_.avail_in = static_cast<uInt>(size);
  return size;
}

Deflater::Result Deflater::step() { return result_ = next_step(); }

Deflater::Result Deflater::next_step() {
  const size_t in = next_input();
  const bool last = in == left_;
  if (output_.rest().empty()) {
    if (output_.size() >= most_) return Result::kGrew;
    if (!output_.grow(std::max(kFirstOutput, most_ / kUsualRatio), most_)) return Result::kNoMemory;
  }
  const size_t out = output_.rest().size();
  stream_.next_out = reinterpret_cast<Bytef*>(output_.rest().data());
  stream_.avail_out = static_cast<uInt>(out);
  const int code = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
  const size_t took = in - stream_.avail_in;
  at_ += took;
  left_ -= took;
  output_.add(out - stream_.avail_out);
  if (code == Z_STREAM_END) return Result::kDone;
  return code == Z_OK || code == Z_BUF_ERROR ? Result::kMore : Result::kNoMemory;
}

void Deflater::end() {
  output_.clear();
  memory_.charge_to(nullptr);
}

}  // namespace drover::engine
