#include "engine/tls/session.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <map>

#include "engine/tls/tls_testing.h"

namespace drover::engine::tls {
namespace {

const TestCertificate& root() {
  static const TestCertificate made("root");
  return made;
}

Credentials one_way() {
  static const TestCertificate server("localhost", &root());
  Credentials credentials;
  credentials.pairs.push_back(server.pair());
  return credentials;
}

Credentials mutual(ClientCertificates clients) {
  Credentials credentials = one_way();
  credentials.roots = root().pem();
  credentials.clients = clients;
  return credentials;
}

std::string encrypted(Session& session, std::vector<std::string> pieces, size_t most = SIZE_MAX) {
  static Scratch scratch;
  scratch.out.clear();
  std::vector<iovec> parts;
  for (std::string& piece : pieces) parts.push_back({piece.data(), piece.size()});
  const char* begin = scratch.out.end();
  session.encrypt(parts.data(), parts.size(), most, scratch);
  return std::string(begin, static_cast<size_t>(scratch.out.end() - begin));
}

TEST(TlsSession, TextArrivesBothWaysWhereverItIsCut) {
  const auto context = context_of(one_way());
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (size_t piece : {size_t{1}, size_t{3}, size_t{100}, size_t{5000}, SIZE_MAX}) {
      Session session(context);
      TestClient client(version);
      shake_hands(session, client, piece);
      ASSERT_EQ(session.state(), Session::State::kOpen) << session.why();
      const std::string text(50'000, 'x');
      client.write(text);
      EXPECT_EQ(feed(session, client.take(), piece), text);
      client.give(encrypted(session, {"one", std::string(20'000, 'y'), "", "two", std::string(40'000, 'z'), "end"}));
      EXPECT_EQ(client.read(), "one" + std::string(20'000, 'y') + "two" + std::string(40'000, 'z') + "end");
    }
  }
}

TEST(TlsSession, AWriteIsTakenAsFarAsItIsAllowed) {
  Session session(context_of(one_way()));
  TestClient client;
  shake_hands(session, client);
  Scratch scratch;
  std::string text(1 << 20, 'a');
  const iovec part{text.data(), text.size()};
  EXPECT_EQ(session.encrypt(&part, 1, 100'000, scratch), 100'000u);
  EXPECT_EQ(session.encrypt(&part, 1, SIZE_MAX, scratch) % kRecordBytes, 0u);
  EXPECT_EQ(session.encrypt(&part, 1, SIZE_MAX, scratch), 0u) << "no room for a record is left";
  client.give(std::string(scratch.out.end() - (CipherBatch::kSize - scratch.out.room()), scratch.out.end()));
  EXPECT_GT(client.read().size(), 500'000u);
}

TEST(TlsSession, RecordsAreAsLongAsTheyMayBe) {
  Session session(context_of(one_way()));
  TestClient client;
  shake_hands(session, client);
  // As replies come: a header of a frame, its body, the next one.
  const std::string header(9, 'h'), body(kRecordBytes, 'b');
  const std::string cipher = encrypted(session, {header, body, header, body, header, body, header, body});
  size_t records = 0;
  for (size_t at = 0; at < cipher.size(); ++records) {
    at += 5 + (static_cast<unsigned char>(cipher[at + 3]) << 8) + static_cast<unsigned char>(cipher[at + 4]);
  }
  EXPECT_EQ(records, 5u);
}

TEST(TlsSession, AClientWithoutHttp2IsRefused) {
  const auto context = context_of(one_way());
  for (const char* alpn : {static_cast<const char*>(nullptr), "\10http/1.1"}) {
    for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      Session session(context);
      TestClient client(version, alpn);
      shake_hands(session, client);
      EXPECT_EQ(session.state(), Session::State::kFailed);
      EXPECT_FALSE(client.shake_hands());
    }
  }
}

TEST(TlsSession, WhatIsNotTlsIsRefusedAtItsFirstByte) {
  Session session(context_of(one_way()));
  feed(session, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(session.state(), Session::State::kFailed);
  EXPECT_EQ(session.why(), "the client does not speak TLS");
  EXPECT_LT(session.memory(), 4096u) << "and nothing was made for it";
}

TEST(TlsSession, OldVersionsAreRefused) {
  Session session(context_of(one_way()));
  TestClient client(TLS1_1_VERSION);
  SSL_CTX_set_security_level(client.context(), 0);
  SSL_CTX_set_cipher_list(client.context(), "ALL:@SECLEVEL=0");
  shake_hands(session, client);
  EXPECT_EQ(session.state(), Session::State::kFailed);
}

TEST(TlsSession, ACorruptRecordEndsItAndSaysSo) {
  Session session(context_of(one_way()));
  TestClient client;
  shake_hands(session, client);
  client.write("hello");
  std::string record = client.take();
  record.back() ^= 1;
  EXPECT_EQ(feed(session, record), "");
  EXPECT_EQ(session.state(), Session::State::kFailed);
  EXPECT_TRUE(session.has_own()) << "an alert";
  Scratch scratch;
  const iovec part{record.data(), record.size()};
  EXPECT_EQ(session.encrypt(&part, 1, SIZE_MAX, scratch), 0u);
}

TEST(TlsSession, RenegotiationEndsTheConnection) {
  Session session(context_of(one_way()));
  TestClient client(TLS1_2_VERSION);
  shake_hands(session, client);
  ASSERT_EQ(session.state(), Session::State::kOpen);
  ASSERT_EQ(SSL_renegotiate(client.ssl()), 1);
  client.shake_hands();
  feed(session, client.take());
  EXPECT_EQ(session.state(), Session::State::kFailed);
  EXPECT_EQ(session.why(), "the client asks for renegotiation");
}

TEST(TlsSession, KeysMayChangeNowAndThenButNotAllTheTime) {
  Session session(context_of(one_way()));
  TestClient client;
  shake_hands(session, client);
  for (int i = 0; i < 2000; ++i) {
    if (i % 20 == 0) SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED);
    client.write("text");
    EXPECT_EQ(feed(session, client.take()), "text");
    client.give(own_of(session));
    client.give(encrypted(session, {"answer"}));
    EXPECT_EQ(client.read(), "answer");
  }
  ASSERT_EQ(session.state(), Session::State::kOpen) << session.why();
  int updates = 0;
  for (; updates < 1000 && session.state() == Session::State::kOpen; ++updates) {
    SSL_key_update(client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    client.shake_hands();
    feed(session, client.take());
  }
  EXPECT_LE(updates, 100);
}

TEST(TlsSession, AGoodbyeIsHeardAndSaid) {
  Session session(context_of(one_way()));
  TestClient client;
  shake_hands(session, client);
  session.say_goodbye();
  client.give(own_of(session));
  EXPECT_EQ(client.read(), "");
  EXPECT_EQ(SSL_get_shutdown(client.ssl()), SSL_RECEIVED_SHUTDOWN);
  SSL_shutdown(client.ssl());
  feed(session, client.take());
  EXPECT_EQ(session.state(), Session::State::kEnded);
}

TEST(TlsSession, ASessionIsResumedAndItsPeerStaysKnown) {
  const TestCertificate alice("alice", &root());
  const auto context = context_of(mutual(ClientCertificates::kRequire));
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_SESSION* kept = nullptr;
    for (bool again : {false, true}) {
      Session session(context);
      TestClient client(version);
      client.use(alice);
      if (again) SSL_set_session(client.ssl(), kept);
      shake_hands(session, client);
      ASSERT_EQ(session.state(), Session::State::kOpen) << session.why();
      client.give(encrypted(session, {"x"}));
      EXPECT_EQ(client.read(), "x");
      EXPECT_EQ(session.resumed(), again);
      Properties properties;
      ASSERT_TRUE(session.properties(&properties));
      std::map<std::string, std::string> known(properties.begin(), properties.end());
      EXPECT_EQ(known["x509_common_name"], "alice");
      EXPECT_EQ(known["x509_pem_cert"], alice.pem());
      EXPECT_EQ(known["ssl_session_reused"], again ? "true" : "false");
      if (!again) kept = SSL_get1_session(client.ssl());
    }
    Session other(context_of(mutual(ClientCertificates::kRequire)));
    TestClient client(version);
    SSL_set_session(client.ssl(), kept);
    shake_hands(other, client);
    EXPECT_EQ(other.state(), Session::State::kFailed) << "another context does not take the ticket, nor no certificate";
    SSL_SESSION_free(kept);
  }
}

TEST(TlsSession, APeerWithTooManyNamesIsNotKnown) {
  std::string names;
  for (int i = 0; i < 600; ++i) names += ",DNS:host" + std::to_string(i);
  const TestCertificate few("few", &root(), "EC", 0, names.substr(0, names.size() / 4)),
      many("many", &root(), "EC", 0, names);
  const auto context = context_of(mutual(ClientCertificates::kRequire));
  for (const auto& [certificate, known] : {std::pair{&few, true}, std::pair{&many, false}}) {
    Session session(context);
    TestClient client;
    client.use(*certificate);
    shake_hands(session, client);
    ASSERT_EQ(session.state(), Session::State::kOpen) << session.why();
    Properties properties;
    EXPECT_EQ(session.properties(&properties), known);
    size_t bytes = 0;
    for (const auto& [name, value] : properties) bytes += name.size() + value.size();
    EXPECT_LE(bytes, kMostIdentity);
  }
}

TEST(TlsSession, EarlyDataIsNotTaken) {
  const auto context = context_of(one_way());
  SSL_SESSION* kept = nullptr;
  {
    Session session(context);
    TestClient client;
    shake_hands(session, client);
    client.read();
    kept = SSL_get1_session(client.ssl());
    EXPECT_EQ(SSL_SESSION_get_max_early_data(kept), 0u) << "it is not offered";
  }
  SSL_SESSION_set_max_early_data(kept, 16'384);
  Session session(context);
  TestClient client;
  SSL_set_session(client.ssl(), kept);
  size_t written;
  ASSERT_EQ(SSL_write_early_data(client.ssl(), "early", 5, &written), 1);
  EXPECT_EQ(feed(session, client.take()), "") << "a client that sends it all the same";
  client.give(own_of(session));
  shake_hands(session, client);
  EXPECT_EQ(SSL_get_early_data_status(client.ssl()), SSL_EARLY_DATA_REJECTED);
  EXPECT_EQ(session.state(), Session::State::kOpen);
  SSL_SESSION_free(kept);
}

TEST(TlsSession, ClientsCertificatesCountAsTheListenerSays) {
  const TestCertificate alice("alice", &root()), other_root("other"), mallory("mallory", &other_root);
  struct Case {
    ClientCertificates clients;
    bool none, known, unknown;
  };
  for (const Case& c : {Case{ClientCertificates::kNone, true, true, true},
                        Case{ClientCertificates::kRequestUnverified, true, true, true},
                        Case{ClientCertificates::kRequest, true, true, false},
                        Case{ClientCertificates::kRequireUnverified, false, true, true},
                        Case{ClientCertificates::kRequire, false, true, false}}) {
    const auto context = context_of(mutual(c.clients));
    const std::pair<const TestCertificate*, bool> clients[] = {
        {nullptr, c.none}, {&alice, c.known}, {&mallory, c.unknown}};
    for (const auto& [certificate, may] : clients) {
      Session session(context);
      TestClient client;
      if (certificate != nullptr) client.use(*certificate);
      shake_hands(session, client);
      EXPECT_EQ(session.state() == Session::State::kOpen, may) << static_cast<int>(c.clients) << session.why();
    }
  }
}

// All but the last byte of a ClientHello as large as OpenSSL takes, in records.
std::string beginning_of_large_hello() {
  constexpr size_t kBody = 131'000;
  std::string message = {1, static_cast<char>(kBody >> 16), static_cast<char>(kBody >> 8 & 0xff),
                         static_cast<char>(kBody & 0xff)};
  message.resize(message.size() + kBody - 1, '\3');
  std::string records;
  for (size_t at = 0; at < message.size(); at += kRecordBytes) {
    const std::string part = message.substr(at, kRecordBytes);
    records += {22, 3, 1, static_cast<char>(part.size() >> 8), static_cast<char>(part.size() & 0xff)};
    records += part;
  }
  return records;
}

// What OpenSSL takes is not told by it: the heap's growth is.
size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(TlsSession, ItsMemoryIsWhatIsCharged) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
  GTEST_SKIP() << "the sanitizer's heap is not glibc's";
#endif
  const TestCertificate alice("alice", &root());
  const auto context = context_of(mutual(ClientCertificates::kRequire));
  std::vector<std::unique_ptr<TestCertificate>> padding;  // up to what the server takes
  for (size_t bytes = 2'000; bytes < 30'000;) {
    padding.push_back(std::make_unique<TestCertificate>("x" + std::to_string(padding.size()), &root()));
    bytes += static_cast<size_t>(i2d_X509(padding.back()->certificate, nullptr)) + 8;
  }
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    constexpr size_t kSessions = 64;
    std::vector<std::unique_ptr<Session>> half, open, shrunk, chained, large;
    std::string hello;
    {
      TestClient client(version);
      client.shake_hands();
      hello = client.take();
    }
    auto measure = [&](const char* what, std::vector<std::unique_ptr<Session>>& sessions, auto make) {
      std::vector<std::unique_ptr<TestClient>> clients;
      for (size_t i = 0; i < kSessions; ++i) sessions.push_back(std::make_unique<Session>(context));
      make(*sessions[0]);  // what OpenSSL makes once
      const size_t before = heap_in_use();
      for (size_t i = 1; i < kSessions; ++i) make(*sessions[i]);
      const size_t each = (heap_in_use() - before) / (kSessions - 1), charged = sessions[1]->memory();
      EXPECT_LE(each, charged) << what;
      EXPECT_GE(each * 3, charged) << what << ": far more is charged than taken";
      std::printf("%s %x: %zu bytes taken, %zu charged\n", what, static_cast<unsigned>(version), each, charged);
    };
    measure("in its handshake", half, [&](Session& session) {
      feed(session, hello);
      own_of(session);
    });
    auto open_one = [&](Session& session) {
      TestClient client(version);
      client.use(alice);
      shake_hands(session, client);
      client.write("text");
      feed(session, client.take());
      encrypted(session, {"text"});
    };
    measure("open", open, open_one);
    measure("open, many certificates", chained, [&](Session& session) {
      TestClient client(version);
      client.use(alice);
      for (const auto& one : padding) SSL_CTX_add1_chain_cert(client.context(), one->certificate);
      shake_hands(session, client);
      ASSERT_EQ(session.state(), Session::State::kOpen) << session.why();
      client.write("text");
      feed(session, client.take());
    });
    measure("within a large message of the handshake", large, [&](Session& session) {
      feed(session, beginning_of_large_hello());
      ASSERT_EQ(session.state(), Session::State::kHandshake) << session.why();
    });
    measure("idle", shrunk, [&](Session& session) {
      open_one(session);
      session.shrink();
    });
  }
}

}  // namespace
}  // namespace drover::engine::tls
