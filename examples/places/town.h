// What both servers of this example know: the town's places, and the notes that visitors have left.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "places.pb.h"

class Town {
 public:
  // Null: there is nothing.
  const places::Place* at(const places::Spot& spot) const {
    for (const places::Place& place : places_) {
      if (place.spot().east() == spot.east() && place.spot().north() == spot.north()) return &place;
    }
    return nullptr;
  }
  std::vector<const places::Place*> inside(const places::Rectangle& area) const {
    const auto [west, east] = std::minmax(area.corner().east(), area.opposite().east());
    const auto [south, north] = std::minmax(area.corner().north(), area.opposite().north());
    std::vector<const places::Place*> found;
    for (const places::Place& place : places_) {
      const places::Spot& spot = place.spot();
      if (spot.east() >= west && spot.east() <= east && spot.north() >= south && spot.north() <= north) {
        found.push_back(&place);
      }
    }
    return found;
  }
  // Leaves a note; the notes that were there before.
  std::vector<places::Note> leave(const places::Note& note) {
    std::lock_guard lock(mutex_);
    std::vector<places::Note>& here = notes_[{note.spot().east(), note.spot().north()}];
    std::vector<places::Note> before = here;
    here.push_back(note);
    return before;
  }

 private:
  static places::Place place(const char* name, int east, int north) {
    places::Place made;
    made.set_name(name);
    made.mutable_spot()->set_east(east);
    made.mutable_spot()->set_north(north);
    return made;
  }

  // By name.
  const std::vector<places::Place> places_ = {place("Bakery", 40, -15), place("Fountain", 0, 0),
                                              place("Library", -120, 60), place("Mill", 900, 410),
                                              place("Station", -350, -280)};
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<places::Note>> notes_;
};

// A walk so far.
class WalkSoFar {
 public:
  void add(const Town& town, const places::Spot& spot) {
    if (summary_.spots() > 0) {
      summary_.set_metres(summary_.metres() + std::hypot(spot.east() - last_.east(), spot.north() - last_.north()));
    }
    summary_.set_spots(summary_.spots() + 1);
    if (town.at(spot) != nullptr) summary_.set_places(summary_.places() + 1);
    last_ = spot;
  }
  const places::WalkSummary& summary() const { return summary_; }

 private:
  places::WalkSummary summary_;
  places::Spot last_;
};
