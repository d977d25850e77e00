// `drover gen`: seeded messages of any schema, or a whole workload, into files; and a table of their statistics.
#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/gen_output.h"
#include "cli/schema_source.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/statistics.h"
#include "workload/workload.h"

namespace drover::cli {
namespace {

using workload::NamedStatistics;
using workload::Workload;
using workload::WorkloadPart;
using workload::WorkloadResult;

class Command {
 public:
  void add_options(CLI::App* app) {
    schema_.add_options(app);
    app->add_option("--random-schema", random_schema_, "make up a schema from this seed")->type_name("SEED");
    app->add_option("--workload", workload_, "a built-in workload, all its messages")
        ->check(CLI::IsMember({"hyperproto-like"}));
    app->add_option("--hyperprotobench", hyperprotobench_, "the published HyperProtoBench, all its messages")
        ->type_name("DIR");
    app->add_option("-m,--message", message_,
                    "the message type, by full name or its last parts; all top-level ones "
                    "without it")
        ->type_name("NAME");
    app->add_option("--seed", seed_, "the same seed gives the same bytes everywhere")->capture_default_str();
    app->add_option("-n,--count", count_, "messages of each type")->capture_default_str();
    add_shape_options(app);
    app->add_option("-o,--output", output_, "directory to write to; - is stdout (not for --format bin)")
        ->type_name("DIR");
    app->add_option("--format", format_, "what to write: bin, delimited, hex, json")
        ->check(CLI::IsMember({"bin", "delimited", "hex", "json"}))
        ->capture_default_str();
    app->add_flag("--published", published_, "of a workload: only the messages whose population is published (40)");
    app->add_flag("--by-group", by_group_, "of a workload: a column for each group as well");
    app->add_flag("--markdown", markdown_, "print the table as Markdown");
    app->add_flag("-q,--quiet", quiet_, "print no table");
  }

  int run() {
    bool schema = schema_.given() || !random_schema_.empty();
    bool ready = !workload_.empty() || !hyperprotobench_.empty();
    if ((schema && ready) || (schema_.given() && !random_schema_.empty())) {
      return fail("gen", "give one source: a schema, --random-schema, or workloads", kUsage);
    }
    if (!schema && !ready) {
      return fail("gen",
                  "nothing to generate: give --proto FILE, --descriptor-set FILE, --random-schema SEED, "
                  "--workload hyperproto-like or --hyperprotobench DIR",
                  kUsage);
    }
    std::vector<Workload> workloads;
    if (schema) {
      if (std::string error = from_schema(&workloads); !error.empty()) return fail("gen", error);
    }
    WorkloadPart part = published_ ? WorkloadPart::kPublished : WorkloadPart::kAll;
    if (!hyperprotobench_.empty() && !take(workload::load_hyperprotobench(hyperprotobench_, part), &workloads))
      return kFailed;
    if (!workload_.empty() && !take(workload::hyperproto_like(seed_, part), &workloads)) return kFailed;
    if (!output_.empty()) {
      if (std::string error = write(workloads); !error.empty()) return fail("gen", error);
    }
    if (!quiet_) print_statistics(workloads);
    return kDone;
  }

 private:
  void add_shape_options(CLI::App* app) {
    auto* group = app->add_option_group("Shape", "of messages of a schema (workloads have their own)");
    group->add_option("--size", options_.target_size, "wire bytes to reach, where the type can; 0: as it comes")
        ->capture_default_str();
    group->add_option("--max-size", options_.max_size, "leave out what is optional from here on")
        ->capture_default_str();
    group->add_option("--presence", options_.presence_permille, "of 1000 optional fields, how many are there")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
    group->add_option("--depth", options_.max_levels, "levels of messages")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    group->add_option("--repeated", repeated_, "weights of 0, 1, 2-3, 4-7, ... elements of repeated fields")
        ->delimiter(',')
        ->expected(1, 8)
        ->type_name("W,W,...");
    group->add_option("--strings", strings_, "weights of lengths 0, 1, 2-3, 4-7, ... of strings and bytes")
        ->delimiter(',')
        ->expected(1, 21)
        ->type_name("W,W,...");
    group->add_option("--varints", varints_, "weights of varints of 1, 2, ... 10 bytes")
        ->delimiter(',')
        ->expected(1, 10)
        ->type_name("W,W,...");
    group->add_option("--unknown", options_.unknown_permille, "of 1000 messages, how many have unknown fields")
        ->check(CLI::Range(0, 1000));
    group->add_flag("--utf8", options_.utf8, "strings with characters of more than one byte");
    group->add_option("--odd", options_.odd_permille, "of 1000 fields, how many are written in legal but odd forms")
        ->check(CLI::Range(0, 1000));
  }

  template <size_t N>
  static std::string take_weights(const std::vector<uint32_t>& from, const char* option, uint32_t (&to)[N]) {
    if (from.empty()) return "";
    if (std::all_of(from.begin(), from.end(), [](uint32_t weight) { return weight == 0; })) {
      return std::string(option) + ": one weight at least has to be above zero";
    }
    std::fill(std::begin(to), std::end(to), 0u);
    std::copy_n(from.begin(), std::min(N, from.size()), to);
    return "";
  }

  std::string from_schema(std::vector<Workload>* out) {
    std::string error = take_weights(repeated_, "--repeated", options_.repeated_counts);
    if (error.empty()) error = take_weights(strings_, "--strings", options_.string_lengths);
    if (error.empty()) error = take_weights(varints_, "--varints", options_.varint_lengths);
    if (!error.empty()) return error;
    if (random_schema_.empty()) {
      error = schema_.load();
    } else {
      char* end = nullptr;
      uint64_t seed = std::strtoull(random_schema_.c_str(), &end, 0);
      if (*end != '\0') return "--random-schema " + random_schema_ + " is no number";
      error = schema_.load(workload::random_schema(seed));
    }
    if (!error.empty()) return error;
    std::vector<schema::MessageType> types;
    if (error = choose_types(&types); !error.empty()) return error;
    Workload made;
    made.name = types.size() == 1 ? types[0].full_name() : "messages";
    made.groups.emplace_back();
    made.groups[0].name = "schema";
    made.groups[0].files = schema_.files();
    for (const schema::MessageType& type : types) generate(type, &made);
    out->push_back(std::move(made));
    return "";
  }

  std::string choose_types(std::vector<schema::MessageType>* types) {
    schema::MessageType type;
    if (!message_.empty()) {
      std::string error = schema_.find_message(message_, &type);
      types->push_back(type);
      return error;
    }
    for (const auto& file : schema_.files().file()) {
      if (file.package() == "google.protobuf") continue;
      for (const auto& message : file.message_type()) {
        std::string name = file.package().empty() ? message.name() : file.package() + "." + message.name();
        if (std::string error = schema_.find_message(name, &type); !error.empty()) return error;
        types->push_back(type);
      }
    }
    return types->empty() ? "the schema has no messages" : "";
  }

  void generate(const schema::MessageType& type, Workload* out) {
    workload::Random seeds(seed_);
    for (uint64_t i = 0; i < count_; ++i) {
      std::string name = std::string(type.full_name()) + "." + std::to_string(i);
      out->messages.push_back({name, type, workload::generate_wire(type, seeds.next(), options_), 0});
    }
  }

  static bool take(WorkloadResult&& result, std::vector<Workload>* out) {
    if (!result.ok()) fail("gen", result.error);
    if (result.ok()) out->push_back(std::move(result.workload));
    return result.ok();
  }

  std::string write(const std::vector<Workload>& workloads) const {
    GenFormat format = format_ == "bin"         ? GenFormat::kBinary
                       : format_ == "delimited" ? GenFormat::kDelimited
                       : format_ == "hex"       ? GenFormat::kHex
                                                : GenFormat::kJson;
    for (const Workload& workload : workloads) {
      if (std::string error = write_workload(workload, format, output_); !error.empty()) return error;
    }
    return "";
  }

  void print_statistics(const std::vector<Workload>& workloads) const {
    std::vector<NamedStatistics> columns;
    for (const Workload& workload : workloads) {
      columns.push_back({workload.name, workload::total_statistics(workload, WorkloadPart::kAll)});
    }
    for (size_t g = 0; by_group_ && !workloads.empty() && g < workloads[0].groups.size(); ++g) {
      for (const Workload& workload : workloads) {
        columns.push_back({workload.groups[g].name, workload::group_statistics(workload, static_cast<uint32_t>(g))});
      }
    }
    // If the messages go to stdout, nothing else does.
    std::fputs(workload::statistics_table(columns, markdown_).c_str(), output_ == "-" ? stderr : stdout);
  }

  SchemaSource schema_;
  std::string random_schema_, workload_, hyperprotobench_, message_, output_, format_ = "bin";
  uint64_t seed_ = workload::kDefaultSeed, count_ = 1;
  workload::MessageOptions options_;
  std::vector<uint32_t> repeated_, strings_, varints_;
  bool published_ = false, by_group_ = false, markdown_ = false, quiet_ = false;
};

}  // namespace

void add_gen(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub =
      app->add_subcommand("gen", "Generate seeded messages of a schema, or a workload, and count what is in them");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
