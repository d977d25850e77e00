// Logging and formatting: streams, fmt, absl.
#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>
#include <absl/strings/substitute.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <iomanip>
#include <sstream>
#include <string>

#include "fragment.h"

namespace {

class LogLine {
 public:
  explicit LogLine(std::ostream& out) : out_(out) {}
  template <typename T>
  LogLine& operator<<(const T& value) {
    out_ << value;
    return *this;
  }

 private:
  std::ostream& out_;
};

template <typename... Arguments>
std::string format_all(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return fmt::format(format, std::forward<Arguments>(arguments)...);
}

}  // namespace

FRAGMENT(stream_of_fields) {
  LogLine(out) << "id=" << request->id() << " name=" << request->name() << " size=" << request->payload().size();
}

FRAGMENT(stream_with_width) {
  out << "[" << std::setw(12) << std::left << request->id() << "]" << std::setw(10) << std::right << request->tags(0);
}

FRAGMENT(quoted_in_stream) { out << std::quoted(request->name()); }

FRAGMENT(stream_of_an_enum) { out << request->item().kind() << static_cast<int>(request->item().kind()); }

FRAGMENT(debug_strings) {
  out << request->item().DebugString() << request->item().ShortDebugString() << request->item().Utf8DebugString();
}

FRAGMENT(fmt_of_fields) {
  out << fmt::format("id={} name={} n={}", request->id(), request->name(), request->numbers(0));
}

FRAGMENT(fmt_with_specifications) { out << fmt::format("[{:>12}] [{:<10.3}]", request->id(), request->name()); }

FRAGMENT(fmt_through_a_logger) { out << format_all("call {} by {}", request->id(), request->name()); }

FRAGMENT(fmt_join_of_tags) { out << fmt::format("{}", fmt::join(request->tags(), ",")); }

FRAGMENT(fmt_format_to) {
  std::string line;
  fmt::format_to(std::back_inserter(line), "{}-{}", request->id(), request->tags(1));
  out << line;
}

FRAGMENT(fmt_of_a_copy) {
  auto id = request->id();
  out << fmt::format("{}", id) << fmt::format("{:?>10}", request->tags(0));
}

FRAGMENT(str_cat) {
  std::string line = absl::StrCat("id=", request->id(), " tags=", request->tags_size(), " ", request->tags(0));
  absl::StrAppend(&line, "/", request->name());
  out << line;
}

FRAGMENT(str_format) {
  out << absl::StrFormat("%s has %d tags, first %s", request->id(), request->tags_size(), request->tags(0));
}

FRAGMENT(str_format_with_width) {
  out << absl::StrFormat("%d|%10s|%-6s|%.3s", 1, request->id(), request->tags(0), request->name());
}

FRAGMENT(str_format_c_str) { out << absl::StrFormat("%s %x", request->id().c_str(), request->payload().size()); }

FRAGMENT(str_join_of_tags) { out << absl::StrJoin(request->tags(), ", "); }

FRAGMENT(str_join_of_messages) {
  out << absl::StrJoin(request->items(), ",",
                       [](std::string* text, const fragments::Item& item) { absl::StrAppend(text, item.sku()); });
}

FRAGMENT(str_join_of_labels) {
  std::map<std::string, std::string> sorted(request->labels().begin(), request->labels().end());
  out << absl::StrJoin(sorted, ",", absl::PairFormatter("="));
}

FRAGMENT(str_split_of_a_field) {
  std::vector<std::string> words = absl::StrSplit(request->name(), ' ');
  std::vector<absl::string_view> parts = absl::StrSplit(request->text(), ',');
  std::pair<std::string, std::string> halves = absl::StrSplit(request->id(), absl::MaxSplits('-', 1));
  out << words.size() << parts[1] << halves.second;
}

FRAGMENT(str_split_in_loop) {
  for (absl::string_view word : absl::StrSplit(request->name(), ' ')) out << word << ";";
}

FRAGMENT(str_contains) {
  out << absl::StrContains(request->name(), "Love") << absl::StartsWith(request->id(), "order")
      << absl::EndsWith(request->id(), "42") << absl::EqualsIgnoreCase(request->name(), "ADA LOVELACE");
}

FRAGMENT(absl_string_view) {
  absl::string_view id = request->id();
  absl::string_view name(request->name());
  absl::ConsumePrefix(&id, "order-");
  out << id << name;
}

FRAGMENT(absl_numbers) {
  int64_t number = 0;
  out << absl::SimpleAtoi(request->id(), &number) << absl::SimpleAtoi(request->id().substr(6), &number) << number;
}

FRAGMENT(absl_case_and_escape) {
  out << absl::AsciiStrToLower(request->name()) << absl::AsciiStrToUpper(request->id())
      << absl::CEscape(request->payload()) << absl::Base64Escape(request->payload())
      << absl::BytesToHexString(request->payload()) << absl::StripAsciiWhitespace(request->name());
}

FRAGMENT(absl_substitute) { out << absl::Substitute("$0 of $1", request->id(), request->name()); }

FRAGMENT(absl_replace) { out << absl::StrReplaceAll(request->name(), {{"Ada", request->id()}}); }

FRAGMENT(str_append_to_a_field) {
  reply->set_message("start");
  absl::StrAppend(reply->mutable_message(), " ", request->id(), " ", 7);
}

FRAGMENT(str_append_format_to_a_field) { absl::StrAppendFormat(reply->mutable_message(), "%d:%s", 7, request->id()); }

FRAGMENT(log_a_message_by_template) {
  auto log = [&](const auto& message) { out << message.GetTypeName() << " " << message.ByteSizeLong(); };
  log(request->item());
}

FRAGMENT(log_a_message_by_base) {
  auto log = [&](const google::protobuf::Message& message) {
    out << message.GetTypeName() << " " << message.ShortDebugString();
  };
  log(request->item());
}

FRAGMENT(peer_and_metadata) {
  grpc::Status status(grpc::StatusCode::NOT_FOUND, "no " + request->id(), request->payload());
  out << status.error_message() << status.error_code() << status.error_details().size();
}
