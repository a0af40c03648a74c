#include "tests/integration/service_port.h"

#include <gtest/gtest.h>

#include <future>
#include <utility>
#include <variant>

#include "core/text.h"
#include "server/api/convert/convert.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {
namespace {

constexpr std::size_t kFactsOfPage = 1000;

void name(const PodRef& ref, v1::PodRef& out) {
  out.set_job_id(text::job_id_text(ref.job));
  out.set_rank(static_cast<std::int32_t>(ref.rank));
}

// Returns the report of a pod event; nullopt: the input is another one.
std::optional<v1::ObserveRequest> report_of(const in::Body& body) {
  v1::ObserveRequest out;
  if (const auto* const bound = std::get_if<in::PodBound>(&body)) {
    name(bound->pod, *out.mutable_pod_bound()->mutable_pod());
    out.mutable_pod_bound()->set_node(bound->node);
  } else if (const auto* const running = std::get_if<in::PodRunning>(&body)) {
    name(running->pod, *out.mutable_pod_running()->mutable_pod());
  } else if (const auto* const gone = std::get_if<in::PodGone>(&body)) {
    name(gone->pod, *out.mutable_pod_gone()->mutable_pod());
    out.mutable_pod_gone()->set_cause(v1::CAUSE_FINISHED);
  } else {
    return std::nullopt;
  }
  return out;
}

Effect read_effect(const v1::Effect& in) {
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

}  // namespace

EdgeStreams::EdgeStreams(v1::ClusterService::Stub& clusters) {
  observe_ = clusters.Observe(&observe_context_);
  v1::EffectsRequest request;
  request.set_cluster(sim::kClusterName);
  effects_ = clusters.Effects(&effects_context_, request);
}

EdgeStreams::~EdgeStreams() {
  observe_->WritesDone();
  observe_context_.TryCancel();
  effects_context_.TryCancel();
  observe_->Finish();
  effects_->Finish();
}

void EdgeStreams::write(v1::ObserveRequest request) {
  request.set_sequence(++sent_);
  request.set_cluster(sim::kClusterName);
  EXPECT_TRUE(observe_->Write(request));
}

void EdgeStreams::await_acknowledgement() {
  while (acknowledged_ < sent_) {
    v1::ObserveResponse response;
    ASSERT_TRUE(observe_->Read(&response));
    acknowledged_ = response.acknowledged_sequence();
    for (const auto& error : response.errors()) ADD_FAILURE() << error.status().message();
  }
}

std::vector<Effect> EdgeStreams::read(std::size_t count) {
  std::vector<Effect> effects;
  v1::EffectsResponse response;
  while (effects.size() < count && effects_->Read(&response)) {
    effects.push_back(read_effect(response.effect()));
  }
  EXPECT_EQ(effects.size(), count);
  return effects;
}

void Durable::add(const std::vector<Fact>& facts) {
  const MutexLock lock(mutex_);
  for (const Fact& fact : facts) {
    facts_.push_back(fact_to_text(fact));
    mirror_.evolve(fact);
    started_ += std::holds_alternative<fact::AttemptStarted>(fact.body) ? 1 : 0;
  }
}

std::vector<std::string> Durable::facts() const {
  const MutexLock lock(mutex_);
  return facts_;
}

std::optional<TimeMs> Durable::next_deadline() const {
  const MutexLock lock(mutex_);
  return mirror_.next_deadline();
}

std::size_t Durable::take_started() {
  const MutexLock lock(mutex_);
  return std::exchange(started_, 0);
}

ServicePort::ServicePort(const std::string& file) {
  auto store = open_sqlite_store({file});
  EXPECT_TRUE(store.ok());
  store_ = std::move(*store);
  follower_ = std::make_unique<Follower>(FollowerOptions{}, *store_);
  RuntimeOptions options;
  options.auto_pass = false;
  options.on_durable = [this](const Released& batch) {
    follower_->durable(batch);
    api_->on_durable(batch);
    durable_.add(*batch.facts);
  };
  runtime_ = std::make_unique<Runtime>(std::move(options), *store_, clock_);
}

ServicePort::~ServicePort() {
  edge_.reset();
  api_->shutdown(5000);
  runtime_->stop();
  follower_->stop();
}

void ServicePort::start(TimeMs t) {
  clock_.set(t);
  api_ = std::make_unique<ApiServer>(ApiOptions{}, ApiDeps{*runtime_, *follower_, *store_, clock_});
  ASSERT_FALSE(follower_->start());
  ASSERT_TRUE(runtime_->start().ok());
  ASSERT_FALSE(api_->start());
  channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(api_->port()),
                                 grpc::InsecureChannelCredentials());
  jobs_ = v1::JobService::NewStub(channel_);
  clusters_ = v1::ClusterService::NewStub(channel_);
}

void ServicePort::connect_edge() { edge_ = std::make_unique<EdgeStreams>(*clusters_); }

Reply ServicePort::send(TimeMs t, in::Body body) {
  turn_clock(t);
  if (const auto* const job = std::get_if<in::SubmitJob>(&body)) return submit(*job);
  if (auto report = report_of(body)) {
    edge_->write(*std::move(report));
    return {};
  }
  return post(std::move(body));
}

std::vector<Effect> ServicePort::pass(TimeMs t) {
  turn_clock(t);
  if (edge_) edge_->await_acknowledgement();
  post(in::Pass{});
  const std::size_t started = durable_.take_started();
  return edge_ ? edge_->read(started) : std::vector<Effect>();
}

void ServicePort::tick(TimeMs t) {
  turn_clock(t);
  post(in::Tick{});
}

std::vector<std::string> ServicePort::stored() {
  const auto reader = store_->open_reader();
  std::vector<std::string> out;
  std::uint64_t after = 0;
  while (true) {
    const auto page = (*reader)->facts(after, kFactsOfPage);
    EXPECT_TRUE(page.ok());
    if (!page.ok() || page->empty()) return out;
    for (const Fact& fact : *page) out.push_back(fact_to_text(fact));
    after = page->back().seq;
  }
}

// Nothing of the old time may be stamped with the new one.
void ServicePort::turn_clock(TimeMs t) {
  if (clock_.wall_ms() == t) return;
  if (edge_) edge_->await_acknowledgement();
  clock_.set(t);
}

Reply ServicePort::post(in::Body body) {
  Input input;
  input.body = std::move(body);
  std::promise<Reply> done;
  const bool accepted =
      runtime_->post(std::move(input), [&](const Reply& reply) { done.set_value(reply); });
  EXPECT_TRUE(accepted);
  return done.get_future().get();
}

Reply ServicePort::submit(const in::SubmitJob& job) {
  edge_->await_acknowledgement();
  grpc::ClientContext context;
  v1::CreateJobRequest request;
  v1::JobSpec& spec = *request.mutable_job();
  spec.set_cluster(job.cluster);
  spec.set_account(job.account);
  spec.set_user(job.user);
  spec.set_name(job.name);
  api::put(job.request, spec.mutable_request());
  if (job.time_limit_ms != 0) {
    spec.mutable_time_limit()->set_seconds(job.time_limit_ms / kSecondMs);
    spec.mutable_time_limit()->set_nanos(static_cast<int>(job.time_limit_ms % kSecondMs) *
                                         1'000'000);
  }
  v1::CreateJobResponse response;
  const grpc::Status status = jobs_->CreateJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  Reply reply;
  reply.job = text::parse_job_id(response.job_id()).value_or(JobId());
  return reply;
}

}  // namespace subak
