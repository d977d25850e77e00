// What every fragment starts from: a request with content, an empty reply, and a stream for what it observes.
//
// A fragment is a function of a few lines, as they stand in services written for protobuf C++ and gRPC C++. The same
// source is built against both and against Drover, must compile on both, and must print and reply the same.
//
//   FRAGMENT(name) { ... request->id() ... reply->set_message(...) ... out << ... }
//
// select_fragments.py finds fragments by the macro at the start of a line and the closing brace at the start of a line.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "fragments.grpc.pb.h"

namespace fragments {

struct Fragment {
  const char* name;
  void (*run)(const Request* request, Reply* reply, std::ostream& out);
};

// All that are linked in, by name.
inline std::map<std::string, Fragment>& all_fragments() {
  static auto* all = new std::map<std::string, Fragment>();
  return *all;
}

struct Registered {
  explicit Registered(const Fragment& fragment) { all_fragments().emplace(fragment.name, fragment); }
};

}  // namespace fragments

#define FRAGMENT(NAME)                                                                                           \
  static void NAME(const fragments::Request* request, fragments::Reply* reply, std::ostream& out);               \
  static const fragments::Registered registered_##NAME(fragments::Fragment{#NAME, NAME});                        \
  static void NAME([[maybe_unused]] const fragments::Request* request, [[maybe_unused]] fragments::Reply* reply, \
                   [[maybe_unused]] std::ostream& out)
