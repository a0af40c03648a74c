// A driver (driver.h) that makes random outside events, which no preemption causes: jobs arrive or
// end, accounts are edited, nodes are lost or return. It has two products and three levels of
// accounts. Threads: one at a time.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/engine/claims/driver.h"

namespace subak::claim_model {

// The products of all worlds. The first entry means "any product".
constexpr std::array<const char*, 3> kProducts{"", "A100", "H100"};
constexpr DurationMs kMostGrace = 40 * kSecondMs;

class RandomWorld : public Driver {
 public:
  struct Size {
    std::int64_t least_nodes = 3, most_nodes = 5;
    std::int64_t most_gpus = 4;  // of a node; at least 2
    std::size_t most_waiting = 8;
  };

  RandomWorld(std::uint64_t seed, const Size& size);

 protected:
  // Makes one random event, or in a quarter of the calls none.
  void outside_event();
  void arrive();
  void end_one();
  // True if, since clear_disturbed(), there was an edit, a cancelled job, or a change of nodes.
  bool is_disturbed() const { return disturbed_; }
  void clear_disturbed() { disturbed_ = false; }

 private:
  std::vector<JobId> jobs_in(bool in_attempt) const;
  void edit();
  void lose_or_return_node();

  const Size size_;
  std::vector<NodeSpec> all_nodes_, here_;
  std::vector<AccountSpec> specs_;
  bool disturbed_ = false;
};

}  // namespace subak::claim_model
