#include "sim/runs/call_options.h"

#include "host/lines/line_message.h"

namespace drover::sim {

void CallOptions::add_keys(Keys* keys) {
  keys->choice(
      "calls.program",
      "test (one function, messages of calls.request and calls.response bytes), lines_kv (the key-value service "
      "of examples/lines_kv, closed loop)",
      &program, {{"test", Calls::kTest}, {"lines_kv", Calls::kLinesKv}});
  keys->choice("calls.load", "closed (each client keeps calls.outstanding under way), open (they arrive at calls.rate)",
               &load, {{"closed", Load::kClosed}, {"open", Load::kOpen}});
  keys->count("calls.clients", "client threads, each with a core and a flow of its own", &clients, 1, 64);
  keys->count("calls.servers", "server threads, the same; client i calls server i modulo these", &servers, 1, 64);
  keys->count("calls.connections", "of each client, which takes them in turn", &connections, 1, 65536);
  keys->count("calls.outstanding", "calls of a client that are under way at once (open: at the most)", &outstanding, 1,
              65536);
  keys->number("calls.rate", "open: millions of calls a second, of all clients together", &rate);
  keys->choice("calls.arrivals", "open: poisson, fixed", &arrivals,
               {{"poisson", Arrivals::kPoisson}, {"fixed", Arrivals::kFixed}});
  keys->count("calls.request", "bytes of a request", &request, 8, lines::kMaxMessageBytes);
  keys->count("calls.response", "bytes of a response", &response, 8, lines::kMaxMessageBytes);
  keys->text(
      "calls.messages",
      "what calls carry: none (bytes), or a group of the built-in workload (like0 to like5): wire bytes that the "
      "cores encode and decode, or objects, if the engine has a codec",
      &messages);
  keys->count("calls.cut", "bytes to which the strings of these messages are cut; 0: they are not", &cut, 0, 1 << 30);
  keys->count("calls.poll", "lines that a thread takes before it looks after other things", &poll, 1, 1024);
  keys->time("calls.warm_up", "not measured", &warm_up);
  keys->time("calls.time", "measured", &time);
  keys->time("calls.timeout", "of a call; 0: none", &timeout);
  keys->count("calls.seed", "of arrivals and contents", &seed, 0, UINT64_MAX);
}

}  // namespace drover::sim
