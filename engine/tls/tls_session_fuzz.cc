// Fuzz target: any bytes from a client, before its handshake and after one, wherever they are cut. The session takes
// all of them or fails with a reason; what it says and holds is bounded. Seeds: tests/corpus/tls_session_fuzz.
//
// The first byte: bit 0 after a handshake, bit 1 TLS 1.2, bit 2 clients' certificates are asked for; the others are the
// size of the pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/tls/tls_testing.h"

using namespace drover::engine::tls;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TestCertificate server("localhost");
  static const auto one_way = [] {
    Credentials credentials;
    credentials.pairs.push_back(server.pair());
    return context_of(std::move(credentials));
  }();
  static const auto mutual = [] {
    Credentials credentials;
    credentials.pairs.push_back(server.pair());
    credentials.roots = server.pem();
    credentials.clients = ClientCertificates::kRequest;
    return context_of(std::move(credentials));
  }();
  if (size == 0) return 0;
  const uint8_t how = data[0];
  const size_t piece = (how >> 3) == 0 ? SIZE_MAX : how >> 3;
  Session session((how & 4) != 0 ? mutual : one_way);
  if ((how & 1) != 0) {
    TestClient client((how & 2) != 0 ? TLS1_2_VERSION : TLS1_3_VERSION);
    shake_hands(session, client);
    if (session.state() != Session::State::kOpen) std::abort();
  }
  feed(session, std::string(reinterpret_cast<const char*>(data) + 1, size - 1), piece);
  if (session.state() == Session::State::kFailed && session.why().empty()) std::abort();
  if (own_of(session).size() > (256 << 10) || session.memory() > (256 << 10)) std::abort();
  session.say_goodbye();
  return 0;
}
