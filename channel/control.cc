#include "channel/control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "channel/line.h"

namespace drover {
namespace {

static_assert(std::endian::native == std::endian::little, "packets are little-endian");

// ---- one description of each message's body, walked by both the writer and the reader

class Writer {
 public:
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(const char*, const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const char* name, const std::string& value) {
    if (value.size() > kMaxControlString) too_large(name, value.size(), kMaxControlString);
    count(value.size());
    out_.append(value);
  }
  void operator()(const char* name, const std::vector<int32_t>& values) {
    if (values.size() > kMaxWorkers) too_large(name, values.size(), kMaxWorkers);
    count(values.size());
    for (int32_t value : values) (*this)(name, value);
  }
  void operator()(const char* name, const std::vector<RegisterMethods::Method>& methods);

  std::string take() { return std::move(out_); }
  const std::string& error() const { return error_; }

 private:
  void count(size_t n) { (*this)("", static_cast<uint32_t>(n)); }
  void too_large(const char* name, size_t found, size_t most) {
    if (error_.empty()) {
      error_ =
          std::string(name) + " has " + std::to_string(found) + " elements, expected at most " + std::to_string(most);
    }
  }

  std::string out_;
  std::string error_;
};

class Reader {
 public:
  Reader(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(const char* name, T& value) {
    if (!need(name, sizeof value)) return;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  void operator()(const char* name, std::string& value) {
    size_t size = count(name, 1, kMaxControlString);
    if (failed()) return;
    value.assign(bytes_.substr(at_, size));
    at_ += size;
  }
  void operator()(const char* name, std::vector<int32_t>& values) {
    values.resize(count(name, sizeof(int32_t), kMaxWorkers));
    for (int32_t& value : values) (*this)(name, value);
  }
  void operator()(const char* name, std::vector<RegisterMethods::Method>& methods);

  // Everything read, nothing left over.
  bool finish() {
    if (!failed() && at_ != bytes_.size()) {
      error_ = std::to_string(bytes_.size() - at_) + " bytes are left over behind byte " + std::to_string(at_);
    }
    return !failed();
  }
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  bool need(const char* name, size_t size) {
    if (failed()) return false;
    if (bytes_.size() - at_ >= size) return true;
    error_ = std::string(name) + " at byte " + std::to_string(at_) + " needs " + std::to_string(size) +
             " bytes, the packet has " + std::to_string(bytes_.size() - at_) + " left";
    return false;
  }
  // A list's length: at most `most`, and its elements of at least `element` bytes fit into the packet.
  size_t count(const char* name, size_t element, size_t most) {
    uint32_t n = 0;
    (*this)(name, n);
    if (failed()) return 0;
    if (n <= most && n <= (bytes_.size() - at_) / element) return n;
    error_ = std::string(name) + " at byte " + std::to_string(at_ - 4) + " has " + std::to_string(n) +
             " elements, expected at most " + std::to_string(std::min(most, (bytes_.size() - at_) / element));
    return 0;
  }

  std::string_view bytes_;
  size_t at_;
  std::string error_;
};

// The members of each message in their order, from channel/control.toml. `V` is Writer or Reader, `M` the (const)
// message.
#define DROVER_CONTROL_BODY(type, visit)                  \
  template <typename V, typename M>                       \
    requires std::is_same_v<std::remove_const_t<M>, type> \
  void body(V& v, M& m) {                                 \
    visit(v, m);                                          \
  }
DROVER_CONTROL_BODY(Hello, visit_hello)
DROVER_CONTROL_BODY(RegisterImage, visit_register_image)
DROVER_CONTROL_BODY(RegisterDescriptors, visit_register_descriptors)
DROVER_CONTROL_BODY(RegisterMethods::Method, visit_method)
DROVER_CONTROL_BODY(RegisterMethods, visit_register_methods)
DROVER_CONTROL_BODY(Listen, visit_listen)
DROVER_CONTROL_BODY(ListenTls, visit_listen_tls)
DROVER_CONTROL_BODY(Drain, visit_drain)
DROVER_CONTROL_BODY(Welcome, visit_welcome)
DROVER_CONTROL_BODY(Listening, visit_listening)
DROVER_CONTROL_BODY(Error, visit_error)
DROVER_CONTROL_BODY(Draining, visit_draining)
DROVER_CONTROL_BODY(HostStatus, visit_host_status)
DROVER_CONTROL_BODY(ServeLines, visit_serve_lines)
DROVER_CONTROL_BODY(ServeChannelz, visit_serve_channelz)
DROVER_CONTROL_BODY(OpenConnection, visit_open_connection)
DROVER_CONTROL_BODY(ConnectionOpened, visit_connection_opened)
DROVER_CONTROL_BODY(LogTo, visit_log_to)
DROVER_CONTROL_BODY(Description, visit_description)
#undef DROVER_CONTROL_BODY
template <typename V, typename M>
  requires std::is_empty_v<M>
void body(V&, M&) {}

void Writer::operator()(const char* name, const std::vector<RegisterMethods::Method>& methods) {
  if (methods.size() > kMaxMethods) too_large(name, methods.size(), kMaxMethods);
  count(methods.size());
  for (const auto& method : methods) body(*this, method);
}

void Reader::operator()(const char* name, std::vector<RegisterMethods::Method>& methods) {
  size_t n = count(name, kSmallestMethod, kMaxMethods);
  methods.reserve(n);
  for (size_t i = 0; i < n && !failed(); ++i) body(*this, methods.emplace_back());
}

// ---- values that no later layer has to check again

std::string out_of_range(const char* name, uint64_t found, uint64_t lowest, uint64_t highest) {
  return std::string(name) + " is " + std::to_string(found) + ", expected " + std::to_string(lowest) + " to " +
         std::to_string(highest);
}

std::string check_cpus(const std::vector<int32_t>& cpus, size_t most) {
  if (cpus.empty() || cpus.size() > most) return out_of_range("the number of cpus", cpus.size(), 1, most);
  for (int32_t cpu : cpus) {
    if (cpu < -1 || cpu > 65535) return "a cpu is " + std::to_string(cpu) + ", expected -1 to 65535";
  }
  return {};
}

std::string check_text(const char* name, const std::string& text) {
  return text.find('\0') == std::string::npos ? std::string() : std::string(name) + " has a NUL inside";
}

// A name in the abstract namespace is any bytes; no other address has a NUL.
std::string check_address(const std::string& address) {
  return address.starts_with("unix-abstract:") ? std::string() : check_text("address", address);
}

// Empty: good.
std::string check(const Hello& m) {
  if (m.flags != 0) return out_of_range("flags", m.flags, 0, 0);
  if (std::string wrong = check_text("name", m.name); !wrong.empty()) return wrong;
  return check_cpus(m.cpus, kMaxWorkers);
}
std::string check(const RegisterImage& m) {
  return m.size == 0 || m.size > kMaxImageBytes ? out_of_range("image size", m.size, 1, kMaxImageBytes) : "";
}
std::string check(const RegisterDescriptors& m) {
  const bool fits = m.size != 0 && m.size <= kMaxDescriptorBytes;
  return fits ? "" : out_of_range("the descriptors' size", m.size, 1, kMaxDescriptorBytes);
}
std::string check(const RegisterMethods& m) {
  for (const auto& method : m.methods) {
    const bool any = (method.flags & kMethodAny) != 0 && method.path == kAnyPath;
    const bool path = !method.path.empty() && method.path[0] == '/' && method.path.find('\0') == std::string::npos;
    if (!any && !path) {
      return "a method's path is \"" + method.path.substr(0, 80) + "\", expected \"/service/method\"";
    }
    for (uint32_t image : {method.request_image, method.response_image}) {
      if (image >= kMaxImages) return out_of_range("image index", image, 0, kMaxImages - 1);
    }
    if (method.flags > kAllMethodFlags) return out_of_range("method flags", method.flags, 0, kAllMethodFlags);
  }
  return {};
}
std::string check(const Listen& m) {
  if (m.flags != 0) return out_of_range("flags", m.flags, 0, 0);
  if (m.address.empty()) return "the address is empty";
  return check_address(m.address);
}
std::string check(const ListenTls& m) {
  constexpr uint32_t kClientKinds = 5;
  if (m.address.empty()) return "the address is empty";
  if (m.clients >= kClientKinds) return out_of_range("clients", m.clients, 0, kClientKinds - 1);
  const bool named = !m.identity.empty();
  const uint64_t most_pairs = named ? 0 : kMaxCredentialPairs, most_bytes = named ? 0 : kMaxCredentialBytes;
  const uint64_t least = named ? 0 : 1;
  if (m.pairs < least || m.pairs > most_pairs) return out_of_range("pairs", m.pairs, least, most_pairs);
  if (m.size < least || m.size > most_bytes) return out_of_range("size", m.size, least, most_bytes);
  if (std::string wrong = check_text("identity", m.identity); !wrong.empty()) return wrong;
  return check_address(m.address);
}
std::string check(const Welcome& m) {
  if (m.flags != 0) return out_of_range("flags", m.flags, 0, 0);
  std::string wrong = check_cpus(m.cpus, kMaxEngineThreads);
  if (!wrong.empty()) return wrong;
  if (m.cpus.size() != m.channel.engine_threads) {
    return out_of_range("engine_threads", m.channel.engine_threads, m.cpus.size(), m.cpus.size());
  }
  auto layout = RegionLayout::compute(m.channel, &wrong);
  if (!layout) return wrong;
  if (m.rx_size != layout->sizes().rx)
    return out_of_range("rx_size", m.rx_size, layout->sizes().rx, layout->sizes().rx);
  if (m.tx_size != layout->sizes().tx)
    return out_of_range("tx_size", m.tx_size, layout->sizes().tx, layout->sizes().tx);
  return {};
}
std::string check(const Listening& m) {
  return m.port > 65535 ? out_of_range("port", m.port, 0, 65535) : check_address(m.address);
}
std::string check_code(ControlCode code, uint64_t lowest) {
  constexpr auto kLast = static_cast<uint64_t>(ControlCode::kNotServed);
  auto value = static_cast<uint64_t>(code);
  return value < lowest || value > kLast ? out_of_range("error code", value, lowest, kLast) : "";
}
std::string check(const Error& m) { return check_code(m.code, 1); }
std::string check_line_name(const std::string& name) {
  if (name.empty() || name.size() > kMaxLineName) {
    return out_of_range("the length of a name served with lines", name.size(), 1, kMaxLineName);
  }
  bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return printable ? "" : "a name served with lines has a character that is not printable ASCII, or a space";
}
std::string check(const ServeLines& m) {
  if (m.flags != 0) return out_of_range("flags", m.flags, 0, 0);
  return check_line_name(m.name);
}
std::string check(const LogTo& m) { return m.flags != 0 ? out_of_range("flags", m.flags, 0, 0) : ""; }
std::string check(const Description& m) {
  return m.flags > kAllEngineFlags ? out_of_range("flags", m.flags, 0, kAllEngineFlags) : "";
}
std::string check(const OpenConnection& m) {
  if (m.worker >= kMaxWorkers) return out_of_range("worker", m.worker, 0, kMaxWorkers - 1);
  return check_line_name(m.name);
}
std::string check(const ConnectionOpened& m) {
  if (m.connection >= kMaxConnectionNumbers) {
    return out_of_range("connection", m.connection, 0, kMaxConnectionNumbers - 1);
  }
  return check_code(m.code, 0);
}
std::string check(const HostStatus& m) {
  auto state = static_cast<uint64_t>(m.state);
  constexpr auto kFirst = static_cast<uint64_t>(HostState::kServing),
                 kLast = static_cast<uint64_t>(HostState::kEngineStays);
  return state < kFirst || state > kLast ? out_of_range("state", state, kFirst, kLast) : "";
}
template <typename M>
std::string check(const M&) {
  return {};
}

bool fail(ControlError* error, ControlCode code, std::string message) {
  if (error != nullptr) *error = {code, std::move(message)};
  return false;
}

std::optional<ControlMessage> empty_message(uint16_t type) {
  switch (static_cast<ControlType>(type)) {
    case ControlType::kHello:
      return Hello{};
    case ControlType::kRegisterImage:
      return RegisterImage{};
    case ControlType::kRegisterMethods:
      return RegisterMethods{};
    case ControlType::kRegisterDescriptors:
      return RegisterDescriptors{};
    case ControlType::kListen:
      return Listen{};
    case ControlType::kListenTls:
      return ListenTls{};
    case ControlType::kStart:
      return Start{};
    case ControlType::kDrain:
      return Drain{};
    case ControlType::kDetach:
      return Detach{};
    case ControlType::kWelcome:
      return Welcome{};
    case ControlType::kListening:
      return Listening{};
    case ControlType::kStarted:
      return Started{};
    case ControlType::kError:
      return Error{};
    case ControlType::kDraining:
      return Draining{};
    case ControlType::kHostStatus:
      return HostStatus{};
    case ControlType::kServeLines:
      return ServeLines{};
    case ControlType::kServeChannelz:
      return ServeChannelz{};
    case ControlType::kOpenConnection:
      return OpenConnection{};
    case ControlType::kConnectionOpened:
      return ConnectionOpened{};
    case ControlType::kDescribe:
      return Describe{};
    case ControlType::kLogTo:
      return LogTo{};
    case ControlType::kDescription:
      return Description{};
  }
  return std::nullopt;
}

bool check_header(std::string_view packet, ControlHeader* header, ControlError* error) {
  if (packet.size() < sizeof *header || packet.size() > kMaxControlPacket) {
    return fail(error, ControlCode::kBadPacket,
                out_of_range("the packet's size", packet.size(), sizeof *header, kMaxControlPacket));
  }
  std::memcpy(header, packet.data(), sizeof *header);
  if (header->magic != kControlMagic) {
    return fail(error, ControlCode::kBadPacket, out_of_range("magic", header->magic, kControlMagic, kControlMagic));
  }
  if (header->version != kControlVersion) {
    return fail(error, ControlCode::kBadVersion,
                "the peer speaks version " + std::to_string(header->version) + " of the control protocol, expected " +
                    std::to_string(kControlVersion));
  }
  size_t body_size = packet.size() - sizeof *header;
  if (header->size != body_size) {
    return fail(error, ControlCode::kBadPacket, out_of_range("the body's size", header->size, body_size, body_size));
  }
  if (header->zero != 0)
    return fail(error, ControlCode::kBadPacket, out_of_range("the header's last word", header->zero, 0, 0));
  return true;
}

}  // namespace

ControlType control_type(const ControlMessage& message) {
  static constexpr ControlType kTypes[] = {ControlType::kHello,           ControlType::kRegisterImage,
                                           ControlType::kRegisterMethods, ControlType::kListen,
                                           ControlType::kStart,           ControlType::kDrain,
                                           ControlType::kDetach,          ControlType::kWelcome,
                                           ControlType::kListening,       ControlType::kStarted,
                                           ControlType::kError,           ControlType::kDraining,
                                           ControlType::kHostStatus,      ControlType::kServeLines,
                                           ControlType::kOpenConnection,  ControlType::kConnectionOpened,
                                           ControlType::kListenTls,       ControlType::kRegisterDescriptors,
                                           ControlType::kDescribe,        ControlType::kLogTo,
                                           ControlType::kDescription,     ControlType::kServeChannelz};
  static_assert(std::size(kTypes) == std::variant_size_v<ControlMessage>);
  return kTypes[message.index()];
}

size_t expected_fds(const ControlMessage& message) {
  if (std::holds_alternative<RegisterImage>(message) || std::holds_alternative<RegisterDescriptors>(message)) return 1;
  if (std::holds_alternative<LogTo>(message)) return 1;
  if (const auto* listen = std::get_if<ListenTls>(&message)) return listen->size != 0 ? 1 : 0;
  if (const auto* welcome = std::get_if<Welcome>(&message)) return 2 + size_t{welcome->channel.engine_threads};
  return 0;
}

std::string encode_control(const ControlMessage& message, ControlError* error) {
  Writer writer;
  std::string wrong = std::visit(
      [&](const auto& m) {
        body(writer, m);
        return check(m);
      },
      message);
  if (wrong.empty()) wrong = writer.error();
  std::string bytes = writer.take();
  if (wrong.empty() && bytes.size() > kMaxControlPacket - sizeof(ControlHeader)) {
    wrong = out_of_range("the body's size", bytes.size(), 0, kMaxControlPacket - sizeof(ControlHeader));
  }
  if (!wrong.empty()) {
    fail(error, ControlCode::kBadValue, std::string(control_type_name(control_type(message))) + ": " + wrong);
    return {};
  }
  ControlHeader header{kControlMagic, kControlVersion, static_cast<uint16_t>(control_type(message)),
                       static_cast<uint32_t>(bytes.size()), 0};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + bytes;
}

std::optional<ControlMessage> parse_control(std::string_view packet, ControlError* error) {
  ControlHeader header;
  if (!check_header(packet, &header, error)) return std::nullopt;
  auto message = empty_message(header.type);
  if (!message) {
    fail(error, ControlCode::kBadPacket, "no message has type " + std::to_string(header.type));
    return std::nullopt;
  }
  Reader reader(packet, sizeof header);
  std::string wrong = std::visit(
      [&](auto& m) {
        body(reader, m);
        return reader.finish() ? check(m) : std::string();
      },
      *message);
  if (reader.failed() || !wrong.empty()) {
    fail(error, reader.failed() ? ControlCode::kBadPacket : ControlCode::kBadValue,
         std::string(control_type_name(control_type(*message))) + ": " + (reader.failed() ? reader.error() : wrong));
    return std::nullopt;
  }
  return message;
}

std::vector<RegisterMethods> split_methods(std::span<const RegisterMethods::Method> methods) {
  std::vector<RegisterMethods> packets;
  size_t room = 0;
  for (const auto& method : methods) {
    size_t size = kSmallestMethod + method.path.size();
    if (packets.empty() || size > room) {
      packets.emplace_back();
      room = kMaxControlPacket - sizeof(ControlHeader) - 4;
    }
    packets.back().methods.push_back(method);
    room -= std::min(room, size);
  }
  return packets;
}

// ---- image descriptors

UniqueFd make_image_fd(std::string_view image, ControlError* error) {
  UniqueFd fd(::memfd_create("drover-image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  size_t written = 0;
  while (fd && written < image.size()) {
    ssize_t n = ::write(fd.get(), image.data() + written, image.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  if (!fd || written != image.size() ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail(error, ControlCode::kSystem,
         "cannot put an image of " + std::to_string(image.size()) + " bytes into a memfd: " + std::strerror(errno));
    fd.reset();
  }
  return fd;
}

std::optional<std::string> read_image_fd(int fd, uint64_t size, ControlError* error) {
  auto refuse = [&](std::string why) {
    fail(error, ControlCode::kBadDescriptor, std::move(why));
    return std::nullopt;
  };
  if (size == 0 || size > kMaxImageBytes) return refuse(out_of_range("image size", size, 1, kMaxImageBytes));
  // Only a memfd has seals, so nothing below can block on a pipe or on somebody's file system.
  int seals = ::fcntl(fd, F_GET_SEALS);
  constexpr int kWanted = F_SEAL_WRITE | F_SEAL_SHRINK;
  if (seals < 0 || (seals & kWanted) != kWanted) {
    return refuse("the image's descriptor is not a memfd sealed against writing and shrinking");
  }
  struct stat status;
  if (::fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) != size) {
    return refuse("the image's memfd has " + std::to_string(status.st_size) + " bytes, expected " +
                  std::to_string(size));
  }
  std::string image(size, '\0');
  for (size_t at = 0; at < size;) {
    ssize_t n = ::pread(fd, image.data() + at, size - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return refuse("the image's memfd ends at byte " + std::to_string(at));
    at += static_cast<size_t>(n);
  }
  return image;
}

}  // namespace drover
