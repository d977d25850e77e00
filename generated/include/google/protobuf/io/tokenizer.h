// google::protobuf::io::ErrorCollector, which takes the errors of TextFormat::Parser. Drover has no io::Tokenizer.
#pragma once

#include <string>

namespace google::protobuf::io {

using ColumnNumber = int;

class ErrorCollector {
 public:
  ErrorCollector() = default;
  ErrorCollector(const ErrorCollector&) = delete;
  ErrorCollector& operator=(const ErrorCollector&) = delete;
  virtual ~ErrorCollector() = default;

  // Line and column are counted from 0, the column in bytes; line -1: the error has no place.
  virtual void AddError(int line, ColumnNumber column, const std::string& message) = 0;
  virtual void AddWarning(int /*line*/, ColumnNumber /*column*/, const std::string& /*message*/) {}
};

}  // namespace google::protobuf::io
