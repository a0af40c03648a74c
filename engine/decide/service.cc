// Decisions about the service itself: policy, fact version, clock, restarts, refused calls.
#include <map>
#include <set>

#include "core/duration.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "model/fact.h"
#include "model/policy.h"

namespace subak::decide {

namespace {

std::optional<Error> check_classes(const Decision& d, const Policy& policy) {
  std::map<std::string_view, std::string> names;
  std::map<std::int32_t, std::string> priorities;
  for (std::size_t i = 0; i < policy.priority_classes.size(); ++i) {
    const PriorityClass& one = policy.priority_classes[i];
    const std::string path = "priority_classes[" + std::to_string(i) + "]";
    const auto refused = [&](const std::string& field, std::string got, std::string want) {
      return Error{ErrorCode::kInvalid, path + field, std::move(got), std::move(want)};
    };
    if (!is_class_name(one.name)) {
      return refused(".name", one.name,
                     "want a name of a-z, 0-9 and -, with a letter first, of at most 63 bytes");
    }
    const auto [name, is_new_name] = names.emplace(one.name, path);
    if (!is_new_name) return refused(".name", one.name, "want another one than " + name->second);
    const auto [value, is_new] = priorities.emplace(one.priority, path);
    if (!is_new) {
      return refused(".priority", std::to_string(one.priority),
                     "want another one than " + value->second);
    }
    for (const std::string& account : one.accounts) {
      const AccountId known = d.s.tree().find(account);
      if (!known || known == kRootAccount || d.s.tree().node(known).spec.user)
        return refused(".accounts", account, "want an account that exists");
    }
  }
  return std::nullopt;
}

// A pool may name a cluster that does not exist yet: the pool then has no nodes.
std::optional<Error> check_pools(const Policy& policy) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < policy.queue.node_pools.size(); ++i) {
    const NodePool& pool = policy.queue.node_pools[i];
    auto error = check_pool(pool);
    if (!error && !names.insert(pool.name).second)
      error = {ErrorCode::kInvalid, "name", pool.name, "want each pool once"};
    if (!error) continue;
    error->field = "node_pools[" + std::to_string(i) + "]." + error->field;
    return error;
  }
  return std::nullopt;
}

}  // namespace

void decide(Decision& d, const in::SetPolicy& i) {
  const Policy& p = i.policy;
  auto bad = [&](const char* field, DurationMs got, const char* want) {
    d.refuse({ErrorCode::kInvalid, field, std::to_string(got) + "ms", want}, "policy");
  };
  if (i.edit.expects && !(i.edit.expected == d.s.policy())) {
    return d.refuse(
        {ErrorCode::kConflict, "policy", "", "the policy was changed meanwhile; read it again"},
        "policy");
  }
  if (p == d.s.policy()) return;
  if (p.half_life_ms < 0 || (p.half_life_ms > 0 && p.half_life_ms < kMinuteMs)) {
    return bad("half_life", p.half_life_ms, "want at least 1m, or 0 for no decay");
  }
  if (p.hold_ms < kSecondMs) return bad("hold", p.hold_ms, "want at least 1s");
  if (p.patience_ms < 0) return bad("patience", p.patience_ms, "want >= 0; 0 = never");
  if (p.queue.reserve_jobs > limits::kMaxReserveJobs) {
    return d.refuse({ErrorCode::kInvalid, "reserve_jobs", std::to_string(p.queue.reserve_jobs),
                     "want at most " + std::to_string(limits::kMaxReserveJobs) + "; 0 = none"},
                    "policy");
  }
  if (p.queue.park_after > limits::kMaxParkAfter) {
    return d.refuse(
        {ErrorCode::kInvalid, "park_after", std::to_string(p.queue.park_after),
         "want at most " + std::to_string(limits::kMaxParkAfter) + "; 0 = each owner is parked"},
        "policy");
  }
  if (p.time_limit_grace_ms < 0) return bad("time_limit_grace", p.time_limit_grace_ms, "want >= 0");
  if (p.default_time_limit_ms < 0) {
    return bad("default_time_limit", p.default_time_limit_ms, "want >= 0; 0 = never");
  }
  if (!is_zone_name(p.books.budget_zone)) {
    return d.refuse({ErrorCode::kInvalid, "budget_zone", p.books.budget_zone,
                     "want the IANA name of a time zone, such as Europe/Berlin"},
                    "policy");
  }
  if (p.books.months.open_days > kMostMonthOpenDays) {
    return d.refuse(
        {ErrorCode::kInvalid, "month_open_days", std::to_string(p.books.months.open_days),
         "want 1 to " + std::to_string(kMostMonthOpenDays) + " days"},
        "policy");
  }
  if (auto error = check_classes(d, p)) return d.refuse(*error, "policy");
  if (auto error = check_pools(p)) return d.refuse(*error, "policy");
  if (p.tick.ms < kSecondMs) return bad("tick", p.tick.ms, "want at least 1s");
  const Policy next = policy_of_edit(d, p);
  if (next == d.s.policy()) return;
  if (next.fair_share.change.seq != 0 && p.order == OrderPolicy::kUsageTick) {
    return d.refuse({ErrorCode::kPrecondition, "half_life", std::to_string(p.half_life_ms) + "ms",
                     "with the order usage-tick it cannot change once there is usage (" +
                         std::to_string(d.s.policy().half_life_ms) + "ms is in force)"},
                    "policy");
  }
  if (p.order == OrderPolicy::kUsageTick && d.s.tree().node(kRootAccount).alloc() != 0) {
    return d.refuse({ErrorCode::kPrecondition, "order", "usage-tick",
                     "this baseline counts from an empty fleet: set it before anything runs"},
                    "policy");
  }
  if (i.edit.validate_only) return;
  const bool moves_ends = p.default_time_limit_ms != d.s.policy().default_time_limit_ms ||
                          p.time_limit_grace_ms != d.s.policy().time_limit_grace_ms;
  d.emit(fact::PolicySet{next, d.stamp(i.edit.reason)});
  must(d.s.policy() == next, "the policy is as the edit says");
  if (moves_ends) keep_within_budgets(d);
}

void decide(Decision& d, const in::Finalize& i) {
  if (i.version < d.s.fact_version() || i.version > known_fact_version()) {
    return d.refuse(
        {ErrorCode::kInvalid, "version", std::to_string(i.version),
         "want " + std::to_string(d.s.fact_version()) + " (in force) to " +
             std::to_string(known_fact_version()) + " (the newest that this program knows)"},
        "store");
  }
  d.out.reply.revision = i.version;
  if (i.version == d.s.fact_version() || i.validate_only) return;
  d.emit(fact::Finalized{i.version, d.stamp(i.reason)});
  must(d.s.fact_version() == i.version, "the fact version is as the edit says");
}

void decide(Decision& d, const in::AcceptClock& i) {
  constexpr char kSubject[] = "clock";
  if (i.believed) {
    return d.refuse({ErrorCode::kPrecondition, "clock", format_time(i.wall_ms),
                     "it is believed: there is nothing to accept"},
                    kSubject);
  }
  d.out.reply.revision = i.wall_ms;
  if (i.validate_only) return;
  d.emit(fact::ClockAccepted{d.s.now(), i.wall_ms, d.stamp(i.reason)});
  must(d.s.now() >= i.wall_ms, "time is at least what was accepted");
}

void decide(Decision& d, const in::CallDenied& i) {
  d.emit(fact::EditRefused{std::string(i.kName), i.subject, i.message, d.stamp("")});
}

// Edges must list watched clusters again. Imported clusters stay as they are. But the events since
// the last fact are not known, so the deadlines of holds stood still since then.
void decide(Decision& d, const in::Restarted& /*i*/) {
  const TimeMs since = d.before_ms;
  note_leap(d);
  std::set<ClusterId> holding;
  for (const auto& [until, job] : d.s.jobs().times().deadlines()) holding.insert(job.cluster());
  for (const auto& [id, cluster] : std::map(d.s.clusters().all())) {
    if (!cluster.synced || (cluster.owned && !holding.contains(id))) continue;
    d.emit(fact::ClusterSynced{id, false, cluster.owned, cluster.session, since});
    if (cluster.owned) d.emit(fact::ClusterSynced{id, true, true, cluster.session, 0});
    must(d.s.clusters().at(id).synced == cluster.owned, "a watched cluster lists again");
  }
  for (const auto& [id, cluster] : d.s.clusters().all()) d.tell(note::NewsForgotten{id});
  begin_half_life_again(d);
  d.set_pass_due(true);
}

}  // namespace subak::decide
