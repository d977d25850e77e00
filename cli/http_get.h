// GET of a small page from an HTTP server, in cleartext: an engine's metrics.
#pragma once

#include <string>

namespace drover::cli {

// `address`: "127.0.0.1:9464". The body, at most 64 MiB. Returns an empty string, or what went wrong, a line. It takes
// at most so many seconds and those for the name, however slowly the server sends.
std::string http_get(const std::string& address, const std::string& path, std::string* body, double seconds = 10);

}  // namespace drover::cli
