// DocumentSource: the JSON values of `-d`: a text, a file ("@FILE") or standard input ("@-", "@"), which are read as
// they come. One thread reads; stop() may come from another one.
#pragma once

#include <atomic>
#include <string>

#include "cli/json_documents.h"

namespace drover::cli {

class DocumentSource {
 public:
  DocumentSource() = default;
  ~DocumentSource();
  DocumentSource(const DocumentSource&) = delete;
  DocumentSource& operator=(const DocumentSource&) = delete;

  // Returns an empty string, or what is wrong.
  std::string open(const std::string& data);
  // The next value. False: there are no more, it was stopped, or `error` says what is wrong.
  bool next(std::string* document, std::string* error);
  // next() returns false soon.
  void stop() { stopped_.store(true); }

 private:
  bool read_more(std::string* error);

  JsonDocuments documents_;
  std::string name_;
  int fd_ = -1;  // -1: nothing is left to read
  std::atomic<bool> stopped_{false};
};

}  // namespace drover::cli
