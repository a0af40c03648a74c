// The same jobs through the bare engine of the simulator and through the whole service (gRPC,
// runtime, SQLite, a clock that only the test sets): the facts are the same, byte for byte, and so
// are those that the store gives back.
//
// Input: the first 2,000 jobs from day 21 of the Philly trace (Jeon et al., ATC'19), read from
// $SUBAK_TRACES or ../shared/traces; without it a seeded workload with Philly's mix of sizes.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>

#include "core/text.h"
#include "server/api/api.h"
#include "server/api/convert/convert.h"
#include "server/runtime/follower.h"
#include "server/store/sqlite/sqlite_store.h"
#include "sim/driver.h"
#include "sim/read/workload.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "subak/v1/job_service.grpc.pb.h"
#include "tests/integration/philly.h"

namespace subak {
namespace {

constexpr std::size_t kJobs = 2000;
constexpr char kActor[] = "loopback";

class ManualClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return wall_; }
  std::int64_t monotonic_us() const override { return 0; }
  std::int64_t boot_ms() const override { return wall_; }
  void set(TimeMs t) { wall_ = t; }

 private:
  std::atomic<TimeMs> wall_{0};
};

// What is asked for in the driver's own process:
// the engine alone, with the actor that the API names.
class DirectPort final : public sim::Port {
 public:
  Reply send(TimeMs t, in::Body body) override { return apply(t, std::move(body)); }
  std::vector<Effect> pass(TimeMs t) override {
    apply(t, in::Pass{});
    return std::exchange(effects_, {});
  }
  void tick(TimeMs t) override { apply(t, in::Tick{}); }
  std::optional<TimeMs> next_deadline() const override { return engine_.next_deadline(); }
  const std::vector<std::string>& facts() const { return facts_; }

 private:
  Reply apply(TimeMs t, in::Body body) {
    Input input;
    input.time_ms = t;
    input.actor = std::holds_alternative<in::SubmitJob>(body) ? kActor : "";
    input.body = std::move(body);
    ApplyOutcome outcome = engine_.apply(input);
    for (const Fact& f : outcome.facts) facts_.push_back(fact_to_text(f));
    effects_.insert(effects_.end(), outcome.effects.begin(), outcome.effects.end());
    return outcome.reply;
  }
  Engine engine_;
  std::vector<Effect> effects_;
  std::vector<std::string> facts_;
};

// The service in this process, spoken to over its port. Set-up goes in by the runtime (its edits
// carry reasons of their own over the API); every job and pod event goes over gRPC.
class ServicePort final : public sim::Port {
 public:
  explicit ServicePort(const std::string& file) {
    auto store = open_sqlite_store({file});
    EXPECT_TRUE(store.ok());
    store_ = std::move(*store);
    follower_ = std::make_unique<Follower>(FollowerOptions{}, *store_);
    RuntimeOptions options;
    options.auto_pass = false;
    options.on_durable = [this](const Released& batch) {
      follower_->durable(batch);
      api_->on_durable(batch);
      const std::lock_guard lock(mutex_);
      for (const Fact& f : *batch.facts) {
        facts_.push_back(fact_to_text(f));
        mirror_.evolve(f);  // the driver needs the next deadline at once
        reserved_ += std::holds_alternative<fact::AttemptStarted>(f.body) ? 1 : 0;
      }
    };
    runtime_ = std::make_unique<Runtime>(std::move(options), *store_, clock_);
  }
  ~ServicePort() override {
    observe_->WritesDone();
    observe_context_.TryCancel();
    effects_context_.TryCancel();
    observe_->Finish();
    effects_->Finish();
    api_->shutdown(5000);
    runtime_->stop();
    follower_->stop();
  }
  // Starts at the time of the first input, then lets the edge connect once the cluster is there.
  void start(TimeMs t) {
    clock_.set(t);
    api_ =
        std::make_unique<ApiServer>(ApiOptions{}, ApiDeps{*runtime_, *follower_, *store_, clock_});
    ASSERT_FALSE(follower_->start());
    ASSERT_TRUE(runtime_->start().ok());
    ASSERT_FALSE(api_->start());
    channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(api_->port()),
                                   grpc::InsecureChannelCredentials());
    jobs_ = v1::JobService::NewStub(channel_);
    clusters_ = v1::ClusterService::NewStub(channel_);
  }
  void connect_edge() {
    observe_ = clusters_->Observe(&observe_context_);
    v1::EffectsRequest request;
    request.set_cluster(sim::kClusterName);
    effects_ = clusters_->Effects(&effects_context_, request);
  }

  Reply send(TimeMs t, in::Body body) override {
    turn_clock(t);
    if (const auto* job = std::get_if<in::SubmitJob>(&body)) return submit(*job);
    if (const auto* bound = std::get_if<in::PodBound>(&body)) return observe(*bound);
    if (const auto* running = std::get_if<in::PodRunning>(&body)) return observe(*running);
    if (const auto* gone = std::get_if<in::PodGone>(&body)) return observe(*gone);
    return post(std::move(body));
  }
  std::vector<Effect> pass(TimeMs t) override {
    turn_clock(t);
    await_acknowledgement();
    post(in::Pass{});
    std::size_t expected = 0;
    {
      const std::lock_guard lock(mutex_);
      expected = std::exchange(reserved_, 0);
    }
    std::vector<Effect> effects;
    while (effects.size() < expected) {
      v1::EffectsResponse response;
      if (!effects_->Read(&response)) break;
      effects.push_back(read_effect(response.effect()));
    }
    EXPECT_EQ(effects.size(), expected);
    return effects;
  }
  void tick(TimeMs t) override {
    turn_clock(t);
    post(in::Tick{});
  }
  std::optional<TimeMs> next_deadline() const override {
    const std::lock_guard lock(mutex_);
    return mirror_.next_deadline();
  }
  std::vector<std::string> facts() const {
    const std::lock_guard lock(mutex_);
    return facts_;
  }
  // What the store has, read back.
  std::vector<std::string> stored() {
    auto reader = store_->open_reader();
    std::vector<std::string> out;
    std::uint64_t after = 0;
    while (true) {
      auto page = (*reader)->facts(after, 1000);
      EXPECT_TRUE(page.ok());
      if (!page.ok() || page->empty()) return out;
      for (const Fact& f : *page) out.push_back(fact_to_text(f));
      after = page->back().seq;
    }
  }

 private:
  void turn_clock(TimeMs t) {
    if (clock_.wall_ms() == t) return;
    await_acknowledgement();  // nothing of the old time may be stamped with the new one
    clock_.set(t);
  }
  Reply post(in::Body body) {
    Input input;
    input.body = std::move(body);
    std::promise<Reply> done;
    const bool accepted =
        runtime_->post(std::move(input), [&](const Reply& r) { done.set_value(r); });
    EXPECT_TRUE(accepted);
    return done.get_future().get();
  }
  Reply submit(const in::SubmitJob& job) {
    await_acknowledgement();
    grpc::ClientContext context;
    v1::CreateJobRequest request;
    auto* spec = request.mutable_job();
    spec->set_cluster(job.cluster);
    spec->set_account(job.account);
    spec->set_user(job.user);
    spec->set_name(job.name);
    api::put(job.request, spec->mutable_request());
    if (job.time_limit_ms != 0) {
      spec->mutable_time_limit()->set_seconds(job.time_limit_ms / kSecondMs);
      spec->mutable_time_limit()->set_nanos(static_cast<int>(job.time_limit_ms % kSecondMs) *
                                            1'000'000);
    }
    v1::CreateJobResponse response;
    const grpc::Status status = jobs_->CreateJob(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    Reply reply;
    reply.job = text::parse_job_id(response.job_id()).value_or(JobId());
    return reply;
  }
  static void name(const PodRef& ref, v1::PodRef& out) {
    out.set_job_id(text::job_id_text(ref.job));
    out.set_rank(static_cast<std::int32_t>(ref.rank));
  }
  Reply observe(const in::PodBound& e) {
    v1::ObserveRequest request;
    name(e.pod, *request.mutable_pod_bound()->mutable_pod());
    request.mutable_pod_bound()->set_node(e.node);
    return write(std::move(request));
  }
  Reply observe(const in::PodRunning& e) {
    v1::ObserveRequest request;
    name(e.pod, *request.mutable_pod_running()->mutable_pod());
    return write(std::move(request));
  }
  Reply observe(const in::PodGone& e) {
    v1::ObserveRequest request;
    name(e.pod, *request.mutable_pod_gone()->mutable_pod());
    request.mutable_pod_gone()->set_cause(v1::CAUSE_FINISHED);
    return write(std::move(request));
  }
  Reply write(v1::ObserveRequest request) {
    request.set_sequence(++sent_);
    request.set_cluster(sim::kClusterName);
    EXPECT_TRUE(observe_->Write(request));
    return {};
  }
  void await_acknowledgement() {
    while (acknowledged_ < sent_) {
      v1::ObserveResponse response;
      ASSERT_TRUE(observe_->Read(&response));
      acknowledged_ = response.acknowledged_sequence();
      for (const auto& error : response.errors()) ADD_FAILURE() << error.status().message();
    }
  }
  static Effect read_effect(const v1::Effect& in) {
    Effect effect;
    effect.kind = in.kind() == v1::EFFECT_KIND_EVICT ? EffectKind::kEvict : EffectKind::kOpenGate;
    effect.job = text::parse_job_id(in.job_id()).value_or(JobId());
    for (const v1::EffectPod& pod : in.pods()) {
      EffectPod& out = effect.pods.emplace_back();
      out.rank = static_cast<std::uint32_t>(pod.rank());
      out.node = pod.node();
    }
    return effect;
  }

  ManualClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<ApiServer> api_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::ClusterService::Stub> clusters_;
  grpc::ClientContext observe_context_, effects_context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>> observe_;
  std::unique_ptr<grpc::ClientReader<v1::EffectsResponse>> effects_;
  std::uint64_t sent_ = 0, acknowledged_ = 0;
  mutable std::mutex mutex_;
  Engine mirror_;
  std::vector<std::string> facts_;
  std::size_t reserved_ = 0;
};

class Nobody final : public sim::Observer {
  void submitted(std::uint32_t, JobId, TimeMs) override {}
  void started(std::uint32_t, TimeMs, const std::vector<EffectPod>&) override {}
  void ended(std::uint32_t, TimeMs) override {}
};

sim::Workload workload() {
  std::vector<sim::TraceJob> trace;
  std::string nodes = "8x8";
  if (std::filesystem::exists(philly_path())) {
    auto read = sim::read_trace(philly_path());
    EXPECT_TRUE(read.ok());
    for (sim::TraceJob& job : *read) {
      if (job.submit_ms < 21 * kDayMs || trace.size() == kJobs) continue;
      job.submit_ms -= 21 * kDayMs;
      trace.push_back(std::move(job));
    }
    nodes = "24x8";
  } else {
    trace = like_philly(kJobs);
  }
  auto fleet = sim::read_nodes(nodes);
  EXPECT_TRUE(fleet.ok());
  auto made = sim::make_workload(std::move(trace), std::move(*fleet), {});
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

TEST(TraceOverGrpc, TheServiceMakesTheSimulatorsFacts) {
  const sim::Workload jobs = workload();
  ASSERT_GE(jobs.jobs.size(), kJobs);
  Policy policy;
  policy.patience_ms = kHourMs;
  Nobody nobody;

  DirectPort direct;
  sim::Driver simulated(jobs, direct, nobody);
  ASSERT_FALSE(simulated.set_up(policy));
  simulated.run();

  const auto dir =
      std::filesystem::temp_directory_path() / ("subak_trace_" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  std::vector<std::string> served, stored;
  {
    ServicePort service((dir / "subak.db").string());
    service.start(jobs.from_ms);
    sim::Driver driver(jobs, service, nobody);
    ASSERT_FALSE(driver.set_up(policy));
    service.connect_edge();
    driver.run();
    EXPECT_EQ(driver.finished(), simulated.finished());
    served = service.facts();
    stored = service.stored();
  }
  std::filesystem::remove_all(dir);

  ASSERT_GT(direct.facts().size(), kJobs * 5);
  ASSERT_EQ(served.size(), direct.facts().size());
  for (std::size_t i = 0; i < served.size(); ++i)
    ASSERT_EQ(served[i], direct.facts()[i]) << "fact " << i;
  EXPECT_EQ(stored, served);
}

}  // namespace
}  // namespace subak
