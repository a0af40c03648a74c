// subak-play WEBHOOK GRPC CA_FILE: the demo's cluster and teams against a service that runs already
// (addresses as its first line says them), until stdin ends. For looking at dashboards, and for the
// test that asks every panel. The service's configuration must make the cluster: deploy/demo.

#include <curl/curl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <optional>

#include "subak/v1/account_service.grpc.pb.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "tools/demo_edge/fleet.h"
#include "tools/demo_edge/load.h"
#include "tools/demo_edge/opening.h"

namespace subak::demo {
namespace {

constexpr std::int64_t kListMs = 60'000;
constexpr int kLookMs = 300;
constexpr int kLeastQueued = 40;
constexpr int kPodsEach = 40;

// False once stdin has ended.
bool more_to_come(int wait_ms) {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  if (::poll(&in, 1, wait_ms) == 0) return true;
  char ignored[64];
  return ::read(STDIN_FILENO, ignored, sizeof ignored) > 0;
}

bool set_up(Door& door, Edge& edge) {
  for (const v1::UpdateAccountRequest& request : demo_accounts()) {
    const grpc::Status done = door.call<v1::AccountService>(
        [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
          v1::EditAccountResponse answer;
          return stub.UpdateAccount(context, request, &answer);
        });
    if (done.ok()) continue;
    std::fprintf(stderr, "subak-play: UpdateAccount: %s\n", done.error_message().c_str());
    return false;
  }
  edge.start();
  if (edge.wait_lists(1, kListMs)) return true;
  std::fprintf(stderr, "subak-play: the cluster's list was not acknowledged\n");
  return false;
}

// A pod that was bound past the queue.
void store_foreign(Edge& edge) {
  v1::PodRecord pod;
  pod.set_uid("foreign-1");
  pod.set_namespace_("vision");
  pod.set_name("past-the-queue");
  pod.mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
  pod.mutable_shape()->set_gpus(1);
  pod.set_node("hgx-4");
  pod.set_running(true);
  edge.store(pod);
}

// Jobs that wait; nothing if the service is gone.
std::optional<std::int64_t> queued(Door& door) {
  v1::Status status;
  const grpc::Status done =
      door.call<v1::AdminService>([&](v1::AdminService::Stub& stub, grpc::ClientContext* context) {
        return stub.GetStatus(context, {}, &status);
      });
  return done.ok() ? std::optional(status.jobs_queued()) : std::nullopt;
}

JobPlan next_job(int i) {
  constexpr std::array<std::array<int, 2>, 7> kShapes{
      {{1, 4}, {2, 4}, {1, 2}, {4, 4}, {1, 8}, {2, 2}, {1, 4}}};
  const auto [pods, gpus] = kShapes[static_cast<std::size_t>(i) % kShapes.size()];
  // The limited team gets few, or in time all that wait would be its own.
  const auto team = static_cast<std::size_t>(i % 12 == 11 ? 2 : i % 2);
  const bool limited = teams()[team].limit_gpus > 0;  // the largest would be refused
  JobPlan plan = job_plan(team, "play-" + std::to_string(i), limited ? 1 : pods, gpus);
  plan.request.mutable_job()->set_priority(i % 3 - 1);
  return plan;
}

// All teams want more than there is, for as long as anybody looks and the service is there.
void keep_busy(Door& door) {
  for (int i = 0; more_to_come(kLookMs);) {
    const std::optional<std::int64_t> waiting = queued(door);
    if (!waiting) return;
    for (std::int64_t more = kLeastQueued - *waiting; more > 0; --more) {
      JobPlan plan = next_job(i++);
      submit(door, plan);
      if (!plan.error.empty()) return tell("CreateJob: %s", plan.error.c_str());
    }
  }
}

int play(const Ports& ports, const std::string& ca_file) {
  Door door;
  door.open(ports);
  Edge edge(door, demo_fleet());
  if (!set_up(door, edge)) return 1;
  Checks answers;
  opening_reviews(door, edge, ca_file, answers);
  store_foreign(edge);
  std::vector<JobPlan> none;
  Load load(door, edge, ca_file, none, kPodsEach);
  load.start();
  tell("busy");
  keep_busy(door);
  door.shut();
  load.join();
  edge.stop();
  return 0;
}

}  // namespace
}  // namespace subak::demo

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: subak-play WEBHOOK GRPC CA_FILE\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  return subak::demo::play({argv[1], argv[2], ""}, argv[3]);
}
