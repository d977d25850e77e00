// Field numbers are those of grpc/reflection/v1/reflection.proto.
#include "cli/reflection_client.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/printable.h"

namespace drover::cli {
namespace {

using google::protobuf::FileDescriptorProto;
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

// Not kFailed: a further service would not help.
Failure too_much() {
  return {"the server's reflection sends more than " + std::to_string(kMostReflectionFiles) + " files or names, or " +
              std::to_string(kMostReflectionBytes >> 20) +
              " MiB: name its schema by --proto FILE or --descriptor-set FILE",
          kCallFailed};
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
  return {"the server's reflection has no " + (name.empty() ? "services" : printable_line(name)) +
              (error.empty() ? "" : ": " + printable_line(error)),
          kFailed};
}

Failure ReflectionClient::services(std::vector<std::string>* names) {
  std::string answer;
  if (Failure failure = ask(kListServices, "", kServices, &answer)) return failure;
  names->clear();
  each_bytes(answer, 1, [&](const std::string& service) {
    if (names->size() <= kMostReflectionFiles) names->push_back(bytes_field(service, 1));
  });
  if (names->size() > kMostReflectionFiles) return too_much();
  std::sort(names->begin(), names->end());
  return {};
}

Failure ReflectionClient::add_files(const std::string& answer) {
  bool right = true, fits = true;
  right &= each_bytes(answer, 1, [&](const std::string& bytes) {
    if (!right || !fits) return;
    google::protobuf::FileDescriptorProto file;
    right = file.ParsePartialFromString(bytes);
    if (!right || known_.contains(file.name())) return;
    fits = files_.file_size() < kMostReflectionFiles && bytes.size() <= kMostReflectionBytes - bytes_;
    if (!fits) return;
    bytes_ += bytes.size();
    known_.insert(file.name());
    *files_.add_file() = std::move(file);
  });
  if (!fits) return too_much();
  return right ? Failure() : Failure{"the server's reflection sends files that are no descriptors", kFailed};
}

// Servers may leave out what a file imports.
Failure ReflectionClient::add_imports_of(const FileDescriptorProto& file) {
  std::string answer;
  for (const std::string& import : file.dependency()) {
    if (known_.contains(import) || !asked_.insert(import).second) continue;
    if (asked_.size() > kMostReflectionFiles) return too_much();
    if (Failure failure = ask(kByFileName, import, kFiles, &answer)) return failure;
    if (Failure failure = add_files(answer)) return failure;
  }
  return {};
}

Failure ReflectionClient::add_file_of(const std::string& symbol) {
  std::string answer;
  if (Failure failure = ask(kBySymbol, symbol, kFiles, &answer)) return failure;
  if (Failure failure = add_files(answer)) return failure;
  for (; complete_ < files_.file_size(); ++complete_) {
    const FileDescriptorProto file = files_.file(complete_);  // a copy: files_ grows
    if (Failure failure = add_imports_of(file)) return failure;
  }
  return {};
}

}  // namespace drover::cli
