#include "server/config/policy_keys.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/decimal.h"
#include "core/duration.h"
#include "core/must.h"
#include "server/config/settings.h"

namespace subak {
namespace {

struct Key {
  std::string_view key;
  std::string (*text)(const Policy&);
  bool (*configured)(const Config&);
};

template <auto Value>
std::string duration(const Policy& p) {
  return format_duration(p.*Value);
}
template <auto Value>
std::string number(const Policy& p) {
  return std::to_string(p.*Value);
}
template <auto Value>
bool set_in(const Config& c) {
  return (c.*Value).has_value();
}

std::string half_life(const Policy& p) {
  return p.half_life_ms == 0 ? "infinite" : format_duration(p.half_life_ms);
}
std::string cpu(const Policy& p) {
  const std::int64_t milli = p.gpu_headroom.cpu_milli;
  return milli == 0 ? "0" : std::to_string(milli) + "m";
}
std::string gain(const Policy& p) {
  return format_milligpu(std::llround(target_share_rule(p).gain * 1000));
}
std::string lowest(const Policy& p) {
  return format_milligpu(std::llround(target_share_rule(p).lo * 1000));
}
std::string order(const Policy& p) { return std::string(enum_name(p.order)); }
std::string memory(const Policy& p) { return std::to_string(p.gpu_headroom.memory_bytes); }
std::string reclaim(const Policy& p) { return p.reclaim ? "on" : "off"; }
std::string refund(const Policy& p) { return format_duration(p.books.refund_lost_work_ms); }
std::string whole(const Policy& p) { return std::to_string(p.gangs.keep_whole); }
std::string cliques(const Policy& p) { return std::to_string(p.gangs.clique_gangs); }
std::string ready(const Policy& p) { return format_duration(p.gangs.ready_within_ms); }
std::string zone(const Policy& p) {
  return p.books.budget_zone.empty() ? "UTC" : p.books.budget_zone;
}
std::string month_days(const Policy& p) { return std::to_string(p.books.months.days()); }
std::string reserve_jobs(const Policy& p) { return std::to_string(p.queue.reserve_jobs); }
std::string park_after(const Policy& p) { return std::to_string(p.queue.park_after); }
std::string enforce(const Policy& p) { return p.enforce_time_limits ? "true" : "false"; }

constexpr Key kKeys[] = {
    {"order", order, set_in<&Config::order>},
    {"halfLife", half_life, set_in<&Config::half_life_ms>},
    {"targetShareGain", gain,
     [](const Config& c) { return c.target_share.gain_milli.has_value(); }},
    {"targetShareFloor", lowest,
     [](const Config& c) { return c.target_share.floor_milli.has_value(); }},
    {"hold", duration<&Policy::hold_ms>, set_in<&Config::hold_ms>},
    {"patience", duration<&Policy::patience_ms>, set_in<&Config::patience_ms>},
    {"reserveJobs", reserve_jobs, [](const Config& c) { return c.queue.reserve_jobs.has_value(); }},
    {"parkAfter", park_after, [](const Config& c) { return c.queue.park_after.has_value(); }},
    {"reclaim", reclaim, set_in<&Config::reclaim>},
    {"reclaimMinRun", duration<&Policy::reclaim_min_run_ms>, set_in<&Config::reclaim_min_run_ms>},
    {"reclaimMaxGrace", duration<&Policy::reclaim_max_grace_ms>,
     set_in<&Config::reclaim_max_grace_ms>},
    {"refundLostWork", refund,
     [](const Config& c) { return c.books.refund_lost_work_ms.has_value(); }},
    {"budgetZone", zone, [](const Config& c) { return c.books.budget_zone.has_value(); }},
    {"monthOpenDays", month_days,
     [](const Config& c) { return c.books.month_open_days.has_value(); }},
    {"keepWhole", whole, [](const Config& c) { return c.gangs.keep_whole.has_value(); }},
    {"cliqueGangs", cliques, [](const Config& c) { return c.gangs.clique_gangs.has_value(); }},
    {"readyWithin", ready, [](const Config& c) { return c.gangs.ready_within_ms.has_value(); }},
    {"cpuPerGpu", cpu, [](const Config& c) { return c.headroom.cpu_milli.has_value(); }},
    {"memoryPerGpu", memory, [](const Config& c) { return c.headroom.memory_bytes.has_value(); }},
    {"enforceTimeLimits", enforce, set_in<&Config::enforce_time_limits>},
    {"timeLimitGrace", duration<&Policy::time_limit_grace_ms>,
     set_in<&Config::time_limit_grace_ms>},
    {"defaultTimeLimit", duration<&Policy::default_time_limit_ms>,
     set_in<&Config::default_time_limit_ms>},
};

const Key* find_key(std::string_view name) {
  const auto it = std::find_if(std::begin(kKeys), std::end(kKeys),
                               [&](const Key& key) { return key.key == name; });
  return it == std::end(kKeys) ? nullptr : &*it;
}

const Setting& setting_of(const Key& key) {
  const auto all = settings();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Setting& s) { return s.key == key.key; });
  must(it != all.end(), "every policy key must have a setting");
  return *it;
}

std::string all_keys() {
  std::string names;
  for (const Key& key : kKeys) names += (names.empty() ? "" : ", ") + std::string(key.key);
  return names;
}

}  // namespace

std::vector<PolicyValue> policy_values(const Config& config, const Policy& policy) {
  std::vector<PolicyValue> out;
  for (const Key& key : kKeys) {
    const Setting& setting = setting_of(key);
    out.push_back({std::string(key.key), key.text(policy), std::string(setting.help),
                   std::string(setting.value), key.configured(config)});
  }
  return out;
}

Result<Policy> policy_with(const Config& config, const Policy& policy,
                           const std::vector<std::pair<std::string, std::string>>& changes) {
  Config changed;
  std::set<std::string_view> named;
  for (const auto& [name, value] : changes) {
    const Key* const key = find_key(name);
    if (key == nullptr)
      return Error{ErrorCode::kNotFound, name, value, "want one of " + all_keys()};
    if (!named.insert(key->key).second) {
      return Error{ErrorCode::kInvalid, name, value, "want each key once"};
    }
    if (key->configured(config)) {
      return Error{ErrorCode::kPrecondition, name, value,
                   "the configuration of the service sets this key; change it there, or remove it "
                   "there first"};
    }
    if (auto error = config::set(setting_of(*key), changed, value)) {
      error->field = name;
      return *std::move(error);
    }
  }
  Policy out = changed.policy_over(policy);
  out.system_namespaces = policy.system_namespaces;
  out.priority_classes = policy.priority_classes;
  out.queue.node_pools = policy.queue.node_pools;
  return out;
}

}  // namespace subak
