#include "cli/call_schema.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/printable.h"

namespace drover::cli {
namespace {

Failure failed(std::string text) { return {std::move(text), kFailed}; }

bool is_named(const std::string& full, const std::string& name) {
  return full == name || (full.size() > name.size() && full.ends_with("." + name));
}

}  // namespace

// What the reflection of one service lacks is not said if others have something.
Failure CallSchema::load_services(const std::vector<std::string>& services) {
  Failure first;
  for (const std::string& service : services) {
    Failure failure = reflection_.add_file_of(service);
    if (failure.code == kCallFailed) return failure;
    if (failure && !first) first = failure;
  }
  if (reflection_.files().file_size() == 0) {
    return first ? first : failed("the server's reflection has no services");
  }
  return failed(source_.load(reflection_.files()));
}

Failure CallSchema::load_all() {
  if (source_.given()) return failed(source_.load());
  std::vector<std::string> services;
  if (Failure failure = reflection_.services(&services)) return failure;
  return load_services(services);
}

// "package.Service/Method", "Service/Method" or "Method".
Failure CallSchema::find_method(const std::string& name, const google::protobuf::MethodDescriptor** method) {
  if (source_.given()) {
    if (std::string error = source_.load(); !error.empty()) return failed(error);
    return failed(source_.find_method(name, method));
  }
  std::vector<std::string> services, matching;
  if (Failure failure = reflection_.services(&services)) return failure;
  const std::string path = name.starts_with("/") ? name.substr(1) : name;
  const size_t split = path.find_last_of("/.");
  const std::string service = split == std::string::npos ? "" : path.substr(0, split);
  for (const std::string& one : services) {
    if (service.empty() || is_named(one, service)) matching.push_back(one);
  }
  if (matching.empty())
    return failed("the server has no service " + service + "; there is " + nearest_names(service, services, 8));
  if (Failure failure = load_services(matching)) return failure;
  return failed(source_.find_method(path, method));
}

std::vector<std::string> CallSchema::names_of_services() const {
  std::vector<std::string> names;
  for (const auto& file : source_.files().file()) {
    for (const auto& service : file.service()) {
      names.push_back((file.package().empty() ? "" : file.package() + ".") + service.name());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Failure CallSchema::list(const std::string& service, std::string* text) {
  std::vector<std::string> lines;
  if (source_.given()) {
    if (std::string error = source_.load(); !error.empty()) return failed(error);
    lines = names_of_services();
  } else if (Failure failure = reflection_.services(&lines)) {
    return failure;
  }
  if (!service.empty()) {
    std::vector<std::string> matching;
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(matching),
                 [&](const std::string& one) { return is_named(one, service); });
    if (std::find(lines.begin(), lines.end(), service) != lines.end()) matching = {service};
    if (matching.empty()) return failed("no service " + service + "; there is " + nearest_names(service, lines, 8));
    if (matching.size() > 1) return failed(service + " could be " + nearest_names(service, matching, 8));
    if (!source_.given()) {
      if (Failure failure = load_services(matching)) return failure;
    }
    const auto* found = source_.find_symbol(matching[0]).service;
    if (found == nullptr) return failed("the server's reflection does not describe " + printable_line(matching[0]));
    lines.clear();
    for (int i = 0; i < found->method_count(); ++i)
      lines.push_back(found->full_name() + "/" + found->method(i)->name());
  }
  for (const std::string& line : lines) *text += printable_line(line) + "\n";
  return {};
}

// The file that declares the symbol; all of them if the server does not know it, since it may be a name's last part.
Failure CallSchema::load_for(const std::string& symbol) {
  if (source_.given() || symbol.empty()) return load_all();
  const Failure failure = reflection_.add_file_of(symbol);
  if (failure.code == kCallFailed) return failure;
  return failure ? load_all() : failed(source_.load(reflection_.files()));
}

Failure CallSchema::describe(const std::string& symbol, std::string* text) {
  std::string name = symbol.starts_with(".") || symbol.starts_with("/") ? symbol.substr(1) : symbol;
  std::replace(name.begin(), name.end(), '/', '.');
  if (Failure failure = load_for(name)) return failure;
  std::vector<std::string> symbols = {name};
  if (name.empty()) symbols = names_of_services();
  for (const std::string& one : symbols) {
    const FoundSymbol found = source_.find_symbol(one);
    if (!found.error.empty()) return failed(found.error);
    *text += (text->empty() ? "" : "\n") +
             ("// " + found.full_name + " is a " + found.kind + ", in " + printable_line(found.file)) + "\n" +
             found.definition;
    if (!text->ends_with("\n")) *text += "\n";
  }
  return {};
}

}  // namespace drover::cli
