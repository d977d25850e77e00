// A clock for one verilated top, and the parts of a test bench that stand at its ports.
//
//   Simulation<Vtop> sim(&top);      // clk_i and rst_ni are the top's
//   sim.add(&source); sim.add(&memory);
//   sim.reset(); while (!done) sim.cycle();
//
// In every cycle each part first drives the inputs that depend on its own state (`drive`), the model settles, each part
// then looks at the handshakes of this cycle (`sample`), and the clock rises. Parts live as long as the Simulation.
#pragma once

#include <cstdint>
#include <vector>

namespace drover::rtl {

class Part {
 public:
  virtual ~Part() = default;
  virtual void drive() = 0;
  virtual void sample() = 0;
};

// Says how often a part stalls, of 256 cycles. The sequence depends on the seed alone.
class Stalls {
 public:
  explicit Stalls(uint32_t of_256 = 0, uint64_t seed = 1) : of_256_(of_256), state_(seed * 2 + 1) {}
  bool now() {
    if (of_256_ == 0) return false;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 56) < of_256_;
  }

 private:
  uint32_t of_256_;
  uint64_t state_;
};

template <typename Top>
class Simulation {
 public:
  explicit Simulation(Top* top) : top_(top) {}
  void add(Part* part) { parts_.push_back(part); }

  void reset() {
    top_->rst_ni = 0;
    for (int i = 0; i < 4; ++i) edge();
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
  uint64_t cycles() const { return cycles_; }

 private:
  void edge() {
    top_->clk_i = 0;
    top_->eval();
    top_->clk_i = 1;
    top_->eval();
  }

  Top* top_;
  std::vector<Part*> parts_;
  uint64_t cycles_ = 0;
};

}  // namespace drover::rtl
