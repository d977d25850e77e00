// Assemblies: the messages of several lines that come to one thread, at most one of each connection and `most` in all.
//
//   first line --> under way -- last line --> whole: its place is free
//                      '------ a line is missing --> given up, until its last line or another message's first
//
// A message that finds no place free takes that of a message that was given up, else of one under way: the one that has
// waited longest for its next line. A sender pushes the lines of a message one behind the other, so that a message that
// so many others overtake is one that its sender does not end. A line in the middle of a message whose beginning was
// not seen displaces no message under way: without another place it is dropped.
// Thread-safety: one thread. A place holds at most kMaxMessageBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

#include "host/lines/line_message.h"

namespace drover::lines {

class Assemblies {
 public:
  explicit Assemblies(uint32_t most) : most_(most) {}
  Assemblies(const Assemblies&) = delete;
  Assemblies& operator=(const Assemblies&) = delete;

  struct Taken {
    bool whole = false;                  // `message` is
    bool incomplete = false;             // a message turned out to miss a line: it is given up
    bool displaced = false;              // a message under way lost its place, or this one found none
    std::span<const std::byte> message;  // until the next take()
  };

  // `line` is well formed, and not a whole message.
  Taken take(const LineSlot& line) {
    Taken taken;
    auto found = places_.find(line.connection);
    if (found == places_.end()) {
      if (!make_room(line, &taken)) return taken;
      found = places_.emplace(line.connection, new_place(line.connection)).first;
    }
    const Places::iterator place = found->second;
    // The last lines of the message before are missing.
    taken.incomplete = line.index == 0 && place->assembly.under_way();
    const LineAssembly::Taken as = place->assembly.take(line);
    taken.whole = as == LineAssembly::Taken::kWhole;
    taken.incomplete |= as == LineAssembly::Taken::kIncomplete;
    if (taken.whole) taken.message = place->assembly.message();
    if ((line.flags & kLineLast) != 0) {
      free(found);
    } else {
      move(place, place->assembly.under_way() ? &under_way_ : &given_up_);
    }
    return taken;
  }
  // The connection has been closed: its number may be another one's next.
  void forget(uint16_t connection) {
    if (auto found = places_.find(connection); found != places_.end()) free(found);
  }

 private:
  struct Place;
  using Places = std::list<Place>;
  struct Place {
    uint16_t connection = 0;
    Places* in = nullptr;
    LineAssembly assembly;
  };
  using Index = std::unordered_map<uint16_t, Places::iterator>;

  // Whether there is a place for another message.
  bool make_room(const LineSlot& line, Taken* taken) {
    if (places_.size() < most_) return true;
    if (!given_up_.empty()) {
      free(places_.find(given_up_.front().connection));
      return true;
    }
    taken->displaced = line.index == 0;
    taken->incomplete = line.index != 0;
    if (line.index != 0 || under_way_.empty()) return false;
    free(places_.find(under_way_.front().connection));
    return true;
  }
  Places::iterator new_place(uint16_t connection) {
    if (spare_.empty()) spare_.emplace_back();
    const Places::iterator place = spare_.begin();
    place->connection = connection;
    place->in = &spare_;
    move(place, &under_way_);
    return place;
  }
  // The last of those there.
  static void move(Places::iterator place, Places* to) {
    to->splice(to->end(), *place->in, place);
    place->in = to;
  }
  // Its memory stays for the next message, and so does this one.
  void free(Index::iterator found) {
    spare_.clear();
    move(found->second, &spare_);
    places_.erase(found);
  }

  const uint32_t most_;
  Places under_way_, given_up_;  // least recent first
  Places spare_;                 // at most one
  Index places_;                 // by connection
};

}  // namespace drover::lines
