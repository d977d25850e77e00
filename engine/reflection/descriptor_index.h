// DescriptorIndex: FileDescriptorProtos by file name, by symbol and by extension, as server reflection asks for them.
//
//   bytes of a FileDescriptorSet   [ file | file | ... ]   as they came; answers refer to them
//   files                          name, bytes, the files that it imports
//   symbols                        hash table of (parent, last part of the name): no full name is ever built, so that
//                                  what it holds is a small multiple of the bytes, however deep messages nest
//   extensions                     sorted by extended message and number
//
// The bytes are hostile: a host sends them. Counts and nesting are bounded, so is the name of a look-up, which is
// hashed with a secret, and of two files or symbols of one name the first counts. What is inside a file is not checked
// any further: clients have to link descriptors anyway. Thread-safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine {

class DescriptorIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxFiles = 4096;       // a Symbol has 16 bits for one
  static constexpr size_t kMaxImports = 1 << 16;  // of all files together
  static constexpr size_t kMaxSymbols = 1 << 19;
  static constexpr size_t kMaxExtensions = 1 << 16;
  static constexpr size_t kMaxName = 1024;  // bytes of a name that is looked up; longer ones are not found
  static constexpr int kMaxNesting = 32;    // messages in messages

  // Null: `error` says what is wrong; `too_large`: only that a bound above is passed. Throws std::bad_alloc.
  static std::shared_ptr<const DescriptorIndex> make(std::string set, std::string* error, bool* too_large = nullptr);
  DescriptorIndex(const DescriptorIndex&) = delete;
  DescriptorIndex& operator=(const DescriptorIndex&) = delete;

  struct File {
    std::string_view name;
    std::string_view bytes;  // of its FileDescriptorProto
    size_t first_import = 0, import_count = 0;
  };
  size_t file_count() const { return files_.size(); }
  const File& file(uint32_t index) const { return files_[index]; }
  // Those that the set has.
  std::span<const uint32_t> imports(const File& file) const {
    return {imports_.data() + file.first_import, file.import_count};
  }

  // The file of that name, or kNone.
  uint32_t find_file(std::string_view name) const;
  // The file that declares a message, enum, enum value, field, oneof, extension, service or method of that full name
  // ("package.Message.field"), or kNone.
  uint32_t find_symbol(std::string_view full_name) const;
  bool is_message(std::string_view full_name) const;
  // The file that extends that message with that number, or kNone.
  uint32_t find_extension(std::string_view message, int32_t number) const;
  // How many extensions of that message there are; some may have the same number.
  size_t extension_count(std::string_view message) const { return extensions_of(message).size(); }
  // The numbers of all extensions of that message, ascending, each once.
  std::vector<int32_t> extension_numbers(std::string_view message) const;

  // About how much memory it holds.
  size_t memory() const;

 private:
  class Builder;
  enum class Kind : uint8_t { kPackage, kMessage, kOther };
  struct Symbol {
    uint64_t hash;
    std::string_view name;  // the last part; of a package all of it
    uint32_t parent;        // kNone: it has none
    uint16_t file;
    Kind kind;
  };
  struct Extension {
    std::string_view message;  // full name
    int32_t number;
    uint32_t file;
  };

  DescriptorIndex() = default;
  uint32_t find(std::string_view full_name) const;
  bool same(const Symbol& symbol, std::string_view full_name) const;
  std::span<const Extension> extensions_of(std::string_view message) const;

  std::string set_;
  uint64_t secret_ = 0;
  std::vector<File> files_;
  std::vector<uint32_t> imports_;
  std::vector<uint32_t> files_by_name_;  // sorted by name
  std::vector<Symbol> symbols_;
  std::vector<uint32_t> slots_;  // open addressing over symbols_; kNone: free; a power of two
  std::vector<Extension> extensions_;
};

}  // namespace drover::engine
