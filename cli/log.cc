// `drover log`: gRPC binary logs, as droverd (docs/binary-log.md), grpc-java and grpc-go write them, as text.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "binlog/log_reader.h"
#include "cli/command.h"
#include "cli/file_io.h"
#include "cli/json_messages.h"
#include "cli/log_entries.h"
#include "cli/schema_source.h"
#include "object/unique_fd.h"

namespace drover::cli {
namespace {

constexpr size_t kWriteBytes = 64 << 10;  // gathered before they are written
constexpr size_t kMostMethods = 4096;

class Command {
 public:
  void add_options(CLI::App* app) {
    app->add_option("files", files_, "binary logs, the oldest first; - is stdin")->required()->type_name("FILE");
    app->add_flag("--json", json_, "a line of JSON for each entry, by protobuf's JSON mapping");
    app->add_option(
           "-m,--method", choice_.methods,
           "only calls of this method, package.Service/Method, or of all methods of package.Service (repeatable)")
        ->type_name("METHOD")
        ->allow_extra_args(false);
    app->add_option("-c,--call", choice_.calls, "only the call of this id (repeatable)")
        ->type_name("ID")
        ->allow_extra_args(false);
    schema_.add_options(app);
  }

  int run() {
    LogEntries::Decode decode;
    if (schema_.given()) {
      if (std::string error = schema_.load(); !error.empty()) return fail("log", error);
      decode = [this](const std::string& method, bool of_client, const std::string& wire) {
        return this->decode(method, of_client, wire);
      };
    }
    LogEntries entries(choice_, json_, std::move(decode));
    for (const std::string& path : files_) {
      if (!print_file(path, entries)) break;
    }
    if (std::string error = flush(); !error.empty()) return fail("log", error);
    return wrong_ ? kFailed : kDone;
  }

 private:
  // Of what is wrong with a file it tells, and goes on with the next one. False: nothing can be written.
  bool print_file(const std::string& path, LogEntries& entries) {
    UniqueFd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return tell(path, std::strerror(errno)), true;
    binlog::LogReader reader([&](char* to, size_t size) -> long {
      ssize_t n;
      do {
        n = ::read(fd.get(), to, size);
      } while (n < 0 && errno == EINTR);
      return n < 0 ? -errno : n;
    });
    std::string text;
    for (std::string_view bytes; reader.next(&bytes);) {
      if (!entries.print(bytes, &text)) {
        tell(path, "bad_entry: the " + std::to_string(bytes.size()) + " bytes at byte " +
                       std::to_string(reader.offset()) + " are no grpc.binarylog.v1.GrpcLogEntry");
        continue;
      }
      out_ += text;
      if (out_.size() < kWriteBytes) continue;
      if (std::string error = flush(); !error.empty()) return tell("-", error), false;
    }
    if (reader.error() != binlog::ReadError::kOk) tell(path, reader.message());
    return true;
  }

  void tell(const std::string& path, const std::string& what) {
    wrong_ = true;
    flush();  // in the order of what happens
    fail("log", path + ": " + what);
  }

  std::string flush() {
    std::string error = out_.empty() ? "" : write_file("-", out_);
    out_.clear();
    return error;
  }

  struct Types {
    bool known = false;
    schema::MessageType input, output;
  };

  // A log may name any methods: kMostMethods of them are remembered.
  Types types_of(const std::string& method) {
    if (const auto found = types_.find(method); found != types_.end()) return found->second;
    Types types;
    const google::protobuf::MethodDescriptor* descriptor = nullptr;
    types.known = schema_.find_method(method, &descriptor).empty() &&
                  schema_.find_message(descriptor->input_type()->full_name(), &types.input).empty() &&
                  schema_.find_message(descriptor->output_type()->full_name(), &types.output).empty();
    if (types_.size() < kMostMethods) types_[method] = types;
    return types;
  }

  std::string decode(const std::string& method, bool of_client, const std::string& wire) {
    const Types types = types_of(method);
    std::string text;
    if (!types.known || !wire_to_json(of_client ? types.input : types.output, "", wire, {}, &text).empty()) return "";
    return text;
  }

  SchemaSource schema_;
  std::vector<std::string> files_;
  LogChoice choice_;
  bool json_ = false;
  bool wrong_ = false;
  std::string out_;
  std::map<std::string, Types> types_;
};

}  // namespace

void add_log(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("log", "Print gRPC binary logs, as a table or as JSON");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
