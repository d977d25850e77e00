// What the calls of a run carry, made and checked at both ends:
//
//   bytes      made of the call's number
//   messages   of a workload, as wire bytes: the cores encode and decode (cpu.*), at the costs of the software codec
//   objects    the same messages, which the engine's codec makes of objects, and objects of
//
// Messages and objects are compared with the workload's. One for all programs of a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/lines/rpc_server.h"
#include "sim/engines/call_engine.h"
#include "sim/runs/call_options.h"

namespace drover::sim {

class CallContent {
 public:
  virtual ~CallContent() = default;
  virtual uint16_t function(uint64_t id) const = 0;
  // The arguments of call `id`; takes the time of the core that makes them.
  virtual void request(uint64_t id, Core* core, std::vector<std::byte>* arguments) = 0;
  // A request came: makes the response, and says which call it is, among all. Returns what is wrong with the request.
  virtual std::string serve(const lines::Request& request, Core* core, uint64_t* call,
                            std::vector<std::byte>* response) = 0;
  // Of call `id`. Returns what is wrong with the response.
  virtual std::string check(uint64_t id, std::span<const std::byte> response, Core* core) = 0;
  // Of functions that a server has to know: from first to end.
  virtual uint16_t first_function() const = 0;
  virtual uint16_t end_function() const = 0;
};

// `clients`, `servers`: the codecs of both hosts' engines, or null. All must outlive the content.
std::unique_ptr<CallContent> make_content(const CallOptions& options, const CallMessages& messages, ObjectPort* clients,
                                          ObjectPort* servers);

// The bytes of call `id` in one direction, made of the id, which comes first.
void fill_message(uint64_t id, bool response, std::vector<std::byte>* bytes);
// Of a message's bytes: its id; false if the rest is not that id's message of that direction.
bool check_message(std::span<const std::byte> bytes, bool response, uint64_t* id);

}  // namespace drover::sim
