// Calls as they come over gRPC, through the converters into an engine. One call a line, as
// `CreateAccountRequest account { path: "ml" } reason: "new"`, or `wait 60000` (ms), or `pass`, or
// `reclaim 5000`, which sets a policy that reclaims GPUs after a minimum run of 5000 ms;
// what is not a call is skipped; expand.h makes calls large. Inputs that begin with a byte below 32
// are the wire form of one message of that number. After every call all invariants hold, and at the
// end the stored facts alone, and the checkpoint alone, rebuild the same state.

#include <array>
#include <charconv>
#include <memory>
#include <set>

#include "server/api/convert/plan_read.h"
#include "tests/fuzz/common/expand.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/fuzz_calls.h"
#include "tests/fuzz/common/stored_engine.h"
#include "tests/fuzz/common/text_message.h"

namespace subak::fuzz {
namespace {

constexpr std::size_t kMaxCalls = 60;
constexpr std::size_t kMostExpanded = 32u << 20;  // in all calls of one input
constexpr TimeMs kStart = 1'700'000'000'000;

class World {
 public:
  void call(std::string_view name, std::string_view text) {
    if (name == "pass") return pass();
    if (name == "wait") return wait(text);
    if (name == "reclaim") return reclaim(text);
    const auto message = new_message(name);
    if (message == nullptr) return;
    if (read_text_message(expander_.expand(text), message.get())) take(*message);
  }
  void wire(std::size_t number, std::string_view bytes) {
    const auto message = new_message(number);
    if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) take(*message);
  }
  void finish() {
    pass();
    read_everything();
    apply(in::CancelJob{JobId(ClusterId(9), 9), "last"}, "");  // refused: a fact of this instant
    stored_engine_.check_reopened();
  }

 private:
  void take(const google::protobuf::Message& message) {
    api::Check check;
    if (const auto* list = dynamic_cast<const v1::ListClaimsRequest*>(&message)) {
      const std::string account = check.name("account", list->account(), false);
      return check.ok() ? list_claims(account) : check_error(check.error());
    }
    std::optional<Call> call = read_call(check, message, engine_);
    if (!check.ok()) return check_error(check.error());
    if (call) apply(std::move(call->body), call->request_id);
  }

  void pass() {
    for (int i = 0; i < 4 && engine_.pass_due(); ++i) apply(in::Pass{}, "");
  }
  static std::uint32_t number_of(std::string_view text) {
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  void reclaim(std::string_view text) {
    in::SetPolicy body;
    body.policy.reclaim = true;
    body.policy.reclaim_min_run_ms = number_of(text);
    apply(std::move(body), "");
  }
  void wait(std::string_view text) {
    now_ += number_of(text);
    for (int i = 0; i < 100; ++i) {
      const auto deadline = engine_.next_deadline();
      if (!deadline || *deadline > now_) break;
      apply(in::Tick{}, "");
    }
    pass();
  }

  void apply(in::Body body, const std::string& request_id) {
    const ApplyOutcome outcome = stored_engine_.apply({now_, request_id, "fuzz", std::move(body)});
    for (const Effect& effect : outcome.effects) {
      v1::Effect message;
      api::put(effect, engine_.cluster_name(effect.cluster), engine_.now(), &message);
      assert(message.pods_size() == static_cast<int>(effect.pods.size()));
    }
    engine_.check_invariants();
    assert(residual_of(engine_.bill(now_)).is_zero());
  }

  // What ListClaims answers: each claim of a job that waits, for the GPUs that it asks for.
  void list_claims(const std::string& account) {
    for (const ClaimRow& row : engine_.claims(account)) {
      v1::Claim claim;
      api::put(row, &claim);
      const auto job = engine_.job(row.job, false);
      assert(job && job->state == JobState::kQueued && claim.amounts_size() > 0);
      assert(claim.victim_count() >= claim.victims_size() && claim.victims_size() > 0);
    }
  }

  void read_everything() {
    list_claims("");
    std::set<JobId> waiting;
    for (const JobRow& row : engine_.queue(1000)) waiting.insert(row.id);
    const ForecastStarts starts{
        std::make_shared<const Forecast>(make_forecast(engine_.forecast_basis(now_))), {}};
    for (const JobRow& row : engine_.jobs(JobId(), 1000, std::nullopt, "")) {
      v1::Job job;
      api::put(row, engine_, &job);
      const auto why = engine_.explain(row.id, now_);
      assert(why);
      v1::Explanation message;
      api::put(*why, engine_, starts, now_, &message);
      const bool queued = row.state == JobState::kQueued;
      assert((why->position > 0) == (waiting.count(row.id) == 1));  // not below a held account
      assert(queued ? !why->reasons.empty() : why->position == 0);
    }
    read_plan(starts);
    for (const AccountRow& row : engine_.account_rows(now_)) {
      v1::ShareRow message;
      api::put(row, 1, &message);
    }
    const std::shared_ptr<const View> view = engine_.view();
    for (const ClusterView& cluster : *view->clusters) {
      for (const NodeId id : engine_.fleet().nodes(cluster.id)) {
        v1::Node node;
        api::put_node(engine_, id, &node);
        api::Check check;
        const NodeSpec again = api::get(check, node.spec());
        NodeSpec known = *engine_.fleet().node(id);
        known.clique_lost_ms = known.gpus_unknown_ms = 0;  // the engine sets it, and no call has it
        known.former_gpus = false;
        assert(check.ok() && again == known);
      }
    }
  }

  void read_plan(const ForecastStarts& starts) {
    api::Check check;
    const v1::GetPlanRequest request;
    v1::Plan plan;
    const auto error =
        api::put_plan(engine_, starts, now_, request, api::read_plan_asked(check, request), &plan);
    assert(check.ok() && !error);
    for (const v1::PlanRow& row : plan.rows()) {
      for (int i = 0; i < row.free_milligpu_size(); ++i) {
        std::int64_t sum = row.free_milligpu(i) + row.closed_milligpu(i);
        for (const v1::PlanLane& lane : row.lanes()) sum += lane.milligpu(i);
        assert(sum == row.installed_milligpu() && row.free_milligpu(i) >= 0);
      }
    }
  }

  StoredEngine stored_engine_;
  Engine& engine_ = stored_engine_.engine;
  TimeMs now_ = kStart;
  Expander expander_{kMostExpanded};
};

}  // namespace
}  // namespace subak::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak::fuzz;
  World world;
  std::string_view text = text_of(data, size);
  if (size > 0 && data[0] < kMessages && data[0] != '\n') {
    world.wire(data[0], text.substr(1));
    text = {};
  }
  for (std::size_t calls = 0; !text.empty() && calls < kMaxCalls; ++calls) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view name = line.substr(0, line.find(' '));
    world.call(name, line.substr(std::min(line.size(), name.size() + 1)));
  }
  world.finish();
  return 0;
}
