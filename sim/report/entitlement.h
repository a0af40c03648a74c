// Computes which part of the received total each account is entitled to: quota first, then max-min
// by shares, never above its demand. It is pure arithmetic in doubles (amounts are GPU-time of one
// window).
// Threads: none.
#pragma once

#include <span>
#include <vector>

namespace subak::sim {

// What one account may claim of the total, in the unit of the total.
struct Claim {
  // The queued and running GPUs, summed over the window.
  double demand = 0;
  // Its quota times the length of the window.
  double quota = 0;
  // The account's shares. 0: it gets only what no other account wants.
  double shares = 0;
};

// Divides `total` and returns a part for each claim, in their order. The parts add up to min(total,
// sum of demands).
std::vector<double> entitled(double total, std::span<const Claim> claims);

// Returns Jain's index (sum x)^2 / (n sum x^2) in (0, 1]; 1 for no or all-zero values.
// Source: Jain, Chiu, Hawe, DEC-TR-301 (1984), https://arxiv.org/abs/cs/9809099
double jain_index(std::span<const double> values);

}  // namespace subak::sim
