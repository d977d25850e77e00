#include "sim/runs/text.h"

#include <cstdarg>
#include <cstdio>

namespace drover::sim {

std::string print(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += print("\\u%04x", c);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string keys_json(const System& system) {
  std::string text = "\"keys\": {";
  for (const SystemKey& key : system_keys(system)) {
    text += (text.ends_with('{') ? "" : ", ") + quoted(key.name) + ": " + quoted(key.value);
  }
  return text + "}";
}

}  // namespace drover::sim
