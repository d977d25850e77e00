#include "engine/base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace drover::engine {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Status = ConfigResult::Status;

ConfigResult load(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& env = {}) {
  return load_config(arguments, [&](const char* name) -> const char* {
    auto found = env.find(name);
    return found == env.end() ? nullptr : found->second.c_str();
  });
}

struct TomlFile {
  explicit TomlFile(const std::string& text) : path(testing::TempDir() + "/drover_config_" + std::to_string(getpid())) {
    std::ofstream(path) << text;
  }
  ~TomlFile() { ::unlink(path.c_str()); }
  std::string path;
};

TEST(Config, DefaultsAreWithinTheirOwnRanges) {
  Config defaults;
  std::set<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_NE(key.number == nullptr, key.text == nullptr) << key.name;
    EXPECT_STRNE(key.doc, "") << key.name;
    if (!key.number) continue;
    EXPECT_GE(defaults.*key.number, key.min) << key.name;
    EXPECT_LE(defaults.*key.number, key.max) << key.name;
  }
}

TEST(Config, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  TomlFile file(
      "[engine]\nthreads = 2\ncpus = \"0\"\n[metrics]\naddress = \"file:1\"\n[dispatch]\npolicy = "
      "\"least-outstanding\"\n");
  ConfigResult result = load({"--config", file.path, "--metrics.address=flag:1"},
                             {{"DROVER_ENGINE_CPUS", "1-2,5"}, {"DROVER_METRICS", "env:1"}});
  ASSERT_EQ(result.status, Status::kRun) << result.output;
  EXPECT_EQ(result.config.threads, 2);
  EXPECT_EQ(result.config.cpus, "1-2,5");
  EXPECT_EQ(result.config.metrics_address, "flag:1");
  EXPECT_EQ(result.config.policy, "least-outstanding");
}

TEST(Config, BytesTakeUnits) {
  TomlFile file("[limits]\nmax_request_bytes = \"8MiB\"\nmax_response_bytes = 123456\n");
  ConfigResult result = load({"--config", file.path, "--channel.rx_bytes=1GiB"});
  ASSERT_EQ(result.status, Status::kRun) << result.output;
  EXPECT_EQ(result.config.max_request_bytes, 8 << 20);
  EXPECT_EQ(result.config.max_response_bytes, 123'456);
  EXPECT_EQ(result.config.rx_bytes, 1 << 30);
}

TEST(Config, MistakesInTheFileNameKeyFileAndLine) {
  struct {
    const char* toml;
    const char* says;
  } cases[] = {
      {"[engine]\nthreads = 0\n", ":2: engine.threads: 0 is out of range; expected 1 to 256"},
      {"[engine]\n\nthread = 1\n", ":3: engine.thread: unknown key"},
      {"[engine]\nthreads = \"two\"\n", ":2: engine.threads: expected a number"},
      {"[engine]\ncpus = 3\n", ":2: engine.cpus: expected text"},
      {"[engine]\nthreads = [1]\n", ":2: engine.threads: expected a number"},
      {"[log]\nlevel = \"loud\"\n", ":2: log.level: 'loud' is not one of: trace, debug"},
      {"[channel]\nring_slots = 1000\n", ":2: channel.ring_slots: 1000 is not a power of two"},
      {"[limits]\nmax_request_bytes = \"4MB\"\n",
       ":2: limits.max_request_bytes: '4MB': 'MB' is not a unit of bytes; expected KiB, MiB, GiB or none (did you "
       "mean 4MiB?)"},
      {"threads = 1\n", ":1: threads: unknown key"},
      {"[engine\n", ":1: "}};
  for (const auto& one : cases) {
    TomlFile file(one.toml);
    ConfigResult result = load({"--config", file.path});
    EXPECT_EQ(result.status, Status::kError);
    EXPECT_THAT(result.output, HasSubstr(file.path + one.says));
  }
}

TEST(Config, MistakesInFlagsAndEnvironmentNameTheirOrigin) {
  EXPECT_THAT(load({"--engine.threads=many"}).output, HasSubstr("--engine.threads: 'many' is not a number"));
  EXPECT_THAT(load({"--engine.treads=1"}).output, HasSubstr("--engine.treads"));
  EXPECT_THAT(load({"--config", "/no/such/file"}).output, HasSubstr("cannot read '/no/such/file'"));
  EXPECT_THAT(load({}, {{"DROVER_ENGINE_CPUS", "0-"}}).output, HasSubstr("DROVER_ENGINE_CPUS: engine.cpus: '0-'"));
}

TEST(Config, AByteCountInAnotherUnitGetsASuggestion) {
  for (auto [value, meant] :
       {std::pair{"8MB", "8MiB"}, {"8m", "8MiB"}, {"8mib", "8MiB"}, {"64k", "64KiB"}, {"2GB", "2GiB"}}) {
    EXPECT_THAT(load({"--channel.rx_bytes=" + std::string(value)}).output,
                AllOf(HasSubstr("--channel.rx_bytes: '" + std::string(value)),
                      HasSubstr("did you mean " + std::string(meant))));
  }
  EXPECT_THAT(load({"--channel.rx_bytes=8 apples"}).output, Not(HasSubstr("did you mean")));
  EXPECT_THAT(load({"--channel.rx_bytes=99999999999999999999"}).output, HasSubstr("is out of range"));
  EXPECT_THAT(load({"--channel.rx_bytes=9999999999GiB"}).output, HasSubstr("is out of range"));
  EXPECT_THAT(load({"--engine.threads=2MiB"}).output, HasSubstr("'2MiB' is not a whole number"));
}

TEST(Config, AControlSocketIsAUnixAddress) {
  const char* expected = "is not the address of a control socket; expected unix:PATH or unix:@NAME";
  for (const char* address : {"/run/drover.sock", "@drover", "localhost:80"}) {
    EXPECT_THAT(load({"--engine.control_socket=" + std::string(address)}).output,
                HasSubstr("--engine.control_socket: '" + std::string(address) + "' " + expected));
  }
  TomlFile file("[engine]\ncontrol_socket = \"/run/drover.sock\"\n");
  EXPECT_THAT(load({"--config", file.path}).output, HasSubstr(file.path + ":2: engine.control_socket: "));
  EXPECT_EQ(load({"--engine.control_socket=unix:/run/drover.sock"}).status, Status::kRun);
}

TEST(Config, PrintedConfigurationNamesEachValuesOrigin) {
  TomlFile file("[engine]\nthreads = 2\n[limits]\nmax_request_bytes = \"8MiB\"\n");
  ConfigResult result =
      load({"--config", file.path, "--log.level=warn", "--print-config"}, {{"DROVER_ENGINE_CPUS", "0-1"}});
  EXPECT_EQ(result.status, Status::kExit);
  auto says = [&](const std::string& value, const std::string& origin) {
    EXPECT_THAT(result.output, ContainsRegex("\n" + value + " +# " + origin + "\n"));
  };
  says("threads = 2", file.path + ":2");
  says("cpus = \"0-1\"", "DROVER_ENGINE_CPUS");
  says("max_request_bytes = \"8MiB\"", file.path + ":4");
  says("max_response_bytes = 2147483647", "default");
  says("level = \"warn\"", "--log.level");
  for (const ConfigKey& key : config_keys()) {
    EXPECT_THAT(result.output,
                HasSubstr("\n" + std::string(key.name).substr(std::string(key.name).find('.') + 1) + " = "));
  }
}

TEST(Config, ACheckStaysOneWhenTheConfigurationIsPrintedToo) {
  for (const char* first : {"--check", "--print-config"}) {
    const char* second = std::string(first) == "--check" ? "--print-config" : "--check";
    ConfigResult result = load({first, second, "--engine.threads=0", "--engine.spin_us=7"}, {});
    EXPECT_EQ(result.status, Status::kCheck);
    ASSERT_EQ(result.problems.size(), 1u);
    EXPECT_THAT(result.problems[0], HasSubstr("engine.threads"));
    EXPECT_THAT(result.output, ContainsRegex("\nspin_us = 7 +# --engine.spin_us\n"));
  }
}

TEST(Config, PrintedConfigurationReadsBackAsItself) {
  const std::vector<std::string> set = {"--engine.control_socket=unix:/run/o'r \"x\".sock", "--channel.rx_bytes=65KiB",
                                        "--log.file=/a\\b\n", "--dispatch.policy=least-outstanding"};
  for (const auto& flags : {std::vector<std::string>(), set}) {
    ConfigResult first = load(flags);
    ASSERT_EQ(first.status, Status::kRun) << first.output;
    TomlFile file(print_config(first.config, first.origins));
    ConfigResult second = load({"--config", file.path});
    ASSERT_EQ(second.status, Status::kRun) << second.output;
    for (const ConfigKey& key : config_keys()) {
      if (key.number) {
        EXPECT_EQ(first.config.*key.number, second.config.*key.number) << key.name;
      } else {
        EXPECT_EQ(first.config.*key.text, second.config.*key.text) << key.name;
      }
    }
  }
}

TEST(Config, CpuListsAreRead) {
  std::vector<int> cpus;
  EXPECT_TRUE(parse_cpus("", &cpus));
  EXPECT_TRUE(cpus.empty());
  EXPECT_TRUE(parse_cpus("0,2-4,1", &cpus));
  EXPECT_EQ(cpus, (std::vector<int>{0, 2, 3, 4, 1}));
  for (const char* bad : {"a", "1-", "-1", "3-2", "1,,2", "1;2", "99999", "1,"})
    EXPECT_FALSE(parse_cpus(bad, &cpus)) << bad;
}

TEST(Config, HelpAndDocsTellEveryKey) {
  ConfigResult help = load({"--help"});
  EXPECT_EQ(help.status, Status::kExit);
  ConfigResult docs = load({"--dump-config-docs"});
  EXPECT_EQ(docs.status, Status::kExit);
  for (const ConfigKey& key : config_keys()) {
    EXPECT_THAT(help.output, HasSubstr(key.name));
    EXPECT_THAT(docs.output, HasSubstr(key.name));
  }
}

TEST(Config, TheDocsInTheRepositoryAreThoseOfTheTable) {
  std::stringstream content;
  content << std::ifstream(DROVER_SOURCE_DIR "/docs/configuration.md").rdbuf();
  EXPECT_EQ(content.str(), config_docs()) << "run: droverd --dump-config-docs > docs/configuration.md";
}

}  // namespace
}  // namespace drover::engine
