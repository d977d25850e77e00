// An extension's accessor returns a value: clang reports a reference into it that outlives the expression. Compiled by
// the test compiler_dangling_N with CASE=N: 0 must build, each other case must fail.
#include <string_view>

#include "extensions.pb.h"

namespace ext = ::drover_test::ext;

int use_at_once(ext::Base& m) {
  m.MutableExtension(ext::one_message)->add_children()->set_id(1);
  for (int number : m.GetRepeatedExtension(ext::many_int32)) m.set_first(number);
  std::string_view text = m.GetExtension(ext::one_string);  // a view of the message's own bytes
  const ext::Payload& held = m.GetExtension(ext::one_message);
  return m.GetExtension(ext::one_message).children(0).id() + held.id() + static_cast<int>(text.size());
}

#if CASE == 1
int keep(ext::Base& m) {
  const auto& note = m.GetExtension(ext::one_message).note();
  return static_cast<int>(note.size());
}
#elif CASE == 2
int keep(ext::Base& m) {
  ext::Payload* child = m.MutableExtension(ext::one_message)->add_children();
  return child->id();
}
#elif CASE == 3
int keep(ext::Base& m) {
  ext::Payload& message = *m.MutableExtension(ext::one_message);
  return message.id();
}
#elif CASE == 4
int keep(ext::Base& m) {
  auto editor = m.MutableExtension(ext::one_message);
  return editor->id();
}
#endif
