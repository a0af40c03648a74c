// The webhook's work on reviews that are as dear as their bytes can make them.
#include <algorithm>
#include <cstdio>
#include <string>

#include "row.h"
#include "tests/admission/hostile.h"

namespace subak {
namespace {

constexpr std::size_t kBytes = 1u << 20;
constexpr int kTries = 3;

double us_per_kb(double ns, std::size_t bytes) {
  return ns / 1000 / (static_cast<double>(bytes) / 1024);
}

double parse_ns(std::string& review) {
  ReviewParser parser;
  double least = 0;
  for (int i = 0; i < kTries; ++i) {
    const double begin = test::thread_ns();
    bench::keep(parser.parse({review.data(), review.size()}).ok());
    const double ns = test::thread_ns() - begin;
    least = i == 0 ? ns : std::min(least, ns);
  }
  return least;
}

void hostile() {
  const auto view = test::fixed_view();
  double worst = 0, parse = 0;
  for (const test::Hostile& shape : test::hostile_reviews()) {
    std::string review = test::hostile_text(shape, kBytes);
    const double cost =
        us_per_kb(test::least_ns(*view, review, shape.endpoint, kTries), review.size());
    std::fprintf(stderr, "%8.3f us/KB  %s\n", cost, shape.name.c_str());
    if (cost < worst) continue;
    worst = cost;
    parse = us_per_kb(parse_ns(review), review.size());
  }
  bench::row("admission_hostile_us_per_kb", worst, "us", parse, bench::Better::kLess,
             "reading the same review with simdjson");
}

}  // namespace
}  // namespace subak

int main() { subak::hostile(); }
