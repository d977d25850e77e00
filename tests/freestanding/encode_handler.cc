// A minimal response handler: it encodes an object out of the host's memory into a packet. Linked as decode_handler.cc
// is.
#include <cstddef>
#include <cstdint>

#include "codec/freestanding/fetched_memory.h"
#include "tests/freestanding/device.h"

struct Task {
  const unsigned char* image;
  uint32_t message;
  uint64_t object;
  drover::HostArea host;
  drover::FixedOutput packet;
  drover::EncodeResult result;
};

extern "C" void _start(Task* task, volatile uint32_t* dma_registers) {
  drover::DeviceDma dma{dma_registers};
  drover::ObjectCache<drover::DeviceDma> cache(dma);
  auto image = drover::schema::Image::from_trusted(task->image);
  task->result = drover::encode_from_host(image, task->message, task->object, task->host, cache, {}, &task->packet);
}
