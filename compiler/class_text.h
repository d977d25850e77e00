// Collects the text of one generated class: declarations inside it, and definitions that follow all classes of the
// file (an accessor may need a class that is declared later).
#pragma once

#include <string>

namespace drover::compiler {

class ClassText {
 public:
  explicit ClassText(std::string name) : name_(std::move(name)) {}

  // An inline member function: `method("bool", "has_x() const", "return true;")`.
  void method(const std::string& result, const std::string& signature, const std::string& body) {
    declarations_ += "  " + result + " " + signature + ";\n";
    definitions_ += "inline " + result + " " + name_ + "::" + signature + " { " + body + " }\n";
  }
  // Lines added to the class verbatim.
  void line(const std::string& text) { declarations_ += "  " + text + "\n"; }
  // A private static function that is defined in the .cc file.
  void private_function(const std::string& result, const std::string& signature, const std::string& body) {
    private_ += "  static " + result + " " + signature + ";\n";
    source_ += result + " " + name_ + "::" + signature + " {\n  " + body + "\n}\n";
  }

  const std::string& name() const { return name_; }
  const std::string& declarations() const { return declarations_; }
  const std::string& definitions() const { return definitions_; }
  const std::string& private_declarations() const { return private_; }
  const std::string& source() const { return source_; }

 private:
  std::string name_;
  std::string declarations_, definitions_, private_, source_;
};

}  // namespace drover::compiler
