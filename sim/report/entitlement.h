// Divides the total received by the entitlement of each account: quota first, then max-min by
// shares, none above its demand. Pure arithmetic in doubles (amounts are GPU-time of one window).
// Threads: none.
#pragma once

#include <span>
#include <vector>

namespace subak::sim {

struct Claim {
  double demand = 0;  // queued + running
  double quota = 0;   // quota x window
  double shares = 0;  // 0: only what no other account wants
};

// Divides `total`; the parts add up to min(total, sum of demands).
std::vector<double> entitled(double total, std::span<const Claim> claims);

// Returns Jain's index (sum x)^2 / (n sum x^2) in (0, 1]; 1 for no or all-zero values.
double jain_index(std::span<const double> values);

}  // namespace subak::sim
