// Computes the entitlement of each account: its fair part of the GPU time that all accounts
// together received. An account first gets its quota, then a max-min part by shares, but never more
// than its demand. The computation is pure arithmetic in doubles. Amounts are the GPU time of one
// window.
// Threads: any; pure functions.
#pragma once

#include <span>
#include <vector>

namespace subak::sim {

// The figures of one account that decide its part, in the unit of the total. This is not a claim as
// in the glossary.
struct Claim {
  // The account's queued and running GPUs, as an integral over the window.
  double demand = 0;
  // The account's quota times the length of the window.
  double quota = 0;
  // The account's shares. 0: the account gets only GPU time that no other account wants.
  double shares = 0;
};

// Divides `total` and returns the part of each account, in the order of `claims`. The parts add up
// to min(total, sum of demands).
std::vector<double> entitled(double total, std::span<const Claim> claims);

// Returns Jain's index (sum x)^2 / (n sum x^2) in (0, 1]; 1 for no or all-zero values.
// Source: Jain, Chiu, Hawe, DEC-TR-301 (1984), https://arxiv.org/abs/cs/9809099
double jain_index(std::span<const double> values);

}  // namespace subak::sim
