// RemoteLink: a link to another engine as LineSwitch sees it: as a host with one worker, whose connections have the
// link's own numbers. It outlives its PeerLink until its connections have been closed.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "channel/layout.h"
#include "channel/line.h"
#include "engine/datagram/peer_link.h"
#include "engine/dispatch/host_link.h"
#include "engine/lines/line_lane.h"
#include "engine/lines/line_switch.h"

namespace drover::engine {

class RemoteLink {
 public:
  RemoteLink(PeerLink& link, uint32_t most) : peer(&link), most_(most) {}
  RemoteLink(const RemoteLink&) = delete;
  RemoteLink& operator=(const RemoteLink&) = delete;

  // ---- for LineSwitch
  std::unique_ptr<LineLane<HostLink, RemoteLink>>& lines(uint32_t) { return lane_; }
  // Requests leave room for responses, and both for what opens and closes connections. A link that is gone takes all.
  bool push_line(uint32_t, const Slot& slot, uint64_t second_word) {
    if (gone) [[unlikely]]
      return true;
    return peer->push(slot, second_word, (slot.flags & kLineResponse) != 0 ? kResponseShare : kRequestShare);
  }
  void push_close(uint32_t, const LineCloseSlot& slot) { push(to_slot(slot)); }
  bool keeps_up(uint32_t) const { return !gone; }
  void connection_opened(uint32_t) { used(++connections); }
  void connection_closed(uint32_t) { used(--connections); }
  uint32_t workers() const { return 1; }
  uint32_t most_connections() const { return most_; }
  void fail(const char* why) {
    if (!gone) peer->fail(why);
  }
  uint32_t connections = 0, opened = 0;
  LineEndCursor next_line_end;
  bool gone = false;

  // A slot without which the two ends do not agree. If it finds no room, the link fails.
  void push(const Slot& slot) {
    uint64_t second;
    std::memcpy(&second, reinterpret_cast<const char*>(&slot) + 8, sizeof second);
    if (!gone && !peer->push(slot, second, 8)) fail("it does not take what opens and closes connections");
  }

  // ---- for RemoteLines
  PeerLink* peer;  // null once it is gone
  // Connections that the other engine was asked for, by their number in the link.
  struct Question {
    uint64_t host;
    uint32_t request;
  };
  std::unordered_map<uint16_t, Question> questions;
  // A LINE_OPEN of which some parts have come.
  std::string name;
  uint16_t name_of = 0;
  uint8_t name_parts = 0;

 private:
  static constexpr uint32_t kRequestShare = 4, kResponseShare = 7;  // eighths of the queue

  void used(uint32_t count) {
    if (!gone) peer->uses = count;
  }

  const uint32_t most_;
  std::unique_ptr<LineLane<HostLink, RemoteLink>> lane_;
};

}  // namespace drover::engine
