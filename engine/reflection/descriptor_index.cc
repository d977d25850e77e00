// Field numbers here are those of google/protobuf/descriptor.proto.
#include "engine/reflection/descriptor_index.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "engine/reflection/wire_fields.h"

namespace drover::engine {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// A name's next part, behind those that made `hash`.
uint64_t hash_part(uint64_t hash, std::string_view part, uint64_t secret) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  hash = fold(hash ^ part.size(), secret | 1);
  const char* at = part.data();
  size_t left = part.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = fold(hash ^ word ^ secret, kOdd) + secret;
  }
  uint64_t word = 0;
  if (left != 0) std::memcpy(&word, at, left);  // an empty part may have no bytes to point to
  return fold(hash ^ word ^ secret, kOdd) + secret;
}

// "a.b.c", part by part.
uint64_t hash_name(uint64_t hash, std::string_view name, uint64_t secret) {
  while (true) {
    const size_t dot = name.find('.');
    hash = hash_part(hash, name.substr(0, dot), secret);
    if (dot == std::string_view::npos) return hash;
    name.remove_prefix(dot + 1);
  }
}

uint64_t random_word() {
  uint64_t word;
  if (::getrandom(&word, sizeof word, 0) != sizeof word) std::abort();  // without it, names could be made to collide
  return word;
}

std::string printable(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

std::string_view without_dot(std::string_view name) { return name.starts_with('.') ? name.substr(1) : name; }

}  // namespace

// Reads the files one by one. What it refuses is thrown as a Wrong, here and nowhere else.
class DescriptorIndex::Builder {
 public:
  struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  struct TooLarge : Wrong {
    using Wrong::Wrong;
  };

  explicit Builder(DescriptorIndex& index) : index_(index) {}

  void read() {
    index_.slots_.assign(1024, kNone);
    WireFields set(index_.set_);
    while (set.next()) {
      if (set.is_bytes(1)) add_file(set.bytes);
    }
    if (set.broken()) throw Wrong("it is no FileDescriptorSet");
    resolve_imports();
    auto& extensions = index_.extensions_;
    std::sort(extensions.begin(), extensions.end(), [](const Extension& a, const Extension& b) {
      return std::tie(a.message, a.number, a.file) < std::tie(b.message, b.number, b.file);
    });
  }

 private:
  // Where declarations stand: their scope's symbol, and its hash.
  struct Scope {
    uint32_t symbol = kNone;
    uint64_t hash = 0;
  };

  template <typename Take>
  void each(std::string_view message, Take take) {
    WireFields fields(message);
    while (fields.next()) take(fields);
    if (fields.broken()) throw Wrong(file_name_ + " is no FileDescriptorProto");
  }
  std::string_view string_field(std::string_view message, uint32_t number) {
    std::string_view value;
    each(message, [&](const WireFields& field) {
      if (field.is_bytes(number)) value = field.bytes;
    });
    return value;
  }

  void add_file(std::string_view bytes) {
    file_name_ = "a file";
    const std::string_view name = string_field(bytes, 1);
    auto& by_name = index_.files_by_name_;
    const auto place =
        std::lower_bound(by_name.begin(), by_name.end(), name,
                         [this](uint32_t file, std::string_view n) { return index_.files_[file].name < n; });
    if (place != by_name.end() && index_.files_[*place].name == name) return;  // the same, of another service
    if (index_.files_.size() == kMaxFiles) throw TooLarge("it has more than " + std::to_string(kMaxFiles) + " files");
    file_name_ = printable(name.substr(0, 200));
    file_ = static_cast<uint32_t>(index_.files_.size());
    by_name.insert(place, file_);
    index_.files_.push_back({name, bytes, imports_.size(), 0});
    add_declarations(bytes);
    index_.files_.back().import_count = imports_.size() - index_.files_.back().first_import;
  }

  void add_declarations(std::string_view bytes) {
    const std::string_view package = string_field(bytes, 2);
    Scope top{kNone, index_.secret_};
    if (!package.empty()) top = add(top, package, Kind::kPackage);
    each(bytes, [&](const WireFields& field) {
      if (field.type != 2) return;
      if (field.number == 3) add_import(field.bytes);
      if (field.number == 4) add_message(top, field.bytes, 1);
      if (field.number == 5) add_enum(top, field.bytes);
      if (field.number == 6) add_service(top, field.bytes);
      if (field.number == 7) add_extension(top, field.bytes);
    });
  }

  void add_import(std::string_view name) {
    if (imports_.size() == kMaxImports) {
      throw TooLarge("it has more than " + std::to_string(kMaxImports) + " imports");
    }
    imports_.push_back(name);
  }

  // Once, and not for each request: a look-up compares names. A file may come behind those that import it.
  void resolve_imports() {
    for (File& file : index_.files_) {
      const size_t first = index_.imports_.size();
      for (size_t i = 0; i < file.import_count; ++i) {
        const uint32_t import = index_.find_file(imports_[file.first_import + i]);
        if (import != kNone) index_.imports_.push_back(import);
      }
      file.first_import = first;
      file.import_count = index_.imports_.size() - first;
    }
  }

  void add_message(Scope scope, std::string_view bytes, int depth) {
    if (depth > kMaxNesting) {
      throw TooLarge(file_name_ + " nests messages more than " + std::to_string(kMaxNesting) + " deep");
    }
    const Scope self = add(scope, string_field(bytes, 1), Kind::kMessage);
    each(bytes, [&](const WireFields& field) {
      if (field.type != 2) return;
      if (field.number == 2 || field.number == 8) add(self, string_field(field.bytes, 1), Kind::kOther);
      if (field.number == 3) add_message(self, field.bytes, depth + 1);
      if (field.number == 4) add_enum(self, field.bytes);
      if (field.number == 6) add_extension(self, field.bytes);
    });
  }

  // An enum's values stand beside it, as in C++.
  void add_enum(Scope scope, std::string_view bytes) {
    each(bytes, [&](const WireFields& field) {
      if (field.is_bytes(1)) add(scope, field.bytes, Kind::kOther);
      if (field.is_bytes(2)) add(scope, string_field(field.bytes, 1), Kind::kOther);
    });
  }

  void add_service(Scope scope, std::string_view bytes) {
    const Scope self = add(scope, string_field(bytes, 1), Kind::kOther);
    each(bytes, [&](const WireFields& field) {
      if (field.is_bytes(2)) add(self, string_field(field.bytes, 1), Kind::kOther);
    });
  }

  void add_extension(Scope scope, std::string_view bytes) {
    std::string_view name, message;
    int32_t number = 0;
    each(bytes, [&](const WireFields& field) {
      if (field.is_bytes(1)) name = field.bytes;
      if (field.is_bytes(2)) message = field.bytes;
      if (field.is_varint(3)) number = static_cast<int32_t>(field.value);
    });
    add(scope, name, Kind::kOther);
    // Not bounded by kMaxSymbols: any number of them may have one name, or none.
    if (index_.extensions_.size() == kMaxExtensions) {
      throw TooLarge("it has more than " + std::to_string(kMaxExtensions) + " extensions");
    }
    index_.extensions_.push_back({without_dot(message), number, file_});
  }

  Scope add(Scope scope, std::string_view name, Kind kind) {
    const uint64_t hash = kind == Kind::kPackage ? hash_name(scope.hash, name, index_.secret_)
                                                 : hash_part(scope.hash, name, index_.secret_);
    auto& symbols = index_.symbols_;
    if ((symbols.size() + 1) * 2 > index_.slots_.size()) grow();
    const size_t mask = index_.slots_.size() - 1;
    size_t slot = hash & mask;
    for (; index_.slots_[slot] != kNone; slot = (slot + 1) & mask) {
      const Symbol& other = symbols[index_.slots_[slot]];
      if (other.hash == hash && other.parent == scope.symbol && other.name == name) return {index_.slots_[slot], hash};
    }
    if (symbols.size() == kMaxSymbols) throw TooLarge("it has more than " + std::to_string(kMaxSymbols) + " names");
    const auto symbol = static_cast<uint32_t>(symbols.size());
    symbols.push_back({hash, name, scope.symbol, static_cast<uint16_t>(file_), kind});
    index_.slots_[slot] = symbol;
    return {symbol, hash};
  }

  void grow() {
    std::vector<uint32_t> slots(index_.slots_.size() * 2, kNone);
    const size_t mask = slots.size() - 1;
    for (uint32_t i = 0; i < index_.symbols_.size(); ++i) {
      size_t slot = index_.symbols_[i].hash & mask;
      while (slots[slot] != kNone) slot = (slot + 1) & mask;
      slots[slot] = i;
    }
    index_.slots_ = std::move(slots);
  }

  DescriptorIndex& index_;
  uint32_t file_ = 0;
  std::string file_name_;                  // for what is refused
  std::vector<std::string_view> imports_;  // names, of all files
};

std::shared_ptr<const DescriptorIndex> DescriptorIndex::make(std::string set, std::string* error, bool* too_large) {
  std::shared_ptr<DescriptorIndex> index(new DescriptorIndex());
  index->set_ = std::move(set);
  index->secret_ = random_word();
  try {
    Builder(*index).read();
  } catch (const Builder::Wrong& wrong) {
    if (too_large != nullptr) *too_large = dynamic_cast<const Builder::TooLarge*>(&wrong) != nullptr;
    return *error = wrong.what(), nullptr;
  }
  return index;
}

uint32_t DescriptorIndex::find_file(std::string_view name) const {
  if (name.size() > kMaxName) return kNone;
  const auto place = std::lower_bound(files_by_name_.begin(), files_by_name_.end(), name,
                                      [this](uint32_t file, std::string_view n) { return files_[file].name < n; });
  return place != files_by_name_.end() && files_[*place].name == name ? *place : kNone;
}

bool DescriptorIndex::same(const Symbol& symbol, std::string_view full_name) const {
  const Symbol* part = &symbol;
  while (part->kind != Kind::kPackage) {
    if (!full_name.ends_with(part->name)) return false;
    full_name.remove_suffix(part->name.size());
    if (part->parent == kNone) return full_name.empty();
    if (!full_name.ends_with('.')) return false;
    full_name.remove_suffix(1);
    part = &symbols_[part->parent];
  }
  return full_name == part->name;
}

uint32_t DescriptorIndex::find(std::string_view full_name) const {
  if (full_name.empty() || full_name.size() > kMaxName) return kNone;
  const uint64_t hash = hash_name(secret_, full_name, secret_);
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const Symbol& symbol = symbols_[slots_[slot]];
    if (symbol.hash == hash && same(symbol, full_name)) return slots_[slot];
  }
  return kNone;
}

uint32_t DescriptorIndex::find_symbol(std::string_view full_name) const {
  const uint32_t symbol = find(full_name);
  if (symbol == kNone || symbols_[symbol].kind == Kind::kPackage) return kNone;
  return symbols_[symbol].file;
}

bool DescriptorIndex::is_message(std::string_view full_name) const {
  const uint32_t symbol = find(full_name);
  return symbol != kNone && symbols_[symbol].kind == Kind::kMessage;
}

std::span<const DescriptorIndex::Extension> DescriptorIndex::extensions_of(std::string_view message) const {
  if (message.size() > kMaxName) return {};
  const auto less = [](const auto& a, const auto& b) {
    if constexpr (std::is_same_v<std::decay_t<decltype(a)>, Extension>) {
      return a.message < b;
    } else {
      return a < b.message;
    }
  };
  const auto [first, last] = std::equal_range(extensions_.begin(), extensions_.end(), message, less);
  return {first, last};
}

uint32_t DescriptorIndex::find_extension(std::string_view message, int32_t number) const {
  const auto all = extensions_of(message);
  const auto found = std::lower_bound(all.begin(), all.end(), number,
                                      [](const Extension& extension, int32_t n) { return extension.number < n; });
  return found != all.end() && found->number == number ? found->file : kNone;
}

std::vector<int32_t> DescriptorIndex::extension_numbers(std::string_view message) const {
  std::vector<int32_t> numbers;
  for (const Extension& extension : extensions_of(message)) {
    if (numbers.empty() || numbers.back() != extension.number) numbers.push_back(extension.number);
  }
  return numbers;
}

size_t DescriptorIndex::memory() const {
  return set_.capacity() + files_.capacity() * sizeof(File) + imports_.capacity() * sizeof(uint32_t) +
         files_by_name_.capacity() * sizeof(uint32_t) + symbols_.capacity() * sizeof(Symbol) +
         slots_.capacity() * sizeof(uint32_t) + extensions_.capacity() * sizeof(Extension);
}

}  // namespace drover::engine
