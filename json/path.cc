#include "json/path.h"

#include <vector>

namespace drover::json {

using schema::Kind;

void Scope::append_to(std::string* text) const {
  if (!name_.empty()) {
    if (!text->empty()) *text += '.';
    *text += name_;
  } else if (index_ >= 0) {
    *text += '[' + std::to_string(index_) + ']';
  } else if (entry_ != nullptr) {
    const char* at = entry_ + key_->offset;
    *text += '[';
    switch (static_cast<Kind>(key_->kind)) {
      case Kind::kString:
        *text += '"';
        *text += reinterpret_cast<const String*>(at)->view();
        *text += '"';
        break;
      case Kind::kBool:
        *text += *at != 0 ? "true" : "false";
        break;
      case Kind::kUint64:
      case Kind::kFixed64:
        *text += std::to_string(raw::load<uint64_t>(at));
        break;
      case Kind::kUint32:
      case Kind::kFixed32:
        *text += std::to_string(raw::load<uint32_t>(at));
        break;
      default:
        *text +=
            std::to_string(schema::kStorageOfKind[key_->kind] == 8 ? raw::load<int64_t>(at) : raw::load<int32_t>(at));
    }
    *text += ']';
  }
}

void keep(Path* path) {
  if (path->kept) return;
  path->kept = true;
  std::vector<const Scope*> scopes;
  for (const Scope* scope = path->innermost; scope != nullptr; scope = scope->outer()) scopes.push_back(scope);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) (*scope)->append_to(&path->text);
}

}  // namespace drover::json
