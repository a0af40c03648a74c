// What a reader costs the service when 200,000 jobs wait: `why` of one job, and a page of 100 of
// the queue. Both as server/api answers them, on an engine that follows the facts of another, up to
// the bytes of the message; gRPC's own part is not in it.
//
// Between two calls jobs come, go, start and end, and a second passes, so that nothing helps that
// the service keeps for a second: this is what somebody pays who asks alone. What the next one pays
// within that second goes to stderr.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "server/api/calls/queue_list.h"
#include "server/api/convert/convert.h"
#include "tests/bench/row.h"

namespace subak {
namespace {

constexpr int kNodes = 12'500, kNodeGpus = 8;
constexpr std::uint32_t kFillPods = 100;  // of each gang that fills the fleet at first
constexpr int kTeams = 100, kProjects = 10, kUsers = 10;
constexpr std::size_t kQueued = 200'000;
constexpr int kLeastCalls = 10, kMostCalls = 200;
constexpr double kEnoughUs = 4e6;  // between them
constexpr std::int32_t kPage = 100;

// The picture of the queue, made as the follower makes it: the copy is what other reads wait for.
struct Pictured {
  explicit Pictured(const Engine& of) : engine(of) { make(); }
  // From a copy, on a thread that owns nothing else, as the service's follower does.
  void make() {
    const bench::Stopwatch copying;
    engine.copy_queue(copy);
    copy_us += copying.ns() / 1000;
    const bench::Stopwatch making;
    std::thread([&] { snapshot = copy.make(); }).join();
    make_us += making.ns() / 1000;
    ++times;
  }
  void print() const {
    std::fprintf(stderr, "order: %.0f us of the follower's for the copy, %.0f us beside it\n",
                 copy_us / times, make_us / times);
  }

  const Engine& engine;
  QueueCopy copy;
  QueueSnapshot snapshot;
  double copy_us = 0, make_us = 0;
  int times = 0;
};

// The engine that decides, and the one that readers see.
class World {
 public:
  World();
  const Engine& readers() const { return follower_; }
  // A second in which something happens.
  void live();
  // One that waits, whichever.
  JobId waiting();

 private:
  struct Running {
    JobId id;
    std::uint32_t pods = 0;
  };
  ApplyOutcome apply(in::Body body);
  void fleet();
  void accounts();
  void submit(std::uint32_t pods, std::int64_t gpus, DurationMs limit);
  void submit_any();
  void pass();
  void end_one();

  Engine engine_, follower_;
  TimeMs now_ = 1'700'000'000'000;
  std::mt19937_64 random_{5};
  std::uint64_t requests_ = 0;
  std::vector<std::string> projects_;
  std::vector<JobId> submitted_;
  std::vector<Running> running_;
};

World::World() {
  fleet();
  accounts();
  for (int used = 0; used < kNodes; used += kFillPods) submit(kFillPods, kNodeGpus, kHourMs);
  pass();
  while (engine_.count(JobState::kQueued) < kQueued) submit_any();
  for (int i = 0; i < 10; ++i) live();
}

ApplyOutcome World::apply(in::Body body) {
  // As long as a UUID, which is what clients send.
  Input input{
      .time_ms = now_,
      .request_id = "00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + ++requests_),
      .actor = "bench",
      .body = std::move(body)};
  ApplyOutcome outcome = engine_.apply(input);
  if (outcome.reply.error) {
    std::fprintf(stderr, "refused: %s\n", outcome.reply.error->message().c_str());
    std::exit(1);
  }
  for (const Fact& fact : outcome.facts) follower_.evolve(fact);
  return outcome;
}

void World::fleet() {
  in::SetCluster cluster;
  cluster.name = "c";
  cluster.mode = Mode::kEnforce;
  cluster.reason = "bench";
  apply(cluster);
  in::ImportNodes import;
  import.cluster = "c";
  import.reason = "bench";
  for (int i = 0; i < kNodes; ++i) {
    NodeSpec node;
    node.name = "node-" + std::to_string(i);
    node.product = "NVIDIA-H100-80GB-HBM3";
    node.gpus = kNodeGpus;
    import.nodes.push_back(node);
  }
  apply(import);
}

void World::accounts() {
  in::SetAccount set;
  set.spec.shares = 1;
  set.reason = "bench";
  for (int t = 0; t < kTeams; ++t) {
    set.spec.path = "team" + std::to_string(t);
    apply(set);
    for (int p = 0; p < kProjects; ++p) {
      set.spec.path = "team" + std::to_string(t) + ".project" + std::to_string(p);
      apply(set);
      projects_.push_back(set.spec.path);
    }
  }
}

void World::submit(std::uint32_t pods, std::int64_t gpus, DurationMs limit) {
  in::SubmitJob job;
  job.cluster = "c";
  job.account = projects_[random_() % projects_.size()];
  job.user = "user" + std::to_string(random_() % kUsers);
  job.name = "train";
  job.time_limit_ms = limit;
  job.request.groups.emplace_back();
  job.request.groups[0].count = pods;
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = gpus;
  submitted_.push_back(apply(job).reply.job);
}

// 70 shapes of gangs, small and large.
void World::submit_any() {
  now_ += 1;
  submit(static_cast<std::uint32_t>(1 + random_() % 10),
         static_cast<std::int64_t>(2 + random_() % 7),
         kHourMs * static_cast<DurationMs>(1 + random_() % 8));
}

// Everything that it starts is bound at once.
void World::pass() {
  const ApplyOutcome outcome = apply(in::Pass{});
  for (const Effect& effect : outcome.effects) {
    if (effect.kind != EffectKind::kOpenGate) continue;
    running_.push_back({effect.job, static_cast<std::uint32_t>(effect.pods.size())});
    for (const EffectPod& pod : effect.pods) {
      const PodRef ref{.uid = {}, .job = effect.job, .rank = pod.rank, .attempt = 0};
      apply(in::PodBound{.cluster = "c", .pod = ref, .node = pod.node, .at_ms = 0});
    }
  }
}

void World::end_one() {
  std::swap(running_[random_() % running_.size()], running_.back());
  const Running job = running_.back();
  running_.pop_back();
  for (std::uint32_t rank = 0; rank < job.pods; ++rank) {
    apply(in::PodGone{.cluster = "c",
                      .pod = {.uid = {}, .job = job.id, .rank = rank, .attempt = 0},
                      .ended_at_ms = 0,
                      .cause = Cause::kFinished});
  }
}

void World::live() {
  now_ += kSecondMs;
  end_one();
  pass();
  in::CancelJob cancel;
  cancel.job = waiting();
  cancel.reason = "bench";
  apply(cancel);
  while (engine_.count(JobState::kQueued) < kQueued) submit_any();
}

JobId World::waiting() {
  for (;;) {
    const JobId id = submitted_[random_() % submitted_.size()];
    if (follower_.is_queued_below(id, "")) return id;
  }
}

// The mean of many calls, each about another job or page: alone in its second, and right after such
// a one; and what copying and writing out the same answers takes.
struct Cost {
  double alone_us = 0, next_us = 0, copy_us = 0;
  double bytes = 0;
};

template <class Answer>
double copy_us(const Answer& answer) {
  const bench::Stopwatch watch;
  const Answer copy = answer;
  bench::keep(copy.SerializeAsString());
  return watch.ns() / 1000;
}

// `choose()` says what is asked for, outside the time that counts; `call(chosen, out)` answers.
template <class Answer, class Choose, class Call>
Cost cost_of(World& world, Pictured& order, Choose choose, Call call) {
  Cost sum;
  const auto timed_us = [&](Answer& out) {
    const auto chosen = choose();
    const bench::Stopwatch watch;
    call(chosen, out);
    sum.bytes += static_cast<double>(out.SerializeAsString().size());
    return watch.ns() / 1000;
  };
  int calls = 0;
  while (calls < kMostCalls && (calls < kLeastCalls || sum.alone_us < kEnoughUs)) {
    world.live();
    order.make();
    Answer alone, next;
    sum.alone_us += timed_us(alone);
    sum.next_us += timed_us(next);
    sum.copy_us += copy_us(alone);
    ++calls;
  }
  return {sum.alone_us / calls, sum.next_us / calls, sum.copy_us / calls, sum.bytes / calls / 2};
}

void say(const char* what, const Cost& cost) {
  std::fprintf(stderr, "%s: alone %.0f us, right after another %.0f us; answer %.0f bytes\n", what,
               cost.alone_us, cost.next_us, cost.bytes);
}

void print(const char* name, const Cost& cost) {
  say(name, cost);
  bench::row(name, cost.alone_us, "us", cost.copy_us, bench::Better::kLess,
             "copying the finished answer and writing it out");
}

// As the follower has one: of the longest queues only the first have a start in it.
ForecastStarts forecast_of(const Engine& engine) {
  return {std::make_shared<const Forecast>(make_forecast(engine.forecast_basis(engine.now()))), {}};
}

void why(World& world) {
  const Engine& engine = world.readers();
  Pictured order(engine);
  const ForecastStarts starts = forecast_of(engine);
  const auto answer = [&](JobId id, v1::Explanation& out) {
    api::put(*engine.explain(id, engine.now(), order.snapshot.position(id)), engine, starts,
             engine.now(), &out);
  };
  print("why_us", cost_of<v1::Explanation>(
                      world, order, [&] { return world.waiting(); }, answer));
  order.print();
}

// Pages from anywhere in the queue, as somebody comes to them who turns page after page: the token
// names the position and the job that the page before ended with.
void queue_page(World& world) {
  const Engine& engine = world.readers();
  Pictured order(engine);
  const ForecastStarts starts = forecast_of(engine);
  std::mt19937_64 random(9);
  const v1::ListQueueRequest request;
  const auto answer = [&](const std::string& token, v1::ListQueueResponse& out) {
    api::Check check;
    const api::QueuePage page = api::read_queue_page(check, kPage, token);
    api::list_queue(engine, order.snapshot, starts, engine.now(), request, page, &out);
    if (check.ok() && out.rows_size() == kPage) return;
    std::fprintf(stderr, "a page of %d rows: the benchmark measures something else\n",
                 out.rows_size());
    std::exit(1);
  };
  const auto anywhere = [&] {
    const std::size_t position = 1 + random() % (kQueued - 2 * kPage);
    const JobId last = order.snapshot.order()[position - 1];
    return std::to_string(position) + "." + api::text_of(last);
  };
  using Answer = v1::ListQueueResponse;
  say("first page", cost_of<Answer>(
                        world, order, [] { return std::string(); }, answer));
  print("queue_page_us", cost_of<Answer>(world, order, anywhere, answer));
}

}  // namespace
}  // namespace subak

int main() {
  subak::World world;
  std::fprintf(stderr, "reads: %zu jobs wait, %zu run\n",
               world.readers().count(subak::JobState::kQueued),
               world.readers().count(subak::JobState::kRunning));
  subak::why(world);
  subak::queue_page(world);
}
