#include "users.h"

#include <iterator>
#include <utility>

#include "cluster.h"

namespace subak::fault {
namespace {

constexpr const char* kAccounts[] = {"a", "a.x", "b"};
constexpr OrderPolicy kOrders[] = {OrderPolicy::kTargetShare, OrderPolicy::kTargetShare,
                                   OrderPolicy::kExact, OrderPolicy::kDrf, OrderPolicy::kFifo};

}  // namespace

Users::Users(sim::Rng& rng, const Faults& faults, Post post, Wrong wrong)
    : rng_(rng), faults_(faults), post_(std::move(post)), wrong_(std::move(wrong)) {}

std::vector<in::Body> Users::set_up(sim::Rng& rng, bool reclaims) {
  std::vector<in::Body> all;
  all.emplace_back(in::SetCluster{kCluster, Mode::kEnforce, {}, "test", false});
  Policy policy;
  policy.order = kOrders[rng.below(std::size(kOrders))];
  policy.hold_ms = rng.between(1, 10) * kMinuteMs;
  policy.patience_ms = rng.percent(50) ? 0 : 10 * kMinuteMs;
  policy.default_time_limit_ms = rng.percent(50) ? 0 : kHourMs;
  policy.reclaim = reclaims;
  if (reclaims) {
    policy.order = OrderPolicy::kTargetShare;
    policy.reclaim_min_run_ms = policy.hold_ms / kMinuteMs % 4 * 20 * kSecondMs;
  }
  all.emplace_back(in::SetPolicy{policy, {}});
  MilliGpu promised = 12'000;  // what an account below may have: what the one above it has
  for (const char* path : kAccounts) {
    in::SetAccount account;
    account.spec.path = path;
    account.spec.namespaces = {std::string("ns-") + path};
    account.reason = "test";
    const bool below = account.spec.path.find('.') != std::string::npos;
    const MilliGpu most = below ? promised : 12'000;
    if (rng.percent(50)) account.spec.quota = {{kAnyProduct, rng.between(1, most / 1000) * 1000}};
    // A third of the worlds have budgets.
    const bool budgets = policy.hold_ms / kMinuteMs % 3 == 0;
    if (budgets) account.spec.budgets = below ? "3h/30m,soft=1h/hour" : "9h/hour,40h/total";
    promised = below || account.spec.quota.empty() ? 12'000 : account.spec.quota[0].milligpu;
    all.emplace_back(std::move(account));
  }
  return all;
}

void Users::act() {
  if (!requests_.empty() && rng_.percent(30)) {
    Request& old =
        std::next(requests_.begin(), static_cast<std::ptrdiff_t>(rng_.below(requests_.size())))
            ->second;
    if (!old.answered || faults_.retries) ask(old);
    return;
  }
  const std::string id = "r" + std::to_string(++serial_);
  Request& request = requests_[id];
  request.input.request_id = id;
  request.input.body = choose();
  ask(request);
}

in::Body Users::choose() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 60) return submit();
  if (dice < 75) return in::CancelJob{some_job(), "enough"};
  if (dice < 85) return in::HoldJob{some_job(), rng_.percent(50), "wait"};
  return faults_.edits ? edit() : submit();
}

in::Body Users::submit() {
  in::SubmitJob job;
  job.cluster = kCluster;
  job.account = kAccounts[rng_.below(std::size(kAccounts))];
  if (rng_.percent(40)) job.user = "u" + std::to_string(rng_.below(2));
  job.name = "api";
  job.held = rng_.percent(5);
  if (rng_.percent(30)) job.time_limit_ms = rng_.between(1, 40) * kMinuteMs;
  PodGroup group;
  group.count = rng_.percent(60) ? 1 : static_cast<std::uint32_t>(rng_.between(2, 4));
  group.shape.kind = GpuKind::kWhole;
  group.shape.gpus = group.count == 1 && rng_.percent(20) ? 8 : rng_.between(1, 3);
  job.request.groups.push_back(group);
  if (group.count * group.shape.gpus <= 8 && rng_.percent(20))
    job.request.terms.topology = Topology::kNode;
  if (rng_.percent(5)) job.request.groups[0].shape.gpus = 100;  // refused
  return job;
}

in::Body Users::edit() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 20) return in::DrainNode{kCluster, "n" + std::to_string(rng_.below(6)), dice < 12, ""};
  if (dice < 30) {
    constexpr Mode kModes[] = {Mode::kEnforce, Mode::kObserve, Mode::kWarn};
    return in::SetCluster{kCluster, kModes[rng_.below(3)], {}, "test", false};
  }
  in::SetAccount account;
  account.spec.path = kAccounts[rng_.below(std::size(kAccounts))];
  account.spec.namespaces = {"ns-" + account.spec.path};
  account.spec.shares = rng_.between(0, 4);
  account.reason = "test";
  if (rng_.percent(40)) account.spec.quota = {{kAnyProduct, rng_.between(1, 12) * 1000}};
  if (rng_.percent(40)) account.spec.limit = {{kAnyProduct, rng_.between(4, 16) * 1000}};
  constexpr const char* kBudgets[] = {"2h/30m", "", "soft=1h/total", "9h/hour", ""};
  account.spec.budgets = kBudgets[serial_ % std::size(kBudgets)];
  account.spec.held = rng_.percent(10);
  if (rng_.percent(20)) account.spec.time_limits = TimeLimits::kEnforced;
  account.spec.draining = rng_.percent(5);
  return account;
}

JobId Users::some_job() {
  if (submitted_.empty()) return JobId(ClusterId(1), rng_.between(1, 20));
  if (rng_.percent(30)) return JobId(ClusterId(1), rng_.between(1, 60));  // perhaps pods'
  const auto at = static_cast<std::ptrdiff_t>(rng_.below(submitted_.size()));
  return std::next(submitted_.begin(), at)->second;
}

void Users::ask(Request& request) {
  const std::string id = request.input.request_id;
  request.asked = post_(request.input, [this, id](const Reply& r) { answered(id, r); });
}

// The same request gets the same answer, however often and whenever it is asked.
void Users::answered(const std::string& id, const Reply& reply) {
  const auto known = requests_.find(id);
  if (known == requests_.end()) return;  // refused already
  Request& request = known->second;
  request.asked = false;
  if (reply.error) {
    if (request.answered) wrong_("request " + id + " was done once and is refused now");
    requests_.erase(id);
    return;
  }
  if (request.answered) {
    const Reply& then = request.reply;
    if (!reply.repeated) wrong_("request " + id + " was done twice");
    if (reply.job != then.job || reply.account != then.account || reply.revision != then.revision) {
      wrong_("request " + id + " was answered in two ways");
    }
  }
  request.answered = true;
  request.reply = reply;
  if (std::holds_alternative<in::SubmitJob>(request.input.body)) submitted_[id] = reply.job;
  if (const auto* cancel = std::get_if<in::CancelJob>(&request.input.body)) {
    cancelled_[id] = cancel->job;
  }
}

void Users::crashed() {
  for (auto& [id, request] : requests_) request.asked = false;
}

bool Users::finish() {
  bool some = false;
  for (auto& [id, request] : requests_) {
    if (request.answered || request.asked) continue;
    ask(request);
    some = true;
  }
  return some;
}

}  // namespace subak::fault
