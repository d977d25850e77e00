#include "sim/engines/rtl/rtl_options.h"

#include "sim/platform/options.h"

namespace drover::sim {

void RtlOptions::add_keys(Keys* keys) {
  keys->frequency("engine.clock", "of the RTL (\"250MHz\")", &clock);
  keys->count("deserializer.lanes", "that get messages, 1 to 4", &lanes, 1, 4);
  keys->flag("deserializer.eager", "with one_shot: what is final is written while the link would idle", &eager);
  keys->flag("deserializer.protoacc", "true: a descriptor is read for each field, and has-bits are before they change",
             &protoacc);
  keys->count("serializer.push_limit",
              "records, or objects, of at most so many bytes are stored into the card's inbox by the CPU; 0: never",
              &push_limit, 0, 1 << 20);
  add_link_keys("engine_memory", "the engine's own memory", &engine_memory, keys);
  add_link_keys("descriptors", "the memory that deserializer.protoacc reads", &descriptors, keys);
  add_link_keys("inbox", "the card's inbox", &inbox, keys);
  keys->count("inbox.size", "bytes that the inbox holds", &inbox_size, 0, 1 << 30);
}

std::string RtlOptions::summary() const {
  return "; engine " + format_frequency(clock) + ", every message compared with the software codec";
}

}  // namespace drover::sim
