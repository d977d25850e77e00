// Field numbers are those of grpc/reflection/v1/reflection.proto.
#include "cli/reflection_client.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <set>

#include "cli/command.h"

namespace drover::cli {
namespace {

using google::protobuf::FileDescriptorSet;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kByFileName = 3, kBySymbol = 4, kListServices = 7;  // of the request
constexpr int kFiles = 4, kServices = 6, kError = 7;              // of the response

template <typename Take>
bool each_bytes(const std::string& message, int number, Take take) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(message)) return false;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == UnknownField::TYPE_LENGTH_DELIMITED) take(field.length_delimited());
  }
  return true;
}

std::string bytes_field(const std::string& message, int number) {
  std::string bytes;
  each_bytes(message, number, [&](const std::string& found) { bytes = found; });
  return bytes;
}

}  // namespace

Failure ReflectionClient::exchange(const std::string& request, std::string* response) {
  while (true) {
    if (stream_ == nullptr) {
      const char* version = alpha_ ? "v1alpha" : "v1";
      stream_ = channel_.open(std::string("/grpc.reflection.") + version + ".ServerReflection/ServerReflectionInfo",
                              options_);
    }
    stream_->write(request);
    if (stream_->read(response)) return {};
    const CallStatus status = stream_->finish();
    stream_.reset();
    if (status.code == kStatusUnimplemented && !alpha_) {
      alpha_ = true;
      continue;
    }
    if (status.code == kStatusUnimplemented) {
      return {"the server has no reflection: name its schema by --proto FILE or --descriptor-set FILE", kCallFailed};
    }
    return {"asking for the server's schema: " + status.text(), kCallFailed};
  }
}

Failure ReflectionClient::ask(int number, const std::string& name, int wanted, std::string* answer) {
  UnknownFieldSet request;
  request.AddLengthDelimited(number, name);
  std::string bytes, response;
  request.SerializeToString(&bytes);
  if (Failure failure = exchange(bytes, &response)) return failure;
  bool found = false;
  std::string error;
  const bool parsed = each_bytes(response, wanted, [&](const std::string& inner) {
    found = true;
    *answer = inner;
  });
  if (parsed && found) return {};
  each_bytes(response, kError, [&](const std::string& inner) { error = bytes_field(inner, 2); });
  return {"the server's reflection has no " + (name.empty() ? "services" : name) + (error.empty() ? "" : ": " + error),
          kFailed};
}

Failure ReflectionClient::services(std::vector<std::string>* names) {
  std::string answer;
  if (Failure failure = ask(kListServices, "", kServices, &answer)) return failure;
  names->clear();
  each_bytes(answer, 1, [&](const std::string& service) { names->push_back(bytes_field(service, 1)); });
  std::sort(names->begin(), names->end());
  return {};
}

Failure ReflectionClient::add_files(const std::string& answer, FileDescriptorSet* files) {
  bool parsed = true;
  parsed &= each_bytes(answer, 1, [&](const std::string& bytes) {
    google::protobuf::FileDescriptorProto file;
    if (!file.ParsePartialFromString(bytes)) {
      parsed = false;
      return;
    }
    const auto& known = files->file();
    const bool has =
        std::any_of(known.begin(), known.end(), [&](const auto& one) { return one.name() == file.name(); });
    if (!has) *files->add_file() = std::move(file);
  });
  return parsed ? Failure() : Failure{"the server's reflection sends files that are no descriptors", kFailed};
}

// Servers may leave out what a file imports.
Failure ReflectionClient::file_of(const std::string& symbol, FileDescriptorSet* files) {
  std::string answer;
  if (Failure failure = ask(kBySymbol, symbol, kFiles, &answer)) return failure;
  if (Failure failure = add_files(answer, files)) return failure;
  std::set<std::string> asked;
  for (int i = 0; i < files->file_size(); ++i) {
    for (int d = 0; d < files->file(i).dependency_size(); ++d) {
      const std::string import = files->file(i).dependency(d);
      const auto& known = files->file();
      if (std::any_of(known.begin(), known.end(), [&](const auto& one) { return one.name() == import; })) continue;
      if (!asked.insert(import).second) continue;
      if (Failure failure = ask(kByFileName, import, kFiles, &answer)) return failure;
      if (Failure failure = add_files(answer, files)) return failure;
    }
  }
  return {};
}

}  // namespace drover::cli
