#include "channel/secret_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace drover {
namespace {

bool write_all(int fd, const char* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::pwrite(fd, bytes + at, size - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

std::nullopt_t refuse(ControlError* error, ControlCode code, std::string why) {
  *error = {code, std::move(why)};
  return std::nullopt;
}

}  // namespace

std::optional<SecretMemory> SecretMemory::make(std::string_view text, ControlError* error) {
  UniqueFd fd(::memfd_create("drover-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return refuse(error, ControlCode::kSystem, std::string("memfd_create: ") + std::strerror(errno));
  SecretMemory made(std::move(fd), text.size());
  if (write_all(made.fd(), text.data(), text.size())) return made;
  return refuse(error, ControlCode::kSystem, std::string("cannot fill a memfd: ") + std::strerror(errno));
}

SecretMemory::~SecretMemory() {
  if (!fd_) return;
  const std::string zeros(size_, '\0');
  write_all(fd_.get(), zeros.data(), zeros.size());
}

std::optional<std::string> read_secret(int fd, uint64_t size, uint64_t most, ControlError* error) {
  if (size == 0 || size > most) {
    return refuse(error, ControlCode::kBadDescriptor,
                  "a secret of " + std::to_string(size) + " bytes, expected 1 to " + std::to_string(most));
  }
  // Only a memfd has seals: reading another file may take as long as its owner likes.
  if (::fcntl(fd, F_GET_SEALS) < 0) return refuse(error, ControlCode::kBadDescriptor, "the secret is not in a memfd");
  struct stat status;
  if (::fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) != size) {
    return refuse(error, ControlCode::kBadDescriptor, "the secret's memfd has another size than the message says");
  }
  std::string secret(size, '\0');
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::pread(fd, secret.data() + at, size - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return refuse(error, ControlCode::kBadDescriptor, "the secret's memfd ends early");
    at += static_cast<size_t>(n);
  }
  return secret;
}

}  // namespace drover
