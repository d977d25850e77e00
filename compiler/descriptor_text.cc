#include "compiler/descriptor_text.h"

#include <algorithm>
#include <set>

namespace drover::compiler {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorSet;

void add(const FileDescriptor* file, const SourceFiles* sources, std::set<const FileDescriptor*>* seen,
         FileDescriptorSet* set) {
  if (!seen->insert(file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) add(file->dependency(i), sources, seen, set);
  auto* added = set->add_file();
  file->CopyTo(added);
  if (sources != nullptr) {
    const auto source =
        std::find_if(sources->begin(), sources->end(), [file](const auto& one) { return one.name() == file->name(); });
    if (source != sources->end()) *added = *source;
  }
  added->clear_source_code_info();
}

}  // namespace

std::string descriptor_set(const FileDescriptor* file, const SourceFiles* sources) {
  FileDescriptorSet set;
  std::set<const FileDescriptor*> seen;
  add(file, sources, &seen, &set);
  return set.SerializeAsString();
}

}  // namespace drover::compiler
