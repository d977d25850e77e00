// The address that metrics are served at, as droverd's start and its check both read it, and what it is to the HTTP
// server.
#pragma once

#include <netdb.h>

#include <string>

namespace drover::engine {

// "HOST:PORT" or "[IPV6]:PORT", in two parts. False for any other text.
bool split_address(const std::string& text, std::string* host, std::string* port);

// Where the HTTP server listens for an address.
struct Listening {
  std::string error;     // not empty: nowhere, and why
  std::string numeric;   // all that it names, as civetweb takes them: "127.0.0.1:9464,[::1]:9464"
  std::string left_out;  // those of them at which it cannot, with the reason; empty: none
};
// Looks up the name, and binds each of its addresses for a moment, since prometheus-cpp's server does not say what is
// wrong.
Listening resolve_listening(const std::string& text);
// The same of the addresses `found`. Those that this machine lacks (::1 where IPv6 is off), or that the server cannot
// listen at (without `ipv6`, those of IPv6), are left out, unless all are.
Listening choose_listening(const std::string& text, const std::string& port, const addrinfo* found, bool ipv6);

}  // namespace drover::engine
