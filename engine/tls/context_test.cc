#include "engine/tls/context.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "engine/tls/identities.h"
#include "engine/tls/tls_testing.h"

namespace drover::engine::tls {
namespace {

std::string wrong_with(const Credentials& credentials) {
  std::string error;
  EXPECT_EQ(Context::make(credentials, Version::k12, &error), nullptr);
  return error;
}

Credentials with(std::string key, std::string chain) {
  Credentials credentials;
  credentials.pairs.push_back({std::move(key), std::move(chain)});
  return credentials;
}

TEST(TlsContext, WhatIsWrongWithCredentialsIsTold) {
  const TestCertificate one("one"), two("two");
  EXPECT_NE(wrong_with({}).find("0 pairs"), std::string::npos);
  EXPECT_NE(wrong_with(with("", one.pem())).find("the private key cannot be read"), std::string::npos);
  EXPECT_NE(wrong_with(with(one.key_pem(), "")).find("has no certificate in PEM"), std::string::npos);
  EXPECT_NE(wrong_with(with(one.key_pem(), two.pem())).find("is not that of its certificate"), std::string::npos);
  const std::string cut = one.pem() + two.pem().substr(0, 200);
  EXPECT_NE(wrong_with(with(one.key_pem(), cut)).find("certificate 2 cannot be read"), std::string::npos);
  Credentials mutual = with(one.key_pem(), one.pem());
  mutual.clients = ClientCertificates::kRequire;
  EXPECT_NE(wrong_with(mutual).find("no root certificates"), std::string::npos);
  mutual.roots = "nonsense";
  EXPECT_NE(wrong_with(mutual).find("root certificates has no certificate"), std::string::npos);
  EXPECT_NE(wrong_with(with(std::string(2 << 20, 'x'), "")).find("at most 1048576"), std::string::npos);
  std::string many;
  for (int i = 0; i < 20; ++i) many += one.pem();
  EXPECT_NE(wrong_with(with(one.key_pem(), many)).find("more than 16 certificates"), std::string::npos);
}

TEST(TlsContext, KeysThatAreTooLongOrTooShortAreRefused) {
  const TestCertificate weak("weak", nullptr, "RSA", 1024);
  EXPECT_NE(wrong_with(weak.pair().key.empty() ? Credentials() : with(weak.key_pem(), weak.pem())).find("1024 bits"),
            std::string::npos);
}

TEST(TlsContext, CredentialsAreSplitAtTheirNuls) {
  Credentials credentials;
  EXPECT_TRUE(split_credentials(std::string_view("k1\0c1\0k2\0c2\0r", 13), 2, &credentials));
  EXPECT_EQ(credentials.pairs[1].key, "k2");
  EXPECT_EQ(credentials.pairs[1].chain, "c2");
  EXPECT_EQ(credentials.roots, "r");
  EXPECT_FALSE(split_credentials(std::string_view("k1\0c1\0k2\0c2\0r", 13), 3, &credentials));
  EXPECT_FALSE(split_credentials(std::string_view("k1\0c1\0k2\0c2\0r", 13), 1, &credentials));
  EXPECT_FALSE(split_credentials("", 0, &credentials));
}

TEST(TlsContext, TheSameCredentialsHaveTheSameFingerprintAndOthersAnother) {
  const Credentials a = with("key", "chain"), b = with("key", "chain"), c = with("keyc", "hain");
  EXPECT_EQ(fingerprint(a), fingerprint(b));
  EXPECT_NE(fingerprint(a), fingerprint(c));
}

class TlsIdentities : public testing::Test {
 protected:
  TlsIdentities() : folder_(testing::TempDir() + "tls-" + std::to_string(::getpid())) {
    write("one", one_);
    write("two", two_);
  }
  ~TlsIdentities() override {
    for (const char* name : {"one", "two"}) {
      std::remove((folder_ + name + ".pem").c_str());
      std::remove((folder_ + name + ".key").c_str());
    }
  }
  void write(const std::string& name, const TestCertificate& certificate) {
    std::ofstream(folder_ + name + ".pem") << certificate.pem();
    std::ofstream(folder_ + name + ".key") << certificate.key_pem();
  }
  std::string pair(const std::string& name) {
    return "certificate=" + folder_ + name + ".pem key=" + folder_ + name + ".key";
  }
  std::string load(const IdentityOptions& options) {
    std::string error;
    EXPECT_EQ(identities_.load(options, &error), error.empty());
    return error;
  }

  const TestCertificate one_{"one"}, two_{"two"};
  const std::string folder_;
  Identities identities_;
};

TEST_F(TlsIdentities, NamesAndAddressesAreThoseOfTheConfiguration) {
  IdentityOptions options;
  options.certificate = folder_ + "one.pem";
  options.key = folder_ + "one.key";
  options.identities = "shop " + pair("two") + "; mail " + pair("one") + " " + pair("two");
  options.listen = "0.0.0.0:443, [::]:443; shop=unix:/run/shop/*";
  EXPECT_EQ(load(options), "");
  EXPECT_NE(identities_.find("default"), nullptr);
  EXPECT_NE(identities_.find("mail"), nullptr);
  EXPECT_EQ(identities_.find("other"), nullptr);
  EXPECT_EQ(identities_.for_address("[::]:443"), "default");
  EXPECT_EQ(identities_.for_address("unix:/run/shop/a"), "shop");
  EXPECT_EQ(identities_.for_address("0.0.0.0:80"), "");
}

TEST_F(TlsIdentities, AnotherSpellingOfAnAddressIsTheSameAddress) {
  IdentityOptions options;
  options.certificate = folder_ + "one.pem";
  options.key = folder_ + "one.key";
  options.listen = "0.0.0.0:443, unix:/run/shop/*";
  options.canonical = [](std::string_view address) -> std::vector<std::string> {
    if (address == "0.0.0.0:443" || address == "dns:///*:443") return {"*:443"};
    return {address == "unix:///run/shop/a" ? "unix:/run/shop/a" : std::string(address)};
  };
  EXPECT_EQ(load(options), "");
  EXPECT_EQ(identities_.for_address("dns:///*:443"), "default");
  EXPECT_EQ(identities_.for_address("unix:///run/shop/a"), "default");
  EXPECT_EQ(identities_.for_address("unix:/run/other"), "");
}

TEST_F(TlsIdentities, ClientsOfADefaultIdentityThatIsNotThereAreAnError) {
  IdentityOptions options;
  options.identities = "shop " + pair("two");
  options.clients = "require";
  EXPECT_NE(load(options).find("tls.certificate"), std::string::npos);
}

TEST_F(TlsIdentities, WhatIsWrongIsTold) {
  auto said = [&](const std::string& identities, const std::string& listen) {
    identities_ = Identities();
    IdentityOptions options;
    options.identities = identities;
    options.listen = listen;
    return load(options);
  };
  EXPECT_NE(said("", "0.0.0.0:1").find("no identity 'default'"), std::string::npos);
  EXPECT_NE(said("a certificate=x", "").find("1 certificates and 0 keys"), std::string::npos);
  EXPECT_NE(said("a colour=red", "").find("'colour=red'"), std::string::npos);
  EXPECT_NE(said("certificate=x key=y", "").find("without a name"), std::string::npos);
  EXPECT_NE(said("a " + pair("one") + "; a " + pair("two"), "").find("given twice"), std::string::npos);
  EXPECT_NE(said("a " + pair("absent"), "").find("absent.key"), std::string::npos);
  EXPECT_NE(said("a " + pair("one") + " clients=require", "").find("no client_ca"), std::string::npos);
  EXPECT_EQ(said("a " + pair("one"), "a=0.0.0.0:1"), "");
}

TEST_F(TlsIdentities, FilesThatChangeAreReadAgainAndBrokenOnesAreNot) {
  IdentityOptions options;
  options.certificate = folder_ + "one.pem";
  options.key = folder_ + "one.key";
  ASSERT_EQ(load(options), "");
  const auto before = identities_.find("default")->context();
  identities_.reload(false);
  EXPECT_EQ(identities_.find("default")->context(), before) << "nothing has changed";
  identities_.reload(true);
  const auto again = identities_.find("default")->context();
  EXPECT_NE(again, before);
  std::ofstream(folder_ + "one.pem") << "nonsense";
  identities_.reload(false);
  EXPECT_EQ(identities_.find("default")->context(), again) << "the old one stays";
  write("one", two_);
  identities_.reload(false);
  EXPECT_NE(identities_.find("default")->context()->describe().find("CN=two"), std::string::npos);
}

}  // namespace
}  // namespace drover::engine::tls
