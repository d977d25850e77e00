// HPACK as the tests and the fuzzer use it: fields as pairs of strings, and nghttp2's coder beside ours.
#pragma once

#include <nghttp2/nghttp2.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/http2/hpack_decoder.h"

namespace drover::engine::http2 {

using FieldPairs = std::vector<std::pair<std::string, std::string>>;

inline FieldPairs pairs_of(const std::vector<Field>& fields) {
  FieldPairs pairs;
  for (const Field& field : fields) pairs.emplace_back(field.name, field.value);
  return pairs;
}

// Nothing if the block is malformed.
inline std::optional<FieldPairs> decode_fields(HpackDecoder& decoder, std::string_view block) {
  HpackDecoder::Scratch scratch;
  FieldList fields(1 << 20);
  if (!decoder.decode(block, scratch, fields)) return std::nullopt;
  return pairs_of(fields.fields());
}

class Deflater {
 public:
  explicit Deflater(size_t max_table) { nghttp2_hd_deflate_new(&deflater_, max_table); }
  ~Deflater() { nghttp2_hd_deflate_del(deflater_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void set_table_size(uint32_t bytes) { nghttp2_hd_deflate_change_table_size(deflater_, bytes); }
  std::string encode(const FieldPairs& fields) {
    std::vector<nghttp2_nv> nv;
    for (const auto& [name, value] : fields) {
      nv.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                    reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), 0});
    }
    std::string out(nghttp2_hd_deflate_bound(deflater_, nv.data(), nv.size()), '\0');
    ssize_t size =
        nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<uint8_t*>(out.data()), out.size(), nv.data(), nv.size());
    out.resize(static_cast<size_t>(size));
    return out;
  }

 private:
  nghttp2_hd_deflater* deflater_ = nullptr;
};

class Inflater {
 public:
  Inflater() { nghttp2_hd_inflate_new(&inflater_); }
  ~Inflater() { nghttp2_hd_inflate_del(inflater_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void set_table_size(uint32_t bytes) { nghttp2_hd_inflate_change_table_size(inflater_, bytes); }
  std::optional<FieldPairs> decode(std::string_view block) {
    FieldPairs fields;
    const auto* at = reinterpret_cast<const uint8_t*>(block.data());
    const uint8_t* const end = at + block.size();
    while (true) {
      nghttp2_nv nv;
      int flags = 0;
      ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &nv, &flags, at, static_cast<size_t>(end - at), 1);
      if (used < 0) return std::nullopt;
      at += used;
      if (flags & NGHTTP2_HD_INFLATE_EMIT) {
        fields.emplace_back(std::string(reinterpret_cast<char*>(nv.name), nv.namelen),
                            std::string(reinterpret_cast<char*>(nv.value), nv.valuelen));
      }
      if (flags & NGHTTP2_HD_INFLATE_FINAL) break;
      if (at == end && !(flags & NGHTTP2_HD_INFLATE_EMIT)) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    return fields;
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace drover::engine::http2
