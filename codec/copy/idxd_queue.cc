#include "codec/copy/idxd_queue.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#if defined(__x86_64__) && __has_include(<linux/idxd.h>)
#include <cpuid.h>
#include <immintrin.h>
#include <linux/idxd.h>
#define DROVER_IDXD 1
#else
#define DROVER_IDXD 0
#endif

namespace drover {
namespace {

constexpr size_t kPortalBytes = 4096;

void also(const std::string& what, std::string* list) { *list += (list->empty() ? "" : "; ") + what; }

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

uint64_t number(const std::string& path) { return std::strtoull(first_word(path).c_str(), nullptr, 10); }

// Why the queue is unusable, or an empty string.
std::string read_queue(const std::string& directory, IdxdQueueInfo* queue) {
  std::string type = first_word(directory + "/type"), state = first_word(directory + "/state");
  std::string mode = first_word(directory + "/mode");
  if (type != "user") return "is of type " + (type.empty() ? "none" : type) + ", not user";
  if (state != "enabled") return "is " + (state.empty() ? "in no state" : state);
  if (mode != "dedicated" && mode != "shared") return "has the unknown mode \"" + mode + "\"";
  queue->dedicated = mode == "dedicated";
  queue->size = static_cast<uint32_t>(number(directory + "/size"));
  queue->max_transfer = number(directory + "/max_transfer_size");
  if (queue->size == 0) return "holds no descriptors";
  if (queue->max_transfer == 0) return "copies no bytes";
  return "";
}

#if DROVER_IDXD
bool has_instruction(bool dedicated) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kMovdir64b = 1u << 28, kEnqcmd = 1u << 29;
  return (c & (dedicated ? kMovdir64b : kEnqcmd)) != 0;
}

// Both instructions are weakly ordered: a fence makes earlier stores visible first.
__attribute__((target("movdir64b"))) bool submit_dedicated(void* portal, const dsa_hw_desc& descriptor) {
  _mm_sfence();
  _movdir64b(portal, &descriptor);
  return true;
}
__attribute__((target("enqcmd"))) bool submit_shared(void* portal, const dsa_hw_desc& descriptor) {
  constexpr int kTries = 4;  // the device may be full for a moment; after more tries the processor would be faster
  _mm_sfence();
  for (int i = 0; i < kTries; ++i) {
    if (_enqcmd(portal, &descriptor) == 0) return true;
    _mm_pause();
  }
  return false;
}

void* map_portal(const std::string& path, std::string* error) {
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return *error = std::string("open: ") + std::strerror(errno), nullptr;
  void* at = mmap(nullptr, kPortalBytes, PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (at == MAP_FAILED) *error = std::string("mmap: ") + std::strerror(errno);
  close(fd);  // the mapping keeps the queue
  return at == MAP_FAILED ? nullptr : at;
}
#endif

}  // namespace

std::vector<IdxdQueueInfo> find_idxd_queues(const std::string& sysfs, std::string* why_not) {
  std::vector<IdxdQueueInfo> queues;
  DIR* directory = opendir(sysfs.c_str());
  if (directory == nullptr) {
    also("no DSA: " + sysfs + ": " + std::strerror(errno), why_not);
    return queues;
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    if (std::strncmp(entry->d_name, "wq", 2) == 0) names.emplace_back(entry->d_name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  if (names.empty()) also("no work queue in " + sysfs, why_not);
  for (const std::string& name : names) {
    IdxdQueueInfo queue;
    queue.name = name;
    std::string error = read_queue(sysfs + "/" + name, &queue);
    if (error.empty()) {
      queues.push_back(queue);
    } else {
      also(name + " " + error, why_not);
    }
  }
  std::sort(queues.begin(), queues.end(), [](const IdxdQueueInfo& a, const IdxdQueueInfo& b) {
    return a.dedicated != b.dedicated ? a.dedicated : a.name < b.name;
  });
  return queues;
}

IdxdQueue::~IdxdQueue() {
  if (mapped_ != 0) munmap(portal_, mapped_);
}

bool IdxdQueue::submit(const dsa_hw_desc& descriptor) {
  uint32_t under_way = under_way_.fetch_add(1, std::memory_order_relaxed);
  if ((limit_ == 0 || under_way < limit_) && submit_(portal_, descriptor)) return true;
  done();
  return false;
}

OpenedIdxdQueue open_idxd_queue() {
  OpenedIdxdQueue opened;
#if DROVER_IDXD
  for (const IdxdQueueInfo& found : find_idxd_queues("/sys/bus/dsa/devices", &opened.error)) {
    std::string error;
    if (!has_instruction(found.dedicated)) {
      also(found.name + ": this processor has no " + (found.dedicated ? "MOVDIR64B" : "ENQCMD"), &opened.error);
      continue;
    }
    void* portal = map_portal("/dev/dsa/" + found.name, &error);
    if (portal == nullptr) {
      also("/dev/dsa/" + found.name + ": " + error, &opened.error);
      continue;
    }
    opened.error.clear();
    opened.queue = std::make_unique<IdxdQueue>(found.name, portal, found.dedicated ? submit_dedicated : submit_shared,
                                               found.max_transfer, found.dedicated ? found.size : 0);
    opened.queue->mapped_ = kPortalBytes;
    return opened;
  }
#else
  opened.error = "this build has no DSA: it is not for x86-64, or had no <linux/idxd.h>";
#endif
  return opened;
}

}  // namespace drover
