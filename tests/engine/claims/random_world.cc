#include "tests/engine/claims/random_world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace subak::claim_model {
namespace {

constexpr std::array<const char*, 8> kPaths{"d", "d.a", "d.b", "d.a.x", "d.a.y", "e", "e.c", "f"};

}  // namespace

RandomWorld::RandomWorld(std::uint64_t seed, const Size& size) : Driver(seed), size_(size) {
  Policy policy;
  policy.patience_ms = 0;  // no reserved nodes
  policy.reclaim_min_run_ms = below(4) * 30 * kSecondMs;
  begin(policy);
  const std::int64_t nodes = size.least_nodes + below(size.most_nodes - size.least_nodes + 1);
  for (std::int64_t i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.product = kProducts.at(i == 0 ? 2 : 1 + static_cast<std::size_t>(below(2)));
    node.gpus = 2 + below(size.most_gpus - 1);
    all_nodes_.push_back(node);
  }
  here_ = all_nodes_;
  set_nodes(here_);
  for (const char* const path : kPaths) {
    AccountSpec spec;
    spec.path = path;
    specs_.push_back(spec);
    EXPECT_TRUE(set_account(spec));
  }
  for (int i = 0; i < 12; ++i) edit();
}

void RandomWorld::outside_event() {
  const std::int64_t what = below(100);
  if (what < 45) {
    arrive();
  } else if (what < 66) {
    end_one();
  } else if (what < 71) {
    edit();
  } else if (what < 74) {
    lose_or_return_node();
  }
}

std::vector<JobId> RandomWorld::jobs_in(bool in_attempt) const {
  std::vector<JobId> out;
  for (const auto& [id, job] : books().jobs) {
    if (job.in_attempt() == in_attempt) out.push_back(id);
  }
  return out;
}

void RandomWorld::arrive() {
  const std::vector<JobId> waiting = jobs_in(false);
  if (waiting.size() > size_.most_waiting) {
    disturbed_ = true;
    return cancel(one_of(waiting));
  }
  Wanted wanted;
  wanted.account = kPaths.at(static_cast<std::size_t>(below(std::ssize(kPaths))));
  wanted.priority = static_cast<std::int32_t>(below(3));
  wanted.grace_ms = (1 + below(4)) * kMostGrace / 4;
  wanted.product = kProducts.at(static_cast<std::size_t>(std::max<std::int64_t>(0, below(7) - 4)));
  wanted.fixed = below(10) == 0;
  if (below(3) == 0) {
    wanted.groups.emplace_back(2 + below(2), 1 + below(2));
    if (below(8) == 0) wanted.groups.emplace_back(1, 3);
  } else {
    wanted.groups.emplace_back(1, 1 + below(1 + below(size_.most_gpus)));
  }
  submit(wanted);
}

void RandomWorld::end_one() {
  const std::vector<JobId> running = jobs_in(true);
  if (!running.empty()) end(one_of(running), Cause::kFinished);
}

// Quota up or down, other shares, or a limit. The engine refuses quotas that break promises.
void RandomWorld::edit() {
  const auto which = static_cast<std::size_t>(below(std::ssize(specs_)));
  AccountSpec spec = specs_[which];
  const std::int64_t what = below(10);
  if (what < 5) {
    spec.quota.clear();
    const std::int64_t most = size_.most_nodes * size_.most_gpus / 3;
    if (what > 0) spec.quota = {{kAnyProduct, below(most + 1) * kMilliPerGpu}};
  } else if (what < 7) {
    spec.shares = 1 + below(3);
  } else {
    spec.limit.clear();
    if (below(2) == 0) spec.limit = {{kAnyProduct, (2 + below(8)) * kMilliPerGpu}};
  }
  disturbed_ = true;
  if (set_account(spec)) specs_[which] = spec;
}

void RandomWorld::lose_or_return_node() {
  disturbed_ = true;
  if (here_.size() < all_nodes_.size()) {
    here_ = all_nodes_;
  } else {
    here_.erase(here_.begin() + below(std::ssize(here_)));
  }
  set_nodes(here_);
}

}  // namespace subak::claim_model
