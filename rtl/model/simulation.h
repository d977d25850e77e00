// A clock for one verilated top, and the parts that stand at its ports.
//
//   Simulation<Vtop> sim;            // clk_i and rst_ni are the top's
//   sim.add(&source); sim.add(&memory);
//   sim.reset(); while (!done) sim.cycle();
//
// In every cycle each part first drives the inputs that depend on its own state (`drive`), the top settles, each part
// then looks at the handshakes of this cycle (`sample`), and the clock rises. Parts run in the order of add() and must
// outlive the last cycle.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace drover::rtl {

class Part {
 public:
  virtual ~Part() = default;
  virtual void drive() = 0;
  virtual void sample() = 0;
  // The top is being reset: forgets the transactions under way and drives idle handshakes.
  virtual void reset() {}
};

// Asked once a cycle, whether a part holds its handshake back. Empty: never (rtl/testing/stalls.h has a random one).
using Stall = std::function<bool()>;
inline bool held_back(const Stall& stall) { return stall && stall(); }

// What registers and memories hold before reset: zeros, or random bits of a seed.
struct PowerUp {
  bool random = false;
  uint32_t seed = 1;
};

template <typename Top>
class Simulation {
 public:
  explicit Simulation(const PowerUp& power_up = {}) : context_(std::make_unique<VerilatedContext>()) {
    context_->randReset(power_up.random ? 2 : 0);
    context_->randSeed(static_cast<int>(power_up.seed % 0x7fffffff + 1));  // Verilator reads 0 as "by the time"
    Verilated::threadContextp(context_.get());  // the constructor of the top takes its random bits from here
    top_ = std::make_unique<Top>(context_.get());
    top_->clk_i = 0;
    top_->rst_ni = 1;
  }
  ~Simulation() {
    top_->final();
    Verilated::threadContextp(Verilated::defaultContextp());
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Top& top() { return *top_; }
  void add(Part* part) { parts_.push_back(part); }

  // At any time, also while transactions are under way. Assertions say nothing of what registers hold before it.
  void reset() {
    for (Part* part : parts_) part->reset();
    context_->assertOn(false);
    top_->rst_ni = 0;
    for (int i = 0; i < 4; ++i) edge();
    context_->assertOn(true);
    top_->rst_ni = 1;
  }
  void cycle() {
    for (Part* part : parts_) part->drive();
    top_->clk_i = 0;
    top_->eval();
    for (Part* part : parts_) part->sample();
    top_->clk_i = 1;
    top_->eval();
    ++cycles_;
  }
  // A cycle in which the parts stand still: configuration before the ports are in use.
  void cycle_alone() {
    edge();
    ++cycles_;
  }
  uint64_t cycles() const { return cycles_; }

 private:
  void edge() {
    top_->clk_i = 0;
    top_->eval();
    top_->clk_i = 1;
    top_->eval();
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Top> top_;
  std::vector<Part*> parts_;
  uint64_t cycles_ = 0;
};

}  // namespace drover::rtl
