// Codes and texts of errors are those of gRPC C++'s reflection service.
#include "engine/reflection/reflection_answer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/status.h"
#include "engine/reflection/reflection_files.h"
#include "engine/reflection/wire_fields.h"

namespace drover::engine {
namespace {

using Sources = std::span<const ReflectionSource* const>;

// ServerReflectionRequest and ServerReflectionResponse, by field number.
enum Ask : uint32_t { kNothing = 0, kFile = 3, kSymbol = 4, kExtension = 5, kNumbers = 6, kServices = 7 };
enum Field : uint32_t {
  kHost = 1,  // of the request
  kValidHost = 1,
  kOriginalRequest = 2,
  kFiles = 4,
  kExtensionNumbers = 5,
  kServiceList = 6,
  kError = 7
};

// The first source for which `find` gives a file.
template <typename Find>
std::pair<const ReflectionSource*, uint32_t> find_in(Sources sources, Find find) {
  for (const ReflectionSource* source : sources) {
    const uint32_t file = find(*source->files);
    if (file != DescriptorIndex::kNone) return {source, file};
  }
  return {nullptr, DescriptorIndex::kNone};
}

bool describes_message(Sources sources, std::string_view name) {
  return std::any_of(sources.begin(), sources.end(),
                     [name](const ReflectionSource* source) { return source->files->is_message(name); });
}

// What sorted lists have, sorted, each once. Lists of like length are merged, two by two, so that no element is copied
// once for each list.
template <typename T>
std::vector<T> merged(std::vector<std::vector<T>> lists) {
  if (lists.empty()) return {};
  for (size_t step = 1; step < lists.size(); step *= 2) {
    for (size_t i = 0; i + step < lists.size(); i += 2 * step) {
      std::vector<T> both;
      both.reserve(lists[i].size() + lists[i + step].size());
      std::set_union(lists[i].begin(), lists[i].end(), lists[i + step].begin(), lists[i + step].end(),
                     std::back_inserter(both));
      lists[i] = std::move(both);
      lists[i + step] = {};
    }
  }
  return std::move(lists.front());
}

}  // namespace

const ReflectionSource& reflection_itself() {
  static const ReflectionSource& itself = *[] {
    std::string error;
    auto files = DescriptorIndex::make(std::string(reflection_files()), &error);
    return new ReflectionSource{std::move(files), {std::string(kReflectionV1), std::string(kReflectionV1Alpha)}};
  }();
  return itself;
}

struct ReflectionAnswer::Request {
  std::string_view bytes;
  std::string_view host;
  Ask ask = kNothing;  // the last of the oneof's fields counts
  std::string_view name;
  int32_t number = 0;  // of kExtension

  bool read() {
    WireFields fields(bytes);
    while (fields.next()) {
      if (fields.is_bytes(kHost)) host = fields.bytes;
      if (fields.type != 2 || fields.number < kFile || fields.number > kServices) continue;
      ask = static_cast<Ask>(fields.number);
      name = fields.bytes;
    }
    return !fields.broken() && (ask != kExtension || read_extension());
  }

 private:
  bool read_extension() {
    WireFields fields(std::exchange(name, {}));
    while (fields.next()) {
      if (fields.is_bytes(1)) name = fields.bytes;
      if (fields.is_varint(2)) number = static_cast<int32_t>(fields.value);
    }
    return !fields.broken();
  }
};

std::unique_ptr<ReflectionAnswer> ReflectionAnswer::make(std::string_view bytes, Sources sources) {
  Request request;
  request.bytes = bytes;
  if (!request.read()) return nullptr;
  std::unique_ptr<ReflectionAnswer> answer(new ReflectionAnswer());
  if (!request.host.empty()) append_bytes(kValidHost, request.host, &answer->text_);
  append_bytes(kOriginalRequest, bytes, &answer->text_);
  answer->write(request, sources);
  answer->finish();
  return answer;
}

void ReflectionAnswer::write(const Request& request, Sources sources) {
  constexpr int kNotFound = static_cast<int>(StatusCode::kNotFound);
  const std::string_view name = request.name;
  const char* missing = "";
  std::pair<const ReflectionSource*, uint32_t> found{nullptr, DescriptorIndex::kNone};
  switch (request.ask) {
    case kNothing:
      return write_error(static_cast<int>(StatusCode::kUnimplemented), "");
    case kServices:
      return write_services(sources);
    case kNumbers:
      if (!describes_message(sources, name)) return write_error(kNotFound, "Type not found.");
      return write_numbers(name, sources);
    case kFile:
      missing = "File not found.";
      found = find_in(sources, [name](const DescriptorIndex& files) { return files.find_file(name); });
      break;
    case kSymbol:
      missing = "Symbol not found.";
      found = find_in(sources, [name](const DescriptorIndex& files) { return files.find_symbol(name); });
      break;
    case kExtension:
      missing = describes_message(sources, name) ? "Extension not found." : "Type not found.";
      found = find_in(sources, [&request](const DescriptorIndex& files) {
        return files.find_extension(request.name, request.number);
      });
      break;
  }
  if (found.first == nullptr) return write_error(kNotFound, missing);
  write_file(found.first->files, found.second);
}

// The file, then all that it imports, each once.
void ReflectionAnswer::write_file(const std::shared_ptr<const DescriptorIndex>& files, uint32_t file) {
  files_ = files;
  std::vector<bool> seen(files->file_count());
  std::vector<uint32_t> order{file};
  seen[file] = true;
  size_t size = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const DescriptorIndex::File& next = files->file(order[i]);
    std::string length;
    append_length(1, next.bytes.size(), &length);
    size += length.size() + next.bytes.size();
    for (const uint32_t import : files->imports(next)) {
      if (seen[import]) continue;
      seen[import] = true;
      order.push_back(import);
    }
  }
  append_length(kFiles, size, &text_);
  pieces_.reserve(2 * order.size());
  for (const uint32_t one : order) {
    const std::string_view bytes = files->file(one).bytes;
    append_length(1, bytes.size(), &text_);
    refer(bytes);
  }
}

void ReflectionAnswer::write_services(Sources sources) {
  std::vector<std::vector<std::string_view>> lists;
  size_t count = 0, bytes = 0;
  for (const ReflectionSource* source : sources) {
    count += source->services.size();
    for (const std::string& service : source->services) bytes += service.size();
    if (count > kMostListed || bytes > kMostListedBytes) {
      return write_error(static_cast<int>(StatusCode::kResourceExhausted), "Too many services to list.");
    }
    lists.emplace_back(source->services.begin(), source->services.end());
  }
  std::string list, service;
  for (const std::string_view name : merged(std::move(lists))) {
    service.clear();
    append_bytes(1, name, &service);
    append_bytes(1, service, &list);
  }
  append_bytes(kServiceList, list, &text_);
}

// Of a host that does not have the message, too: whichever extends it is found by its number.
void ReflectionAnswer::write_numbers(std::string_view message, Sources sources) {
  std::vector<std::vector<int32_t>> lists;
  size_t count = 0;
  for (const ReflectionSource* source : sources) {
    count += source->files->extension_count(message);
    if (count > kMostListed) {
      return write_error(static_cast<int>(StatusCode::kResourceExhausted), "Too many extensions to list.");
    }
    lists.push_back(source->files->extension_numbers(message));
  }
  std::string packed, reply;
  for (const int32_t number : merged(std::move(lists))) append_varint(static_cast<uint64_t>(int64_t{number}), &packed);
  append_bytes(1, message, &reply);
  if (!packed.empty()) append_bytes(2, packed, &reply);
  append_bytes(kExtensionNumbers, reply, &text_);
}

void ReflectionAnswer::write_error(int code, std::string_view message) {
  std::string error;
  append_varint(1 << 3, &error);  // error_code, a varint
  append_varint(static_cast<uint64_t>(code), &error);
  if (!message.empty()) append_bytes(2, message, &error);
  append_bytes(kError, error, &text_);
}

// What is in text_ so far, then `bytes`.
void ReflectionAnswer::refer(std::string_view bytes) {
  pieces_.push_back({nullptr, text_.size() - in_pieces_});
  in_pieces_ = text_.size();
  pieces_.push_back({bytes.data(), bytes.size()});
}

void ReflectionAnswer::finish() {
  if (text_.size() != in_pieces_) pieces_.push_back({nullptr, text_.size() - in_pieces_});
  const char* at = text_.data();
  for (Piece& piece : pieces_) {
    size_ += piece.size;
    if (piece.data != nullptr) continue;
    piece.data = at;
    at += piece.size;
  }
  std::erase_if(pieces_, [](const Piece& piece) { return piece.size == 0; });
}

}  // namespace drover::engine
