#include "engine/grpc/request_head.h"

namespace drover::engine {

RequestHead::RequestHead(const http2::HeadSummary& summary, const std::vector<http2::Field>& fields,
                         bool fields_missing, size_t max_bytes, Compressions known)
    : Head(summary.content_length),
      path(summary.path),
      authority(summary.authority),
      is_post(summary.method == "POST"),
      too_large(fields_missing),
      known_(known),
      bytes_left_(max_bytes) {
  for (size_t i = summary.first_regular; i < fields.size(); ++i) take(fields[i]);
  strings_ += path.capacity() + authority.capacity() + metadata.capacity() * sizeof(Header);
  for (const auto& [name, value] : metadata) strings_ += name.capacity() + value.capacity();
}

// A field of many values becomes as many, each with the name: they count like fields of their own.
void RequestHead::add_metadata(std::string_view name, std::string&& value) {
  const size_t size = http2::field_size(name, value);
  if (size > bytes_left_) {
    too_large = true;
    return;
  }
  bytes_left_ -= size;
  metadata.emplace_back(name, std::move(value));
}

void RequestHead::take(const http2::Field& field) {
  const auto [name, value] = field;
  if (name == "content-type") {
    is_grpc = is_grpc_content_type(value);
  } else if (name == "grpc-encoding") {
    encoding = parse_encoding(value, known_);
    if (encoding == Encoding::kUnsupported) encoding_name.assign(value);
  } else if (name == "grpc-accept-encoding") {
    taken = parse_accept_encoding(value) & known_;
  } else if (name == "host" && authority.empty()) {
    authority.assign(value);
  } else if (is_reserved_request_header(name)) {
    return;
  } else if (!is_binary_header(name)) {
    add_metadata(name, std::string(value));
  } else if (!split_binary_values(value, [&](std::string&& one) { add_metadata(name, std::move(one)); })) {
    bad_binary = true;
  }
}

}  // namespace drover::engine
