#include "sim/engines/objects/objects_options.h"

#include "rtl/model/network_half.h"

namespace drover::sim {

void ObjectsOptions::add_keys(Keys* keys) {
  keys->frequency("objects.clock", "of the NIC's deserializer and serializer (\"250MHz\")", &clock);
  keys->count("objects.lanes", "of the deserializer, 1 to 4", &lanes, 1, 4);
  keys->flag("objects.eager", "deserializer: what is final is written while the link would idle", &eager);
  keys->flag("objects.protoacc", "deserializer: a descriptor is read for each field, and has-bits before they change",
             &protoacc);
  keys->count("objects.messages", "that are under way in the NIC each way, at the most", &messages, 1, 1024);
}

std::string ObjectsOptions::summary() const { return "; objects, codec " + format_frequency(clock); }

std::string ObjectsOptions::refuses(const CallShape& shape) const {
  if (shape.base == nullptr || !shape.base->reliable()) return "a NIC with objects needs line_nic.transport = reliable";
  if (shape.clients > rtl::NetworkHalf::kFlows || shape.servers > rtl::NetworkHalf::kFlows) {
    return "a NIC with objects has " + std::to_string(rtl::NetworkHalf::kFlows) +
           " flows: calls.clients and calls.servers are at most that";
  }
  return "";
}

}  // namespace drover::sim
