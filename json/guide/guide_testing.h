// For the tests of the guides: the examples in a guide's text must be the code that the test has compiled.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace drover::testing {

// The file without the blanks at the beginnings of its lines.
inline std::string flat_file(const std::string& path) {
  std::ifstream file(DROVER_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::string text, line;
  while (std::getline(file, line)) {
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) text += line.substr(first);
    text += '\n';
  }
  return text;
}

// Every block of C++ in `guide` stands in `source`, line for line.
inline void expect_examples(const std::string& guide, const std::string& source) {
  const std::string text = flat_file(guide), code = flat_file(source), fence = "```cpp\n";
  int blocks = 0;
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const size_t begin = at + fence.size();
    const std::string block = text.substr(begin, text.find("```", begin) - begin);
    EXPECT_NE(code.find(block), std::string::npos) << guide << " shows what " << source << " does not have:\n" << block;
    ++blocks;
  }
  EXPECT_GT(blocks, 0);
}

}  // namespace drover::testing
