#include "message/path.h"

namespace drover::message {

using schema::Kind;

void Path::append(const Frame& frame, std::string* text) {
  if (!frame.name.empty()) {
    if (!text->empty()) *text += '.';
    *text += frame.name;
    return;
  }
  if (frame.index >= 0) {
    *text += '[' + std::to_string(frame.index) + ']';
    return;
  }
  if (frame.entry == nullptr) return;
  const char* at = frame.entry + frame.key->offset;
  *text += '[';
  switch (static_cast<Kind>(frame.key->kind)) {
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
      *text += std::to_string(schema::kStorageOfKind[frame.key->kind] == 8 ? raw::load<int64_t>(at)
                                                                           : raw::load<int32_t>(at));
  }
  *text += ']';
}

void Path::keep() {
  if (kept_) return;
  kept_ = true;
  for (const Frame& frame : open_) append(frame, &text_);
}

}  // namespace drover::message
