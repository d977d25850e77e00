#include "engine/dispatch/long_parses.h"

#include <cassert>
#include <new>
#include <utility>

namespace drover::engine {

void LongParses::List::push(LongParse& parse) {
  parse.next = nullptr;
  parse.previous = last;
  (last != nullptr ? last->next : first) = &parse;
  last = &parse;
  ++size;
}

void LongParses::List::remove(LongParse& parse) {
  (parse.previous != nullptr ? parse.previous->next : first) = parse.next;
  (parse.next != nullptr ? parse.next->previous : last) = parse.previous;
  parse.next = parse.previous = nullptr;
  --size;
}

LongParses::~LongParses() { assert(size_ == 0); }

std::unique_ptr<LongParse> LongParses::spare() {
  return spare_ != nullptr ? std::move(spare_) : std::make_unique<LongParse>();
}

LongParses::Begun LongParses::begin(const LongParse::Request& request, BuiltRequest* built) {
  CallState& state = *request.state;
  std::unique_ptr<LongParse> parse = spare();
  parse->take(request);
  parse->counted = LongParse::least_rx(request);
  auto line = lines_.find(state.payer);
  if (line == lines_.end()) {
    if (parse->step(monotonic_ns() + options_.at_once_ns)) {
      *built = std::exchange(parse->built(), BuiltRequest());
      spare_ = std::move(parse);
      return Begun::kOver;
    }
    if (!charge(*parse)) return Begun::kNoMemory;  // its end gives the memory back
    try {
      line = lines_.try_emplace(state.payer).first;
    } catch (const std::bad_alloc&) {
      if (state.payer != nullptr) state.payer->release(Resource::kMemory, LongParse::kStackBytes);
      throw;
    }
    queue_.add(line->second, state.payer != nullptr ? state.payer->parent()->parsing_share() : uncharged_share_);
  }
  line->second.parses.push(*parse);
  ++request.link->pins;
  ++size_;
  ++suspended_;
  state.parse = parse.release();
  return Begun::kLater;
}

bool LongParses::charge(LongParse& parse) {
  Account* payer = parse.request().state->payer;
  if (payer != nullptr && !payer->charge(Resource::kMemory, LongParse::kStackBytes)) return false;
  parse.charged = payer != nullptr;
  return true;
}

void LongParses::discharge(LongParse& parse) {
  if (!std::exchange(parse.charged, false)) return;
  parse.request().state->payer->release(Resource::kMemory, LongParse::kStackBytes);
}

// Of one that is in no list. Its call may be over by now.
void LongParses::end(std::unique_ptr<LongParse> parse) {
  HostLink& link = *parse->request().link;
  parse->over_since_ns = 0;
  parse->stop();
  --size_;
  spare_ = std::move(parse);
  links_.unpin(link);
}

void LongParses::drop_parse(CallState& state) {
  std::unique_ptr<LongParse> parse(std::exchange(state.parse, nullptr));
  if (parse->over_since_ns != 0) {
    over_.remove(*parse);
  } else {
    lines_.at(state.payer).parses.remove(*parse);
    leave_line(state.payer);
  }
  discharge(*parse);
  end(std::move(parse));
}

// If its last one has left.
void LongParses::leave_line(Account* payer) {
  auto line = lines_.find(payer);
  if (line == lines_.end() || line->second.parses.first != nullptr) return;
  queue_.remove(line->second);
  lines_.erase(line);
}

// Nothing here calls others, who might drop any of them: those that are over are told later.
void LongParses::step_all() {
  LongParse* const last = over_.last;
  queue_.run(monotonic_ns() + options_.serve_ns, [this](FairQueue::Member& member, int64_t until_ns) {
    Line& line = static_cast<Line&>(member);
    LongParse& parse = *line.parses.first;
    if (!step(parse, until_ns)) return true;
    line.parses.remove(parse);
    parse.over_since_ns = monotonic_ns();
    discharge(parse);
    over_.push(parse);
    return line.parses.first != nullptr;
  });
  for (LongParse* parse = last == nullptr ? over_.first : last->next; parse != nullptr; parse = parse->next) {
    leave_line(parse->request().state->payer);
  }
}

// True: it is over.
bool LongParses::step(LongParse& parse, int64_t until_ns) {
  const HostLink& link = *parse.request().link;
  if (link.gone || link.failure() != nullptr) return parse.stop(), true;
  if (!parse.begun() && !charge(parse)) {
    parse.built().no_memory = true;
    return true;
  }
  const bool over = parse.step(until_ns);
  count(parse);
  return over;
}

// What the object takes beyond what its call began with. A call that is counted already has its place in RxShares, so
// that nothing is allocated.
void LongParses::count(LongParse& parse) {
  CallState& state = *parse.request().state;
  HostLink& link = *parse.request().link;
  const size_t taken = parse.taken_bytes();
  if (state.rx_holder != &link || taken <= parse.counted) return;
  link.rx_shares.add(*state.payer, taken - parse.counted);
  state.rx_held += taken - parse.counted;
  parse.counted = taken;
}

}  // namespace drover::engine
