// Schemas from the command line.
#include "cli/schema_source.h"

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor_database.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <type_traits>

#include "cli/file_io.h"
#include "cli/printable.h"
#include "schema/image_builder.h"
#include "workload/random_schema.h"

namespace drover::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOfName = 200;  // bytes that are compared and printed where names are proposed

using google::protobuf::FileDescriptor;

// One line for each error: "greeter.proto:7:3: "Foo" is not defined."
class Errors final : public google::protobuf::compiler::MultiFileErrorCollector,
                     public google::protobuf::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, int line, int column, const std::string& message) override {
    text += (text.empty() ? "" : "\n  ") + file;
    if (line >= 0) text += ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1);
    text += ": " + message;
  }
  void AddError(const std::string& file, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                const std::string& message) override {
    text += (text.empty() ? "" : "\n  ") + file + ": " + element + ": " + message;
  }
  std::string text;
};

// The file and all that it imports, imports first.
void add_file(const FileDescriptor* file, std::set<std::string>* seen, google::protobuf::FileDescriptorSet* out) {
  if (!seen->insert(file->name()).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) add_file(file->dependency(i), seen, out);
  auto* copy = out->add_file();
  file->CopyTo(copy);
  file->CopyJsonNameTo(copy);
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

bool ends_with_name(const std::string& full, const std::string& name) {
  return full.size() > name.size() && full.ends_with(name) && full[full.size() - name.size() - 1] == '.';
}

}  // namespace

SchemaSource::SchemaSource() = default;
SchemaSource::~SchemaSource() = default;

void SchemaSource::add_options(CLI::App* command) {
  auto* protos = command->add_option("--proto", protos_, ".proto file, relative to one of -I (repeatable)")
                     ->type_name("FILE")
                     ->allow_extra_args(false);
  command->add_option("-I,--proto-path", include_dirs_, "directory of .proto files and their imports (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command->add_option("--descriptor-set", descriptor_set_, "FileDescriptorSet, as protoc --descriptor_set_out writes")
      ->type_name("FILE")
      ->excludes(protos);
}

std::string SchemaSource::load() {
  if (!protos_.empty()) return load_protos();
  if (descriptor_set_.empty()) return "no schema: give --proto FILE (and -I DIR) or --descriptor-set FILE";
  std::string bytes;
  if (std::string error = read_file(descriptor_set_, &bytes); !error.empty()) return error;
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromString(bytes)) {
    return descriptor_set_ +
           " is no FileDescriptorSet (make one with protoc --include_imports --descriptor_set_out=FILE)";
  }
  std::string error = load(set);
  return error.empty() ? "" : descriptor_set_ + ": " + error;
}

std::string SchemaSource::load(const google::protobuf::FileDescriptorSet& files) {
  files_ = files;
  return build();
}

std::string SchemaSource::load_protos() {
  google::protobuf::compiler::DiskSourceTree tree;
  for (const std::string& dir : include_dirs_) {
    if (!fs::is_directory(dir)) return "-I " + dir + " is no directory";
    tree.MapPath("", dir);
  }
  google::protobuf::DescriptorPoolDatabase well_known(*google::protobuf::DescriptorPool::generated_pool());
  google::protobuf::compiler::SourceTreeDescriptorDatabase database(&tree, &well_known);
  Errors errors;
  database.RecordErrorsTo(&errors);
  google::protobuf::DescriptorPool pool(&database, database.GetValidationErrorCollector());
  std::set<std::string> seen;
  files_.Clear();
  for (const std::string& proto : protos_) {
    // As in protoc, a path may name a file or be relative to an import directory; without -I, to the file's own.
    std::string name, shadow;
    if (include_dirs_.empty()) {
      fs::path dir = fs::path(proto).parent_path();
      tree.MapPath("", dir.empty() ? "." : dir.string());
    }
    auto found = tree.DiskFileToVirtualFile(proto, &name, &shadow);
    if (found == google::protobuf::compiler::DiskSourceTree::SHADOWED) return proto + " is hidden by " + shadow;
    if (found != google::protobuf::compiler::DiskSourceTree::SUCCESS) name = proto;
    const FileDescriptor* file = pool.FindFileByName(name);
    if (file == nullptr) {
      if (errors.text.empty()) errors.text = proto + ": File not found.";
      std::string hint =
          errors.text.find("ile not found") != std::string::npos ? "\n(give the directory of imports with -I)" : "";
      return errors.text + hint;
    }
    add_file(file, &seen, &files_);
  }
  return build();
}

namespace {

// What a field's name is in JSON unless its file says otherwise.
std::string default_json_name(const std::string& name) {
  std::string json;
  bool capital = false;
  for (char c : name) {
    if (c != '_') json += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    capital = c == '_';
  }
  return json;
}

// protoc says json_name of every field, which would be in every definition that is printed.
void clear_default_json_names(google::protobuf::RepeatedPtrField<google::protobuf::FieldDescriptorProto>* fields) {
  for (auto& field : *fields) {
    if (field.has_json_name() && field.json_name() == default_json_name(field.name())) field.clear_json_name();
  }
}
template <typename Scope>
void clear_default_json_names(Scope* scope) {
  clear_default_json_names(scope->mutable_extension());
  if constexpr (std::is_same_v<Scope, google::protobuf::DescriptorProto>) {
    clear_default_json_names(scope->mutable_field());
    for (auto& nested : *scope->mutable_nested_type()) clear_default_json_names(&nested);
  } else {
    for (auto& message : *scope->mutable_message_type()) clear_default_json_names(&message);
  }
}

}  // namespace

std::string SchemaSource::build() {
  for (auto& file : *files_.mutable_file()) clear_default_json_names(&file);
  descriptors_ = std::make_unique<schema::DescriptorFiles>();
  if (std::string error = descriptors_->link(files_.file()); !error.empty()) return error;
  schema::BuildResult built = schema::build_image(descriptors_->files());
  if (!built.ok()) return built.error;
  schema::LoadResult loaded = schema::OwnedImage::load(built.image, &image_);
  return loaded.ok() ? "" : schema::load_message(loaded);
}

std::string SchemaSource::find_message(const std::string& name, schema::MessageType* type) const {
  std::vector<std::string> names = workload::message_names(files_), matches;
  for (const std::string& full : names) {
    if (full == name) matches.assign(1, full);
    if (full == name) break;
    if (ends_with_name(full, name)) matches.push_back(full);
  }
  if (matches.size() > 1) return name + " could be " + nearest_names(name, matches, 8);
  if (matches.empty()) {
    if (names.empty()) return "the schema has no messages";
    return "no message " + (name.empty() ? "named: give --message" : name) + "; there is " +
           nearest_names(name, names, 8);
  }
  int64_t index = image().find_message(matches[0].data(), matches[0].size());
  if (index < 0) return "the schema image has no message " + matches[0];
  *type = {&image(), static_cast<uint32_t>(index)};
  return "";
}

std::string SchemaSource::find_method(const std::string& name,
                                      const google::protobuf::MethodDescriptor** method) const {
  std::string dotted = name.starts_with("/") ? name.substr(1) : name;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  std::vector<const google::protobuf::MethodDescriptor*> matches;
  std::vector<std::string> names;
  auto spelled = [](const auto* m) { return m->service()->full_name() + "/" + m->name(); };
  for (const FileDescriptor* file : descriptors_->files()) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* candidate = file->service(s)->method(m);
        names.push_back(spelled(candidate));
        const std::string& full = candidate->full_name();
        if (full == dotted) matches.insert(matches.begin(), candidate);
        if (ends_with_name(full, dotted)) matches.push_back(candidate);
      }
    }
  }
  if (names.empty()) return "the schema has no services";
  if (matches.empty()) return "no method " + name + "; there is " + nearest_names(name, names, 8);
  *method = matches[0];
  if (matches.size() == 1 || matches[0]->full_name() == dotted) return "";
  names.clear();
  for (const auto* match : matches) names.push_back(spelled(match));
  return name + " could be " + nearest_names(name, names, 8);
}

namespace {

// Calls take(kind, descriptor) for every declaration with a name of its own.
template <typename Take>
void each_symbol(const google::protobuf::Descriptor& message, const Take& take) {
  if (message.options().map_entry()) return;
  take("message", message);
  for (int i = 0; i < message.nested_type_count(); ++i) each_symbol(*message.nested_type(i), take);
  for (int i = 0; i < message.enum_type_count(); ++i) take("enum", *message.enum_type(i));
  for (int i = 0; i < message.extension_count(); ++i) take("extension", *message.extension(i));
}
template <typename Take>
void each_symbol(const FileDescriptor& file, const Take& take) {
  for (int i = 0; i < file.message_type_count(); ++i) each_symbol(*file.message_type(i), take);
  for (int i = 0; i < file.enum_type_count(); ++i) take("enum", *file.enum_type(i));
  for (int i = 0; i < file.extension_count(); ++i) take("extension", *file.extension(i));
  for (int s = 0; s < file.service_count(); ++s) {
    take("service", *file.service(s));
    for (int m = 0; m < file.service(s)->method_count(); ++m) take("method", *file.service(s)->method(m));
  }
}

}  // namespace

FoundSymbol SchemaSource::find_symbol(const std::string& name) const {
  std::vector<std::string> names;
  std::vector<FoundSymbol> matches;
  for (const FileDescriptor* file : descriptors_->files()) {
    each_symbol(*file, [&](const char* kind, const auto& descriptor) {
      const std::string& full = descriptor.full_name();
      names.push_back(full);
      if (full != name && !ends_with_name(full, name)) return;
      FoundSymbol found{"", full, kind, file->name(), descriptor.DebugString()};
      using Type = std::decay_t<decltype(descriptor)>;
      if constexpr (std::is_same_v<Type, google::protobuf::ServiceDescriptor>) found.service = &descriptor;
      matches.insert(full == name ? matches.begin() : matches.end(), std::move(found));
    });
  }
  if (!matches.empty() && (matches.size() == 1 || matches[0].full_name == name)) return matches[0];
  FoundSymbol none;
  if (matches.empty()) {
    none.error = "no symbol " + name + (names.empty() ? "" : "; there is " + nearest_names(name, names, 8));
    return none;
  }
  names.clear();
  for (const FoundSymbol& match : matches) names.push_back(match.full_name);
  none.error = name + " could be " + nearest_names(name, names, 8);
  return none;
}

std::string nearest_names(const std::string& name, std::vector<std::string> names, size_t count) {
  const std::string wanted = name.substr(0, kMostOfName);
  std::vector<std::pair<size_t, std::string>> near;  // by distance
  near.reserve(names.size());
  for (std::string& other : names) {
    if (other.size() > kMostOfName) other.resize(kMostOfName);  // a server may send any
    // By the last part too, so that "Request" finds "a.very.long.package.Requests".
    const size_t distance =
        std::min(edit_distance(wanted, other), edit_distance(wanted, other.substr(other.find_last_of("./") + 1)));
    near.emplace_back(distance, std::move(other));
  }
  const size_t shown = std::min(count, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<ptrdiff_t>(shown), near.end());
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + printable_line(near[i].second);
  if (near.size() > shown) text += " and " + std::to_string(near.size() - shown) + " more";
  return text;
}

}  // namespace drover::cli
