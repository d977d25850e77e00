// A minimal packet handler: it decodes its core's packet into the host's memory, and reports success or failure. It is
// linked with the codec and memory.cc alone, which proves that nothing else is needed and gives its size. It is never
// run.
#include <cstddef>
#include <cstdint>

#include "codec/freestanding/scratchpad_memory.h"
#include "tests/freestanding/device.h"

struct Task {
  const unsigned char* image;
  uint32_t message;
  const char* packet;
  uint32_t packet_size;
  drover::HostArea host;
  char* window;
  uint32_t window_size;
  uint32_t error;
};

extern "C" void _start(Task* task, volatile uint32_t* dma_registers) {
  drover::DeviceDma dma{dma_registers};
  drover::ScratchpadMemory<drover::DeviceDma> memory(dma, task->window, task->window_size);
  std::string_view packet(task->packet, task->packet_size);
  auto image = drover::schema::Image::from_trusted(task->image);
  task->error =
      static_cast<uint32_t>(drover::decode_to_host(image, task->message, &packet, 1, task->host, memory).error);
}
