#include "tools/demo_edge/checks/report.h"

#include <cstdio>

#include "tools/demo_edge/fleet.h"

namespace subak::demo {
namespace {

constexpr char kRule[] =
    "----------------------------------------------------------------------------------------";

void print_pods(const Story& story, const Books& books) {
  long long from_api = 0, from_pods = 0, bound_api = 0, bound_pods = 0;
  for (const Pod& pod : story.pods) {
    (pod.from_api() ? from_api : from_pods) += pod.opened();
    (pod.from_api() ? bound_api : bound_pods) += pod.bound_ms != 0;
  }
  std::printf("%s\n%-28s %12s %12s %12s\n%s\n", kRule, "PODS", "webhook", "gRPC jobs", "all",
              kRule);
  std::printf("%-28s %12d %12s %12d\n", "gated", story.counts.gated, "-", story.counts.gated);
  std::printf("%-28s %12lld %12lld %12d\n", "placed", from_pods, from_api, story.counts.placed);
  std::printf("%-28s %12lld %12lld %12d\n", "released and bound", bound_pods, bound_api,
              story.counts.bound);
  std::printf("%-28s %12s %12s %12lld\n", "charged", "", "",
              static_cast<long long>(books.charged_pods));
  std::printf("%-28s %12s %12s %12.4f\n", "GPU-hours charged", "", "",
              static_cast<double>(books.used_milligpu_ms) / 3.6e9);
}

void print_shares(const std::vector<ShareLine>& lines) {
  std::printf("%s\n%-16s %8s %10s %12s %12s %12s\n%s\n", kRule, "TEAM", "shares", "entitled",
              "received", "GPU-hours", "gRPC jobs", kRule);
  for (const ShareLine& line : lines) {
    const Team& team = teams()[line.team];
    std::printf("%-16s %6.0f %% %8.1f %% %10.1f %% %12.4f %12d%s\n", team.account.c_str(),
                team.norm * 100, line.entitled * 100, line.received * 100, line.gpu_hours,
                line.jobs, team.limit_gpus > 0 ? "   (limited to 16 GPUs)" : "");
  }
  std::printf("entitled and received: parts of all GPU time while every team had work waiting\n");
}

void print_restart(const Restart& r) {
  std::printf(
      "%s\n%d times kill -9: at most %lld ms to ready, %lld ms to the cluster's list "
      "acknowledged;\n"
      "%d gRPC calls and %d reviews made again, %d of them known already\n",
      kRule, r.kills, static_cast<long long>(r.ready_ms), static_cast<long long>(r.synced_ms),
      r.repeated_calls, r.repeated_reviews, r.known_requests);
}

}  // namespace

bool report(const Story& story, const Books& books, const std::vector<ShareLine>& shares,
            const Restart& restart, const Checks& checks) {
  std::printf("\n");
  print_pods(story, books);
  print_shares(shares);
  print_restart(restart);
  std::printf("drift %s, residual %s\n%s\n%-58s %-6s %s\n%s\n", books.drift.c_str(),
              books.residual.c_str(), kRule, "CHECK", "", "found", kRule);
  bool all = true;
  for (const Check& check : checks) {
    std::printf("%-58s %-6s %s\n", check.what.c_str(), check.ok ? "ok" : "FAILED",
                check.found.c_str());
    all = all && check.ok;
  }
  std::printf("%s\n%s\n", kRule,
              all ? "The demo is over: every figure holds."
                  : "The demo FAILED: see the lines above and build/demo/subakd.log.");
  return all;
}

}  // namespace subak::demo
