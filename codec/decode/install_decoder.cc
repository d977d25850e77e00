#include "codec/decode/install_decoder.h"

#include "codec/decode/decode.h"
#include "message/extensions.h"

namespace drover {

void install_decoder() {
  if (message::installed_decoder.load(std::memory_order_acquire) != nullptr) return;
  message::DecodeWire none = nullptr;
  message::installed_decoder.compare_exchange_strong(
      none, [](const schema::MessageType& type, Message* object, std::string_view wire, Arena* arena) {
        return decode(type, object, wire, *arena).ok();
      });
}

}  // namespace drover
