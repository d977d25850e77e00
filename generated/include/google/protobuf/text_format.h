// google::protobuf::TextFormat: generated messages as text and back (text/text.h), by protobuf C++'s names. T is a
// generated class. Absent, since it needs streams, descriptors or subclasses: Print and Parse with streams, Finder,
// ParseInfoTree, printers of one's own, PrintFieldValueToString, PrintUnknownFields, printing in the order of
// declaration (Drover prints by number).
//
// Thread-safety: a Printer or Parser that is set up is free for all threads.
#pragma once

#include <google/protobuf/io/tokenizer.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "generated/text_format.h"
#include "text/text.h"

namespace google::protobuf {

class TextFormat {
 public:
  class Printer {
   public:
    Printer() { options_.expand_any = false; }

    void SetInitialIndentLevel(int indent_level) { options_.initial_indent = indent_level; }
    void SetSingleLineMode(bool single_line_mode) { options_.one_line = single_line_mode; }
    bool IsInSingleLineMode() const { return options_.one_line; }
    void SetUseFieldNumber(bool use_field_number) { options_.field_numbers = use_field_number; }
    void SetUseShortRepeatedPrimitives(bool use_short) { options_.short_repeated = use_short; }
    void SetUseUtf8StringEscaping(bool as_utf8) { options_.keep_utf8 = as_utf8; }
    void SetHideUnknownFields(bool hide) { options_.hide_unknown = hide; }
    void SetExpandAny(bool expand) { options_.expand_any = expand; }
    void SetTruncateStringFieldLongerThan(int64_t length) { options_.truncate_strings_to = length; }

    // Replaces *output. Always true.
    template <drover::text::GeneratedMessage T>
    bool PrintToString(const T& message, std::string* output) const {
      output->clear();
      drover::text::print(T::drover_type(), message, options_, output);
      return true;
    }

   private:
    drover::text::PrintOptions options_;
  };

  class Parser {
   public:
    // Nesting is limited also without SetRecursionLimit, unlike protobuf C++'s.
    Parser() { options_.depth_limit = drover::text::kMostDepth; }

    // Without a collector, an error is a line on standard error. Not owned.
    void RecordErrorsTo(io::ErrorCollector* error_collector) { error_collector_ = error_collector; }
    void AllowPartialMessage(bool allow) { options_.allow_partial = allow; }
    void AllowCaseInsensitiveField(bool allow) { options_.allow_any_case = allow; }
    void AllowUnknownExtension(bool allow) { options_.allow_unknown_extension = allow; }
    void AllowUnknownField(bool allow) { options_.allow_unknown_field = allow; }
    void AllowFieldNumber(bool allow) { options_.allow_field_number = allow; }
    void AllowUnknownEnum(bool allow) { options_.allow_unknown_enum = allow; }  // Drover's own: private in protobuf C++
    // At most drover::text::kMostDepth.
    void SetRecursionLimit(int limit) { options_.depth_limit = limit; }

    // Replaces the content of *output; a singular field may come once.
    template <drover::text::GeneratedMessage T>
    bool ParseFromString(std::string_view input, T* output) {
      output->Clear();
      return Read(input, options_, output);
    }
    // Adds to *output; the last value of a singular field counts.
    template <drover::text::GeneratedMessage T>
    bool MergeFromString(std::string_view input, T* output) {
      drover::text::ParseOptions options = options_;
      options.allow_overwrites = true;
      return Read(input, options, output);
    }

   private:
    template <typename T>
    bool Read(std::string_view input, const drover::text::ParseOptions& options, T* output) {
      const drover::text::Result result = drover::text::parse(T::drover_type(), input, options, output);
      if (result.ok()) return true;
      if (error_collector_ == nullptr) {
        drover::generated::log_text_error(T::drover_type(), result);
      } else {
        const int column = result.line == 0 ? 0 : static_cast<int>(result.column) - 1;
        error_collector_->AddError(static_cast<int>(result.line) - 1, column, drover::generated::describe(result));
      }
      return false;
    }

    drover::text::ParseOptions options_;
    io::ErrorCollector* error_collector_ = nullptr;
  };

  template <drover::text::GeneratedMessage T>
  static bool PrintToString(const T& message, std::string* output) {
    return Printer().PrintToString(message, output);
  }
  template <drover::text::GeneratedMessage T>
  static bool ParseFromString(std::string_view input, T* output) {
    return Parser().ParseFromString(input, output);
  }
  template <drover::text::GeneratedMessage T>
  static bool MergeFromString(std::string_view input, T* output) {
    return Parser().MergeFromString(input, output);
  }
};

}  // namespace google::protobuf
