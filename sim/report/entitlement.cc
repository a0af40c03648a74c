#include "sim/report/entitlement.h"

#include <algorithm>
#include <cstddef>

namespace subak::sim {
namespace {

// Raises a common level so that part i = min(cap_i, level x weight_i), until `total` is used up.
// Adds to `parts` and returns the rest.
double fill(double total, std::span<const double> caps, std::span<const double> weights,
            std::vector<double>& parts) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < caps.size(); ++i) {
    if (caps[i] > 0 && weights[i] > 0) open.push_back(i);
  }
  // Accounts that reach their cap at the lowest level come first.
  std::sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
    const double left = caps[a] * weights[b], right = caps[b] * weights[a];
    return left != right ? left < right : a < b;
  });
  double weight = 0;
  for (const std::size_t i : open) weight += weights[i];
  for (const std::size_t i : open) {
    const double part = std::min(caps[i], total * weights[i] / weight);
    parts[i] += part;
    total -= part;
    weight -= weights[i];
    if (total <= 0 || weight <= 0) break;
  }
  return std::max(0.0, total);
}

}  // namespace

std::vector<double> entitled(double total, std::span<const Claim> claims) {
  const std::size_t n = claims.size();
  std::vector<double> parts(n, 0), caps(n), weights(n);
  for (std::size_t i = 0; i < n; ++i) {
    caps[i] = std::min(claims[i].demand, claims[i].quota);
    weights[i] = claims[i].quota;
  }
  total = fill(total, caps, weights, parts);
  for (std::size_t i = 0; i < n; ++i) {
    caps[i] = claims[i].demand - parts[i];
    weights[i] = claims[i].shares;
  }
  total = fill(total, caps, weights, parts);
  for (std::size_t i = 0; i < n; ++i) {
    caps[i] = claims[i].demand - parts[i];
    weights[i] = claims[i].shares > 0 ? 0 : 1;
  }
  fill(total, caps, weights, parts);
  return parts;
}

double jain_index(std::span<const double> values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  if (squares <= 0) return 1;
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace subak::sim
