// A pass over jobs that claim devices: 12,500 nodes whose 8 GPUs are in ResourceSlices, and pods
// that name ResourceClaimTemplates. Beside it, in the same run, the same fleet and jobs with
// nvidia.com/gpu of the device plugin. The edge's cache reads the objects, and the engine decides.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "row.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/watch_stream.h"
#include "slice_text.h"

namespace subak {
namespace {

constexpr int kNodes = 12'500, kTeams = 40;
constexpr std::array<int, 4> kGpus{1, 2, 4, 8};

struct Job {
  int pods = 1, gpus = 1;
};

// One cluster, from its objects to the decisions.
class World {
 public:
  explicit World(bool claims) : claims_(claims) {
    in::SetCluster cluster;
    cluster.name = "c";
    cluster.mode = Mode::kEnforce;
    apply(cluster);
    for (int t = 0; t < kTeams; ++t) {
      in::SetAccount account;
      account.spec.path = "a" + std::to_string(t);
      account.spec.shares = 1;
      account.spec.namespaces = {"team-" + std::to_string(t)};
      account.reason = "bench";
      apply(account);
    }
    apply(in::ListBegin{"c"});
    if (claims_) add_classes();
    for (int i = 0; i < kNodes; ++i) add_node(i);
    report();
    apply(in::ListComplete{"c"});
  }

  // The pods of a job appear with the gate.
  void submit(const Job& job) {
    const int number = jobs_++;
    for (int p = 0; p < job.pods; ++p) {
      const std::string line = pod_text(job, number, p);
      const bench::Stopwatch reading;
      read(line, [this](const WatchEvent& event) { cache_.see_pod(event, 0); });
      read_ns += reading.ns();
      ++pods;
    }
    report();
  }
  // Passes until no job can start, and binds what has started.
  void pass() {
    pass_ns = 0;
    do {
      ++now_;
      const bench::Stopwatch watch;
      const ApplyOutcome outcome = apply(in::Pass{});
      pass_ns += watch.ns();
      for (const Effect& effect : outcome.effects) {
        if (effect.kind == EffectKind::kOpenGate) run(effect);
      }
    } while (engine_.pass_due());
  }
  // Ends a running job.
  void end(std::size_t index) {
    for (const std::string& uid : running_[index]) {
      apply(in::PodGone{"c", {uid, {}, 0, 0}, 0, Cause::kFinished});
    }
    running_[index] = std::move(running_.back());
    running_.pop_back();
  }
  std::size_t running() const { return running_.size(); }
  std::size_t queued() const { return engine_.count(JobState::kQueued); }

  // The jobs that were started, and the pods that were read.
  std::size_t started = 0, pods = 0;
  // The processor time of reading all pods, and of the last pass().
  double read_ns = 0, pass_ns = 0;

 private:
  ApplyOutcome apply(in::Body body) {
    ApplyOutcome outcome = engine_.apply(
        {.time_ms = now_, .request_id = {}, .actor = "bench", .body = std::move(body)});
    if (outcome.reply.error) {
      std::fprintf(stderr, "refused: %s\n", outcome.reply.error->message().c_str());
      std::exit(1);
    }
    return outcome;
  }
  template <class Take>
  void read(const std::string& line, const Take& take) {
    if (!stream_.feed(line, take)) return;
    std::fprintf(stderr, "an object could not be read: %s\n", line.c_str());
    std::exit(1);
  }
  void report() {
    while (auto news = cache_.outbox().next(Outbox::kAllPodsKnown)) {
      apply(std::move(news->body));
      cache_.outbox().answered(news->uid);
    }
  }
  void run(const Effect& effect) {
    std::vector<std::string>& uids = running_.emplace_back();
    for (const EffectPod& pod : effect.pods) {
      uids.push_back(pod.uid);
      apply(in::PodBound{.cluster = "c", .pod = {pod.uid, {}, 0, 0}, .node = pod.node, .at_ms = 0});
    }
    ++started;
  }

  void add_classes() {
    read(R"({"type":"ADDED","object":{"metadata":{"name":"gpu.nvidia.com","resourceVersion":"1"},)"
         R"("spec":{"selectors":[{"cel":{"expression":)"
         R"("device.driver == 'gpu.nvidia.com' && )"
         R"(device.attributes['gpu.nvidia.com'].type == 'gpu'"}}]}}})"
         "\n",
         [this](const WatchEvent& event) { cache_.needs().claims().devices().see_class(event); });
    for (int t = 0; t < kTeams; ++t) {
      for (const int gpus : kGpus) {
        read(R"({"type":"ADDED","object":{"metadata":{"namespace":"team-)" + std::to_string(t) +
                 R"(","name":"gpus-)" + std::to_string(gpus) +
                 R"(","resourceVersion":"1"},"spec":{"spec":{"devices":{"requests":[{"name":"r",)" +
                 R"("exactly":{"deviceClassName":"gpu.nvidia.com","count":)" +
                 std::to_string(gpus) + "}}]}}}}}\n",
             [this](const WatchEvent& event) { cache_.needs().claims().see_template(event); });
      }
    }
  }
  void add_node(int i) {
    if (claims_) {
      read(bench::slice_text(i),
           [this](const WatchEvent& event) { cache_.needs().claims().devices().see_slice(event); });
    }
    const std::string plugin = claims_ ? "" : R"(,"nvidia.com/gpu":"8")";
    read(R"({"type":"ADDED","object":{"metadata":{"name":"node-)" + std::to_string(i) +
             R"(","resourceVersion":"1","labels":{"nvidia.com/gpu.product":)" +
             R"("NVIDIA-H100-80GB-HBM3"}},"status":{"conditions":[{"type":"Ready","status":)" +
             R"("True"}],"allocatable":{"cpu":"192","memory":"2000Gi","pods":"110")" + plugin +
             "}}}}\n",
         [this](const WatchEvent& event) { cache_.see_node(event, now_); });
  }
  std::string pod_text(const Job& job, int number, int index) const {
    const std::string n = std::to_string(number), id = n + "-" + std::to_string(index);
    std::string labels;
    if (job.pods > 1) {
      labels = R"("subak.gpu/job":"g)" + n + R"(","subak.gpu/gang-size":")" +
               std::to_string(job.pods) + "\"";
    }
    const std::string gpus = std::to_string(job.gpus);
    const std::string claim =
        R"("resourceClaims":[{"name":"gpus","resourceClaimTemplateName":"gpus-)" + gpus + R"("}],)";
    const std::string wants = claims_ ? R"("claims":[{"name":"gpus"}],"limits":{)"
                                      : R"("limits":{"nvidia.com/gpu":")" + gpus + R"(",)";
    return R"({"type":"ADDED","object":{"metadata":{"name":"train-)" + id +
           R"(","namespace":"team-)" + std::to_string(number % kTeams) +
           R"(","uid":"6f1c2a3b-0000-4000-8000-)" + id + R"(","resourceVersion":"1","labels":{)" +
           labels + R"(}},"spec":{"schedulingGates":[{"name":"subak.gpu/queue"}],)" +
           (claims_ ? claim : "") + R"("containers":[{"name":"main","resources":{)" + wants +
           R"("cpu":")" + std::to_string(8 * job.gpus) + R"(","memory":"64Gi"}}}]},)" +
           R"("status":{"phase":"Pending"}}})" + "\n";
  }

  const bool claims_;
  Engine engine_;
  ClusterCache cache_{"c", {}, default_other_schedulers()};
  WatchStream stream_;
  TimeMs now_ = 1'700'000'000'000;
  int jobs_ = 0;
  std::vector<std::vector<std::string>> running_;  // the uids of each job's pods
};

// Jobs of 1 to 8 GPUs, and a gang of 16 nodes now and then.
Job random_job(std::mt19937_64& random) {
  if (random() % 200 == 0) return {16, 8};
  constexpr std::array<int, 7> kOf{1, 1, 1, 2, 2, 4, 8};
  return {1, kOf[random() % kOf.size()]};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Two worlds with the same jobs, which take the same steps.
class Pair {
 public:
  // Both worlds pass. Which of them is first changes, since the second finds less in the cache.
  void pass() {
    World& first = ++passes_ % 2 == 0 ? claimed_ : plain_;
    World& second = &first == &claimed_ ? plain_ : claimed_;
    first.pass();
    second.pass();
    if (claimed_.started == plain_.started && claimed_.queued() == plain_.queued()) return;
    std::fprintf(stderr, "claims start %zu jobs, the device plugin %zu\n", claimed_.started,
                 plain_.started);
    std::exit(1);
  }
  void submit(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      const Job job = random_job(random_);
      claimed_.submit(job);
      plain_.submit(job);
    }
  }
  void end(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      const std::size_t ended = random_() % claimed_.running();
      claimed_.end(ended);
      plain_.end(ended);
    }
  }
  const World& claimed() const { return claimed_; }
  const World& plain() const { return plain_; }

 private:
  World claimed_{true}, plain_{false};
  std::mt19937_64 random_{7};
  std::size_t passes_ = 0;
};

// The median time for a started job: other work on the machine makes some passes much slower.
void run() {
  constexpr int kRounds = 200, kJobs = 200;
  Pair pair;
  while (pair.claimed().queued() < 2'000) {  // until the fleet is full
    pair.submit(2'000);
    pair.pass();
  }
  std::vector<double> claimed_us, plain_us;
  for (int round = 0; round < kRounds; ++round) {
    const auto before = static_cast<double>(pair.claimed().started);
    pair.end(kJobs);
    pair.submit(kJobs);
    pair.pass();
    const double jobs = static_cast<double>(pair.claimed().started) - before;
    if (jobs == 0) continue;
    claimed_us.push_back(pair.claimed().pass_ns / jobs / 1000);
    plain_us.push_back(pair.plain().pass_ns / jobs / 1000);
  }
  const auto read_us = [](const World& world) {
    return world.read_ns / static_cast<double>(world.pods) / 1000;
  };
  std::fprintf(stderr,
               "%zu jobs started, %zu wait; reading a pod: %.1f us, %.1f us without claim\n",
               pair.claimed().started, pair.claimed().queued(), read_us(pair.claimed()),
               read_us(pair.plain()));
  bench::row("device_claims_pass_us", median(claimed_us), "us", median(plain_us),
             bench::Better::kLess, "the same pass for the same jobs with nvidia.com/gpu");
}

}  // namespace
}  // namespace subak

int main() { subak::run(); }
