// A string field read: copies, deduced types, members of std::string, algorithms.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "fragment.h"

namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}
size_t length(const std::string& text) { return text.size(); }
size_t view_length(std::string_view text) { return text.size(); }
template <typename T>
std::string described(const T& value) {
  std::ostringstream text;
  text << "<" << value << ">";
  return text.str();
}
template <typename Text>
Text twice(Text text) {
  text += text;
  return text;
}

}  // namespace

FRAGMENT(auto_is_a_copy) {
  auto id = request->id();
  id += "/copy";
  out << id << " " << request->id();
}

FRAGMENT(auto_copy_outlives_the_message) {
  auto message = std::make_unique<fragments::Request>(*request);
  auto id = message->id();
  auto payload = message->payload();
  message.reset();
  out << id << " " << payload.size();
}

FRAGMENT(const_auto_reference) {
  const auto& id = request->id();
  const std::string& name = request->name();
  out << id << name;
}

FRAGMENT(const_auto_copy) {
  const auto name = request->name();
  reply->set_message(name);
  reply->add_tags(name);
}

FRAGMENT(copy_is_assigned) {
  auto key = request->id();
  key = request->name();
  out << key;
  key = "literal";
  out << key;
  key = std::string("string");
  out << key;
}

FRAGMENT(loop_over_copies) {
  for (auto tag : request->tags()) {
    tag += "!";
    reply->add_tags(tag);
  }
}

FRAGMENT(loop_over_strings) {
  for (std::string tag : request->tags()) {
    tag.push_back('?');
    out << tag;
  }
  for (const std::string& tag : request->tags()) out << tag;
}

FRAGMENT(lambda_captures_copy) {
  auto id = request->id();
  auto task = [id, name = request->name()]() { return id + ":" + name; };
  out << task();
}

FRAGMENT(std_function_captures_all) {
  const auto& id = request->id();
  std::function<std::string()> later = [=] { return "later " + id; };
  out << later();
}

FRAGMENT(conditional_with_literal) {
  std::string name = request->name().empty() ? "unknown" : request->name();
  std::string note = request->has_note() ? request->note() : "no note";
  out << name << note;
}

FRAGMENT(conditional_in_stream) { out << (request->id().empty() ? "<empty>" : request->id()) << "."; }

FRAGMENT(conditional_with_string) {
  std::string fallback = "fallback";
  const std::string& chosen = request->note().empty() ? fallback : request->note();
  std::string other = request->id().empty() ? std::string("none") : request->id();
  out << chosen << other;
}

FRAGMENT(conditional_with_view) {
  std::string_view fallback = "view";
  std::string_view chosen = request->dry_run() ? fallback : request->id();
  out << chosen;
}

FRAGMENT(conditional_of_two_fields) {
  const std::string& shown = request->name().empty() ? request->id() : request->name();
  out << shown;
}

FRAGMENT(make_pair_and_tuple) {
  auto pair = std::make_pair(request->id(), 1);
  auto tuple = std::make_tuple(request->name(), request->id(), 2);
  out << pair.first << pair.second << std::get<0>(tuple) << std::get<1>(tuple);
}

FRAGMENT(pair_in_braces) {
  std::vector<std::pair<std::string, int>> pairs;
  pairs.push_back({request->id(), 1});
  pairs.emplace_back(request->name(), 2);
  pairs.push_back(std::make_pair(request->id(), 3));
  for (const auto& [name, number] : pairs) out << name << number;
}

FRAGMENT(optional_string) {
  std::optional<std::string> note;
  if (!request->id().empty()) note = request->id();
  std::optional<std::string> other = request->name();
  auto made = std::make_optional(request->name());
  out << *note << other->size() << made.value();
}

FRAGMENT(returned_from_lambda) {
  auto get = [&] { return request->id(); };
  std::string id = get();
  out << id << get().size();
}

FRAGMENT(variant_of_string) {
  std::variant<int, std::string> value = 1;
  value = request->id();
  value.emplace<std::string>(request->name());
  out << std::get<std::string>(value);
}

FRAGMENT(passed_by_value_and_reference) {
  out << upper(request->name()) << length(request->name()) << view_length(request->name());
}

FRAGMENT(passed_to_templates) { out << described(request->id()) << twice(request->id()); }

FRAGMENT(std_string_constructors) {
  std::string a(request->id());
  std::string b{request->id()};
  std::string c = request->id();
  std::string d(request->id(), 2);
  std::string e(request->id(), 1, 3);
  std::string f(request->id().begin(), request->id().end());
  std::string g(request->payload().data(), request->payload().size());
  out << a << b << c << d << e << f << g.size();
}

FRAGMENT(moved_copy) {
  std::string id = std::move(request->id());
  auto name = request->name();
  std::string taken = std::move(name);
  out << id << taken;
}

FRAGMENT(find_overloads) {
  const auto& name = request->name();
  out << name.find('a') << name.find("Love") << name.find("Love", 2) << name.find(std::string("ace")) << ","
      << name.find("Lovers", 0, 4) << name.rfind('a') << name.rfind("l", 8) << name.rfind("Ada", 0) << ","
      << name.find_first_of("xyzL") << name.find_first_of(' ') << name.find_last_of("ae") << name.find_last_of('e')
      << "," << name.find_first_not_of("Ad") << name.find_last_not_of('e') << name.find_first_not_of('A')
      << (name.find("absent") == std::string::npos);
}

FRAGMENT(prefixes_and_suffixes) {
  out << request->id().starts_with("order-") << request->id().starts_with('o') << request->id().ends_with("42")
      << request->id().ends_with('x') << (request->id().rfind("order", 0) == 0);
}

FRAGMENT(compare_overloads) {
  out << (request->id().compare("order-42") == 0) << (request->id().compare(0, 6, "order-") == 0)
      << (request->id().compare(request->name()) > 0) << (request->id().compare(std::string("a")) > 0)
      << (request->id().compare(0, 5, "order-", 5) == 0) << (request->id().compare(6, 2, request->id(), 6, 2) == 0);
}

FRAGMENT(comparisons) {
  std::string other = "order-42";
  std::string_view view = other;
  out << (request->id() == other) << (other == request->id()) << (request->id() == "order-42")
      << ("order-42" == request->id()) << (request->id() == view) << (request->id() != request->name())
      << (request->id() < other) << (request->id() >= "a") << (request->name() < request->id());
}

FRAGMENT(substrings) {
  out << request->id().substr(6) << request->id().substr(0, request->id().find('-'));
  auto tail = request->name().substr(request->name().find(' ') + 1);
  out << tail << tail.size();
}

FRAGMENT(concatenation) {
  std::string a = "prefix-" + request->id();
  std::string b = request->id() + "-suffix";
  std::string c = request->id() + request->name();
  std::string d = request->id() + '/' + request->name() + std::string("/end");
  auto e = request->id() + ":" + std::to_string(request->numbers(0));
  a += request->name();
  a.append(request->id()).append(request->id(), 0, 2);
  out << a << b << c << d << e;
}

FRAGMENT(iterators) {
  std::string reversed(request->id().rbegin(), request->id().rend());
  size_t digits = std::count_if(request->id().begin(), request->id().end(), [](char c) { return std::isdigit(c); });
  bool all = std::all_of(request->id().cbegin(), request->id().cend(), [](unsigned char c) { return c < 128; });
  out << reversed << digits << all << request->id().front() << request->id().back() << request->id()[1]
      << request->id().at(2);
}

FRAGMENT(character_loop) {
  unsigned sum = 0;
  for (char c : request->id()) sum += static_cast<unsigned char>(c);
  for (size_t i = 0; i < request->payload().size(); ++i) sum += static_cast<unsigned char>(request->payload()[i]);
  out << sum;
}

FRAGMENT(regex_match_of_a_field) {
  static const std::regex pattern("([a-z]+)-([0-9]+)");
  out << std::regex_match(request->id(), pattern);
}

FRAGMENT(regex_search_with_groups) {
  static const std::regex pattern("([a-z]+)-([0-9]+)");
  std::smatch groups;
  if (std::regex_match(request->id(), groups, pattern)) out << groups[1] << groups[2];
}

FRAGMENT(regex_search_of_a_local) {
  static const std::regex pattern("L[a-z]+");
  std::string name = request->name();
  std::smatch found;
  if (std::regex_search(name, found, pattern)) out << found.str() << std::regex_replace(name, pattern, "X");
}

FRAGMENT(regex_replace_of_a_field) {
  static const std::regex pattern("[0-9]+");
  std::string replaced = std::regex_replace(request->id(), pattern, "N");
  out << replaced;
}

FRAGMENT(max_of_field_and_string) {
  std::string other = "order-9";
  out << std::max(request->id(), other);
}

FRAGMENT(max_of_two_fields) {
  out << std::max(request->id(), request->name()) << std::min(request->id(), request->name());
}

FRAGMENT(numbers_from_text) {
  std::string digits = request->id().substr(6);
  out << std::stoi(digits) << std::stol(request->id().substr(6)) << std::atoi(request->id().c_str() + 6);
  int value = 0;
  std::from_chars(request->id().data() + 6, request->id().data() + request->id().size(), value);
  out << value;
}

FRAGMENT(stoi_of_a_field) {
  fragments::Request other;
  other.set_id("17");
  out << std::stoi(other.id()) << std::stod(other.id());
}

FRAGMENT(c_functions) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%s (%zu)", request->name().c_str(), request->name().size());
  out << buffer << std::strlen(request->id().c_str()) << std::strcmp(request->id().c_str(), "order-42");
  std::memcpy(buffer, request->payload().data(), request->payload().size());
  out << std::memcmp(buffer, request->payload().data(), request->payload().length());
}

FRAGMENT(string_view_of_a_field) {
  std::string_view id = request->id();
  std::string_view name(request->name());
  id.remove_prefix(6);
  out << id << name;
}

FRAGMENT(string_stream_of_a_field) {
  std::istringstream words(request->name());
  std::string first, second;
  words >> first >> second;
  std::stringstream lines(request->text());
  std::string part;
  while (std::getline(lines, part, ',')) out << "[" << part << "]";
  out << second << first;
}

FRAGMENT(path_of_a_field) {
  std::filesystem::path path = std::filesystem::path("/var/data") / request->id();
  std::filesystem::path other(request->name());
  out << path.string() << other.filename().string();
}

FRAGMENT(vector_of_bytes) {
  std::vector<uint8_t> bytes(request->payload().begin(), request->payload().end());
  std::vector<char> chars;
  chars.insert(chars.end(), request->payload().begin(), request->payload().end());
  std::copy(request->payload().begin(), request->payload().end(), std::back_inserter(chars));
  reply->set_payload(bytes.data(), bytes.size());
  out << chars.size();
}

FRAGMENT(assigned_to_members) {
  struct User {
    std::string id;
    std::string name;
    std::vector<std::string> tags;
  };
  User user{request->id(), request->name(), {request->tags().begin(), request->tags().end()}};
  user.id = request->name();
  user.name.assign(request->id());
  out << user.id << user.name << user.tags.size();
}

FRAGMENT(member_initializers) {
  class Job {
   public:
    explicit Job(const fragments::Request& request) : id_(request.id()), name_{request.name()} {}
    const std::string& id() const { return id_; }
    const std::string& name() const { return name_; }

   private:
    std::string id_, name_;
  };
  Job job(*request);
  out << job.id() << job.name();
}

FRAGMENT(switch_on_first_character) {
  switch (request->id()[0]) {
    case 'o':
      out << "order";
      break;
    default:
      out << "other";
  }
  if (!request->id().empty() && request->id().back() == '2') out << "even";
}

FRAGMENT(enum_names) {
  const std::string& name = fragments::Kind_Name(request->item().kind());
  fragments::Kind kind;
  out << name << fragments::Kind_Parse("KIND_TOY", &kind) << kind << fragments::Kind_Name(kind);
}

FRAGMENT(trimmed_and_replaced) {
  auto text = request->text();
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  std::replace(text.begin(), text.end(), ' ', '_');
  text.insert(0, "<").append(">");
  text.replace(text.find("choice"), 6, "CHOICE");
  text.resize(text.size() - 1);
  out << text << text.capacity() / 1000;
}

FRAGMENT(sorted_characters) {
  std::string letters = request->name();
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  out << letters;
}

FRAGMENT(accumulated_tags) {
  std::string joined = std::accumulate(request->tags().begin(), request->tags().end(), std::string(),
                                       [](std::string all, const std::string& tag) { return all + tag + ";"; });
  out << joined;
}

FRAGMENT(swap_with_a_string) {
  auto a = request->id();
  auto b = request->name();
  std::swap(a, b);
  a.swap(b);
  swap(a, b);
  out << a << b;
}

FRAGMENT(copy_of_nested_fields) {
  auto title = request->item().title();
  auto tag = request->items(0).tags(0);
  auto last = request->tags(request->tags_size() - 1);
  auto label = request->labels().at("env");
  out << title << tag << last << label;
}

FRAGMENT(string_as_default_argument) {
  auto greet = [](const std::string& name, const std::string& greeting = "Hello") { return greeting + ", " + name; };
  out << greet(request->name()) << greet(request->name(), request->id());
}

FRAGMENT(initializer_list_of_strings) {
  std::vector<std::string> all = {request->id(), request->name(), "literal"};
  for (const std::string& one : {request->id(), request->name()}) out << one;
  out << all.size() << std::max({std::string("a"), std::string(request->id())});
}
