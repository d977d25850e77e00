// Orders the files by their imports, rewrites those that libprotobuf 3.21 does not understand, and builds each.
//
// Bounds here what libprotobuf does not bound: the nesting of imports (it follows public ones by recursion), full names
// (each nested name repeats its whole scope) and ranges (it compares all pairs). Also bounds messages and fields, so
// that an image stays far below 4 GiB (a message takes some 300 bytes of it, a field 72).
#include "schema/descriptor_files.h"

#include <algorithm>
#include <map>

#include "schema/editions.h"

namespace drover::schema {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;

constexpr int kMaxImportDepth = 1000;
constexpr uint64_t kMaxNameBytes = 256u << 20;
constexpr int kMaxRanges = 16384;
constexpr uint64_t kMaxMessages = 1u << 19;
constexpr uint64_t kMaxFields = 1u << 23;
constexpr size_t kMaxErrorText = 4096;

// Keeps the pool's error messages.
class ErrorText : public google::protobuf::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                const std::string& message) override {
    if (text.size() > kMaxErrorText) return;
    if (!text.empty()) text += "; ";
    text += file + ": " + element + ": " + message;
  }
  std::string text;
};

// Counts the declarations and the bytes of their full names, without building the names.
class Limits {
 public:
  std::string check(const FileDescriptorProto& file) {
    uint64_t scope = file.package().size() + 1;
    for (const auto& e : file.enum_type()) add(e, scope);
    for (const auto& field : file.extension()) add_name(scope + field.name().size());
    for (const auto& message : file.message_type()) add(message, scope);
    messages_ += static_cast<uint64_t>(file.extension_size());  // each is a message of the image
    fields_ += static_cast<uint64_t>(file.extension_size());
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) add_name(scope + service.name().size() + method.name().size());
    }
    if (name_bytes_ > kMaxNameBytes) return file.name() + ": full names of more than 256 MiB";
    if (messages_ > kMaxMessages) return file.name() + ": more than 524288 messages, with those before";
    if (fields_ > kMaxFields) return file.name() + ": more than 8388608 fields, with those before";
    if (ranges_ > kMaxRanges) return file.name() + ": a message or enum with more than 16384 ranges";
    return {};
  }

 private:
  void add_name(uint64_t size) { name_bytes_ += size; }
  void add(const EnumDescriptorProto& e, uint64_t scope) {
    for (const auto& value : e.value()) add_name(scope + e.name().size() + value.name().size());
    ranges_ = std::max(ranges_, e.reserved_range_size());
  }
  void add(const DescriptorProto& message, uint64_t scope) {
    scope += message.name().size() + 1;
    add_name(scope);
    ++messages_;
    fields_ += static_cast<uint64_t>(message.field_size()) + static_cast<uint64_t>(message.extension_size());
    messages_ += static_cast<uint64_t>(message.extension_size());
    for (const auto& field : message.field()) add_name(scope + field.name().size());
    for (const auto& field : message.extension()) add_name(scope + field.name().size());
    for (const auto& oneof : message.oneof_decl()) add_name(scope + oneof.name().size());
    for (const auto& e : message.enum_type()) add(e, scope);
    for (const auto& nested : message.nested_type()) add(nested, scope);
    ranges_ = std::max({ranges_, message.reserved_range_size(), message.extension_range_size()});
  }

  uint64_t name_bytes_ = 0;
  uint64_t messages_ = 0;
  uint64_t fields_ = 0;
  int ranges_ = 0;
};

// A file on its way into the pool.
struct Pending {
  const FileDescriptorProto* proto = nullptr;
  enum { kUnseen, kOpen, kOrdered } state = kUnseen;
  int next_import = 0;
  int depth = 0;          // of imports below it
  bool editions = false;  // it, or what it imports
};

class Order {
 public:
  // Fills *order so that each file stands behind its imports. No recursion: a chain of imports may be long.
  std::string sort(const google::protobuf::RepeatedPtrField<FileDescriptorProto>& files,
                   std::vector<const Pending*>* order) {
    for (const auto& file : files) pending_[file.name()].proto = &file;
    for (const auto& file : files) {
      std::string error = visit(&pending_[file.name()], order);
      if (!error.empty()) return error;
    }
    return {};
  }

 private:
  std::string visit(Pending* root, std::vector<const Pending*>* order) {
    std::vector<Pending*> stack;
    if (root->state == Pending::kUnseen) stack.push_back(root);
    while (!stack.empty()) {
      Pending* top = stack.back();
      top->state = Pending::kOpen;
      if (top->next_import == top->proto->dependency_size()) {
        if (!close(top)) return top->proto->name() + ": imports nest deeper than 1000";
        order->push_back(top);
        stack.pop_back();
        continue;
      }
      const std::string& name = top->proto->dependency(top->next_import++);
      auto import = pending_.find(name);
      if (import == pending_.end()) return name + ": imported, but not in the FileDescriptorSet";
      if (import->second.state == Pending::kOpen) return name + ": imports itself";
      if (import->second.state == Pending::kUnseen) stack.push_back(&import->second);
    }
    return {};
  }

  // All its imports are ordered. False: it nests too deeply.
  bool close(Pending* file) {
    file->editions = is_editions_file(*file->proto);
    for (const std::string& name : file->proto->dependency()) {
      const Pending& import = pending_[name];
      file->editions = file->editions || import.editions;
      file->depth = std::max(file->depth, import.depth + 1);
    }
    file->state = Pending::kOrdered;
    return file->depth <= kMaxImportDepth;
  }

  std::map<std::string, Pending> pending_;
};

// The file in the form that the pool accepts: itself, or *rewritten.
std::string prepare(const Pending& file, FileDescriptorProto* rewritten, const FileDescriptorProto** out) {
  *out = file.proto;
  bool editions = is_editions_file(*file.proto);
  if (!editions) {
    std::string error = check_no_features(*file.proto);
    if (!error.empty()) return error;
  }
  if (!editions && !(file.editions && file.proto->syntax() == "proto3")) return {};
  *rewritten = *file.proto;
  *out = rewritten;
  return rewrite_as_proto2(rewritten);
}

}  // namespace

std::string DescriptorFiles::link(const google::protobuf::RepeatedPtrField<FileDescriptorProto>& files) {
  Limits limits;
  for (const FileDescriptorProto& file : files) {
    std::string error = limits.check(file);
    if (!error.empty()) return error;
  }
  Order order;
  std::vector<const Pending*> sorted;
  std::string error = order.sort(files, &sorted);
  if (!error.empty()) return error;
  for (const Pending* pending : sorted) {
    FileDescriptorProto rewritten;
    const FileDescriptorProto* proto = nullptr;
    error = prepare(*pending, &rewritten, &proto);
    if (!error.empty()) return error;
    ErrorText errors;
    const FileDescriptor* file = pool_.BuildFileCollectingErrors(*proto, &errors);
    if (file == nullptr) return errors.text.empty() ? proto->name() + ": not a valid file descriptor" : errors.text;
    files_.push_back(file);
  }
  return {};
}

}  // namespace drover::schema
