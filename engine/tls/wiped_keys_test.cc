// Private keys that were read from files, or came from hosts, are not left behind in freed memory. OpenSSL's own copies
// are its matter.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "engine/base/freed_memory_testing.h"
#include "engine/tls/identities.h"
#include "engine/tls/tls_testing.h"

namespace drover::engine::tls {
namespace {

class WipedKeys : public testing::Test {
 protected:
  WipedKeys() : folder_(testing::TempDir() + "wiped-" + std::to_string(::getpid())) {
    // Some have the key beside its certificate, in one file.
    std::ofstream(chain_) << one_.pem() << pem_;
    std::ofstream(key_) << pem_;
    std::ofstream(other_) << TestCertificate("other").pem();
  }
  ~WipedKeys() override {
    for (const std::string& path : {chain_, key_, other_}) std::remove(path.c_str());
  }

  const TestCertificate one_{"one"};
  const std::string pem_ = one_.key_pem();
  const std::string text_ = pem_.substr(pem_.find('\n') + 20, 24);  // of the key
  const std::string folder_;
  const std::string chain_ = folder_ + "chain.pem", key_ = folder_ + "one.key", other_ = folder_ + "other.pem";
};

TEST_F(WipedKeys, TheTestSeesTextThatIsFreed) {
  const FreedMemory freed(text_);
  EXPECT_FALSE(freed.held_it());
  auto copy = std::make_unique<std::string>(pem_);
  copy.reset();
  EXPECT_TRUE(freed.held_it());
}

TEST_F(WipedKeys, OfFilesAreNotInFreedMemory) {
  IdentityOptions options;
  options.identities = "a certificate=" + chain_ + " key=" + chain_ + "; b certificate=" + chain_ + " key=" + key_ +
                       " client_ca=" + chain_ + " clients=request";
  Identities identities;
  std::string error;
  const FreedMemory freed(text_);
  EXPECT_TRUE(identities.load(options, &error)) << error;
  EXPECT_FALSE(freed.held_it());
  identities.reload(true);
  EXPECT_FALSE(freed.held_it());
}

TEST_F(WipedKeys, OfFilesThatAreWrongAreNotInFreedMemory) {
  const FreedMemory freed(text_);
  for (const std::string& files : {"certificate=" + other_ + " key=" + key_, "certificate=/none key=" + key_,
                                   "certificate=" + key_ + " key=" + other_}) {
    IdentityOptions options;
    options.identities = "a " + files;
    Identities identities;
    std::string error;
    EXPECT_FALSE(identities.load(options, &error));
    EXPECT_FALSE(freed.held_it()) << files;
  }
}

TEST_F(WipedKeys, OfHostsAreNotInFreedMemory) {
  const std::string sent = pem_ + '\0' + one_.pem() + pem_ + '\0';
  const FreedMemory freed(text_);
  {
    Credentials credentials, other;
    EXPECT_TRUE(split_credentials(sent, 1, &credentials));
    EXPECT_TRUE(split_credentials(sent, 1, &other));
    credentials = std::move(other);  // what it had goes
    credentials.pairs.resize(5);     // and these move
    EXPECT_EQ(credentials.pairs[0].key, pem_);
  }
  EXPECT_FALSE(freed.held_it());
}

}  // namespace
}  // namespace drover::engine::tls
