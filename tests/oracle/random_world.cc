#include "tests/oracle/random_world.h"

#include <algorithm>
#include <utility>

namespace subak::sim {
namespace {

constexpr std::size_t kNodes = 16;
constexpr TimeMs kStart = 1'767'300'000'000;
constexpr const char* kAccounts[] = {"ml",  "ml.vision", "ml.speech", "ml.speech.asr",
                                     "bio", "bio.rna",   "bio.cells", "chem"};
constexpr std::size_t kAccountCount = std::size(kAccounts);
constexpr const char* kClusters[] = {"bare", "watched"};
constexpr char kSpare[] = "spare";
// usage-tick is left out: it is a baseline of the simulator that must be set before anything runs.
constexpr OrderPolicy kOrders[] = {OrderPolicy::kTargetShare, OrderPolicy::kTargetShare,
                                   OrderPolicy::kExact, OrderPolicy::kDrf, OrderPolicy::kFifo};

// Joins edits of single accounts. An account that two of them name stays out.
in::Body joined(const std::vector<in::Body>& edits) {
  in::ApplyAccounts all;
  all.reason = "random";
  for (const in::Body& edit : edits) {
    in::AccountChange change;
    if (const auto* const set = std::get_if<in::SetAccount>(&edit)) {
      change.spec = set->spec;
    } else {
      change.spec.path = std::get<in::DeleteAccount>(edit).path;
      change.remove = true;
    }
    const bool known = std::any_of(
        all.changes.begin(), all.changes.end(),
        [&](const in::AccountChange& other) { return other.spec.path == change.spec.path; });
    if (!known) all.changes.push_back(std::move(change));
  }
  return all;
}

// The device plugin is away: nothing is allocatable, and maybe the kubelet names no GPUs either.
void lose_plugin(NodeSpec& spec, bool names_gpus) {
  spec.gpus_unknown = true;
  spec.unfit = "none of its GPUs is allocatable";
  if (names_gpus) return;
  spec.product.clear();
  spec.mig.clear();
  spec.gpus = spec.unhealthy_gpus = spec.replicas = spec.mig_gpus = 0;
}

// Limits besides GPUs, small enough that jobs meet them.
void add_limits(Rng& rng, AccountSpec& spec) {
  const auto number = [&rng](std::int64_t most) { return std::to_string(rng.between(0, most)); };
  std::string list;
  const auto add = [&](const std::string& item) { list += (list.empty() ? "" : ",") + item; };
  if (rng.percent(10)) add("gpu-minutes=" + number(2000));
  if (rng.percent(25)) add("jobs=" + number(4));
  if (rng.percent(20)) add("queued=" + number(4));
  if (rng.percent(10)) add(rng.percent(50) ? "time=30m" : "time=4h");
  spec.job_limits = std::exchange(list, "");
  if (spec.user || !rng.percent(40)) return;
  if (rng.percent(50)) add("gpu=" + number(8));
  if (rng.percent(30)) add("jobs=" + number(3));
  if (rng.percent(20)) add("queued=" + number(3));
  spec.user_limits = std::move(list);
}

// Budgets, small enough that jobs meet them.
void add_budgets(Rng& rng, AccountSpec& spec) {
  constexpr const char* kPeriods[] = {"30m", "hour", "5h", "day", "week", "month", "total"};
  if (rng.percent(25)) spec.default_time_limit_ms = kHourMs * rng.between(1, 9);
  if (!rng.percent(60)) return;
  const std::int64_t count = rng.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) spec.budgets += ",";
    if (rng.percent(20)) spec.budgets += "soft=";
    if (rng.percent(25)) spec.budgets += "NVIDIA-H100-80GB-HBM3=";
    const std::size_t period = rng.below(std::size(kPeriods));
    spec.budgets += std::to_string(rng.between(1, 8 << period)) + "h/" + kPeriods[period];
  }
}

// The civil periods of a zone that is some hours before UTC and sometimes one more; or UTC.
in::TellCivilEnds some_zone(Rng& rng, TimeMs now) {
  in::TellCivilEnds told;
  if (rng.percent(20)) return told;
  told.ends.zone = "Test/Zone";
  const DurationMs ahead = kHourMs * rng.between(-11, 13);
  const auto list = [&](const BudgetPeriod& period) {
    std::vector<CivilEnd> out;
    PeriodSpan span = period_at(period, std::max<TimeMs>(0, now - longest_period(period)));
    for (int i = 0; i < 12; ++i, span = period_at(period, span.to_ms))
      out.push_back({span.to_ms - ahead - i % 2 * kHourMs});
    return out;
  };
  told.ends.days = list({PeriodKind::kFixed, kDayMs});
  told.ends.weeks = list({PeriodKind::kWeek, 0});
  told.ends.months = list({PeriodKind::kMonth, 0});
  told.ends.quarters = list({PeriodKind::kQuarter, 0});
  told.ends.years = list({PeriodKind::kYear, 0});
  if (rng.percent(5)) std::swap(told.ends.days.front(), told.ends.days.back());  // refused
  return told;
}

}  // namespace

// Chooses the time settings of a policy.
void RandomWorld::choose_time(Policy& policy) {
  constexpr DurationMs kDefaults[] = {0, kHourMs, kDayMs};
  policy.patience_ms = options_.plain ? 0 : kHourMs * rng_.between(0, 2);
  policy.default_time_limit_ms = kDefaults[rng_.below(std::size(kDefaults))];
  policy.enforce_time_limits = rng_.percent(30);
}

// Not from the random numbers, so that worlds otherwise stay as they were.
void RandomWorld::choose_rules(Policy& policy) const {
  policy.reclaim = options_.seed % 3 != 0;
  policy.reclaim_min_run_ms = static_cast<DurationMs>(options_.seed / 3 % 3) * 5 * kMinuteMs;
  policy.books.refund_lost_work_ms =
      static_cast<DurationMs>(options_.seed / 2 % 3) * 20 * kMinuteMs;
  if (options_.plain) return;
  if (options_.has_classes()) {
    policy.priority_classes = {
        {"batch", -10, false, {}}, {"prod", 10, true, {}}, {"test", 0, false, {}}};
  }
  policy.gangs.clique_gangs =
      static_cast<std::uint32_t>(options_.seed % 5 < 4 ? 1 : options_.seed % 3);
  policy.gangs.keep_whole = static_cast<std::uint32_t>((options_.seed + serial_) % 3);
}

RandomWorld::RandomWorld(Options options)
    : options_(options),
      rng_(options.seed),
      now_(kStart),
      node_there_(kNodes),
      moves_(options.half_lives) {
  pace_.most_jobs = 12 + rng_.below(30);
  set_up();
}

void RandomWorld::set_up() {
  for (const char* name : kClusters) {
    in::SetCluster cluster;
    cluster.name = name;
    cluster.mode = Mode::kEnforce;
    planned_.emplace_back(cluster);
  }
  Policy policy;
  policy.half_life_ms = 6 * kHourMs;
  policy.hold_ms = 5 * kMinuteMs;
  choose_time(policy);
  if (options_.beside) policy.gpu_headroom.cpu_milli = rng_.between(0, 4) * 1000;
  policy.order = kOrders[rng_.below(std::size(kOrders))];
  choose_rules(policy);
  planned_.emplace_back(in::SetPolicy{policy, {}});
  in::ImportNodes import;
  import.cluster = "bare";
  for (std::size_t i = 0; i < kNodes; i += 2) {
    import.nodes.push_back(node_spec(i));
    node_there_[i] = true;
  }
  planned_.emplace_back(std::move(import));
  for (const char* path : kAccounts) {
    in::SetAccount account;
    account.spec.path = path;
    account.spec.shares = rng_.between(0, 5);
    account.spec.namespaces = {std::string("ns-") + path};
    if (rng_.percent(40)) account.spec.quota = {{kAnyProduct, rng_.between(1, 8) * 1000}};
    planned_.emplace_back(std::move(account));
  }
  in::Body list = list_again();
  planned_.push_back(std::move(list));
}

std::string RandomWorld::node_name(std::size_t i) const { return "n" + std::to_string(i); }

// Each index has its own kind of node for ever, so that it can come back unchanged.
NodeSpec RandomWorld::node_spec(std::size_t i) {
  NodeSpec n;
  n.name = node_name(i);
  n.product = i % 3 == 0 ? "NVIDIA-A100-SXM4-80GB" : "NVIDIA-H100-80GB-HBM3";
  n.gpus = i % 5 == 4 ? 2 : i % 5 == 3 ? 8 : 4;
  if (!options_.plain && i % 4 == 3) n.cpu_milli = 8000;
  if (options_.beside && i % 8 != 6) n.cpu_milli = 16'000;
  if (!options_.plain) n.extended = {{"rdma/hca", 1000}};
  if (!options_.plain) n.fabric = i % 4 == 2 ? "b" : "a";
  if (!options_.plain && i % 7 == 4) n.gpus_per_domain = n.gpus / 2;
  if (!options_.plain && i % 7 == 1) n.product = "NVIDIA-L40S";
  if (!options_.plain && i % 4 < 2) n.clique = "rack-" + std::to_string(i % 2);
  if (!options_.plain && i % 7 == 6) n.replicas = 3;
  if (!options_.plain && i % 7 == 5) {
    n.mig_gpus = 1;
    n.mig = {{"1g.10gb", 3}, {"3g.40gb", 1}};
  }
  return n;
}

std::string RandomWorld::some_account() { return kAccounts[rng_.below(kAccountCount)]; }

JobId RandomWorld::some_job() {
  if (jobs_.empty() || rng_.percent(3)) return JobId(ClusterId(1), 999'999);
  return jobs_[rng_.below(jobs_.size())];
}

Input RandomWorld::next(std::optional<TimeMs> deadline) {
  Input input;
  if (deadline && *deadline <= now_) {
    input.body = in::Tick{};
  } else if (!planned_.empty()) {
    input.body = std::move(planned_.front());
    planned_.pop_front();
  } else if (last_ && rng_.percent(4)) {
    input = *last_;  // sent twice
  } else if (pace_.until_pass == 0) {
    input.body = in::Pass{};
    pace_.until_pass = 1 + rng_.below(5);
  } else {
    --pace_.until_pass;
    DurationMs step = rng_.percent(60) ? 0 : rng_.between(0, 60'000);
    if (rng_.percent(2)) step = rng_.between(0, 2 * kHourMs);
    now_ += step;
    if (deadline && now_ >= *deadline) {
      now_ = *deadline;
      input.body = in::Tick{};
    } else {
      input.body = choose();
    }
  }
  if (input.session == kAnySession) input.session = some_session(input.body);
  const bool mutation = input.body.index() < 9;
  if (mutation && input.request_id.empty() && rng_.percent(30)) {
    input.request_id = "r" + std::to_string(++serial_);
  }
  if (mutation) input.actor = "world";
  input.time_ms = now_;
  const bool by_runtime =
      std::holds_alternative<in::Tick>(input.body) || std::holds_alternative<in::Pass>(input.body);
  if (!by_runtime) last_ = input;
  return input;
}

in::Body RandomWorld::choose() {
  const bool crowded = jobs_.size() > (options_.plain ? pace_.most_jobs : 60);
  if (moves_.is_changing() && rng_.percent(2)) return moves_.end_of_change(rng_);
  const bool has_moves = options_.seed % 2 == 0 || options_.has_budgets();
  if (has_moves && rng_.percent(2)) return moves_.some_move(rng_);
  if (options_.has_parking() && rng_.percent(12)) return owners_.some_event(*this);
  const std::uint64_t dice = rng_.below(1000);
  if (dice < 170) return crowded ? advance_pod() : submit();
  if (dice < 270) return crowded && unfinished_.empty() ? advance_pod() : new_pod();
  if (dice < 824) return advance_pod();
  if (dice < 834) return remake_pod();
  if (dice < 844) return take_gate();
  if (dice < 850) return changed_pod();
  if (dice < 856) return options_.plain ? advance_pod() : light_pod();
  if (dice < 875) return options_.plain ? advance_pod() : foreign_pod();
  if (dice < 905) return node_event();
  if (dice < 925) {
    // Not in all worlds with budgets, since a new zone excuses that a later period is overdrawn.
    if (options_.seed % 16 == 6 && rng_.percent(20)) return some_zone(rng_, now_);
    const bool many = options_.seed % 3 == 1 && rng_.percent(20);
    return many ? joined({edit_account(), edit_account(), edit_account()}) : edit_account();
  }
  if (dice < 945) return in::CancelJob{some_job(), "random"};
  if (dice < 970) return in::HoldJob{some_job(), rng_.percent(50), "random"};
  if (dice < 975) return change_policy();
  if (dice < 980) return list_again();
  if (dice < 981) return in::Finalize{kFactVersion, "random", rng_.percent(50)};
  if (dice < 982) return in::Restarted{};
  if (dice < 983) return in::SeenUntil{"watched", now_ - rng_.between(0, 3 * kMinuteMs)};
  if (dice < 986) {
    const std::size_t i = rng_.below(kNodes);
    in::DrainNode drain{kClusters[i % 2], node_name(i), rng_.percent(60), "random", 0, 0};
    if (drain.drained && rng_.percent(60)) drain.from_ms = now_ + rng_.between(0, 3 * kHourMs);
    if (drain.drained && rng_.percent(60)) {
      drain.until_ms = std::max(now_, drain.from_ms) + rng_.between(1, 3 * kHourMs);
    }
    return drain;
  }
  if (dice < 990 && !options_.plain) {
    in::SetCluster mode;
    mode.name = "watched";
    mode.mode = rng_.percent(70) ? Mode::kEnforce : rng_.percent(50) ? Mode::kWarn : Mode::kObserve;
    return mode;
  }
  if (dice < 994 && !options_.plain) return spare_cluster();
  if (dice < 999) return gang_seen();
  return in::Pass{};
}

in::Body RandomWorld::edit_account() {
  if (rng_.percent(12)) {
    std::string path = some_account();
    if (rng_.percent(70)) path += "/u" + std::to_string(rng_.below(3));
    return in::DeleteAccount{std::move(path), 0, "random", false};
  }
  in::SetAccount set;
  set.spec.path = some_account();
  if (rng_.percent(10)) {
    set.spec.path += "/u" + std::to_string(rng_.below(3));
    set.spec.user = true;
  } else {
    set.spec.namespaces = {"ns-" + set.spec.path};
    if (rng_.percent(10)) set.spec.namespaces.emplace_back("late");
  }
  set.spec.shares = rng_.between(0, 6);
  const auto gpus = [this](std::int64_t most) {
    const bool one = rng_.percent(30);
    return ProductAmounts{
        {one ? "NVIDIA-H100-80GB-HBM3" : kAnyProduct, rng_.between(0, most) * 1000}};
  };
  if (rng_.percent(40)) set.spec.quota = gpus(8);
  if (rng_.percent(20)) set.spec.limit = gpus(20);
  if (rng_.percent(10)) set.spec.borrow = rng_.percent(30) ? "none" : "6";
  if (rng_.percent(10)) set.spec.lend = rng_.percent(50) ? "none" : "2";
  if (options_.seed % 5 == 2) {  // bounds of one product
    if (set.spec.borrow == "6") set.spec.borrow = "NVIDIA-H100-80GB-HBM3=1,gpu=6";
    if (set.spec.borrow == "none") set.spec.borrow = "NVIDIA-H100-80GB-HBM3=0";
    if (set.spec.lend == "2") set.spec.lend = "NVIDIA-H100-80GB-HBM3=1";
  }
  set.spec.held = rng_.percent(5);
  set.spec.draining = rng_.percent(4);
  if (rng_.percent(20)) set.spec.time_limits = static_cast<TimeLimits>(1 + rng_.below(2));
  // Some plain worlds and some others have such limits.
  if (options_.seed % 4 == 3 || options_.seed % 8 == 2) add_limits(rng_, set.spec);
  if (options_.has_budgets()) add_budgets(rng_, set.spec);
  set.validate_only = rng_.percent(5);
  set.reason = "random";
  return set;
}

DurationMs RandomWorld::some_limit() {
  constexpr DurationMs kLimits[] = {0, 10 * kMinuteMs, 35 * kMinuteMs, 4 * kHourMs};
  return kLimits[rng_.below(std::size(kLimits))];
}

in::Body RandomWorld::submit() {
  in::SubmitJob job;
  job.cluster = kClusters[rng_.below(2)];
  job.account = some_account();
  if (rng_.percent(60)) job.user = "u" + std::to_string(rng_.below(3));
  job.name = "job-" + std::to_string(++serial_);
  PodGroup group;
  group.count = rng_.percent(60) ? 1 : static_cast<std::uint32_t>(rng_.between(1, 4));
  group.shape = shape();
  job.request.groups.push_back(group);
  if (!options_.plain && rng_.percent(20)) {
    constexpr Topology kWishes[] = {Topology::kNode, Topology::kNvlink, Topology::kNvlinkExclusive,
                                    Topology::kRack};
    job.request.terms.topology = kWishes[rng_.below(std::size(kWishes))];
    job.request.terms.prefer = rng_.percent(50);
    const bool linked = job.request.terms.topology == Topology::kNvlink ||
                        job.request.terms.topology == Topology::kNvlinkExclusive;
    if (linked && rng_.percent(30)) job.request.terms.spare = 1;
  }
  job.request.terms.compute_domain = !options_.plain && serial_ % 4 == 0;
  job.request.terms.not_preemptible = serial_ % 7 == 0;
  const bool led = options_.beside ? rng_.percent(40) : !options_.plain && rng_.percent(20);
  if (led) add_launcher(job.request);
  job.priority = static_cast<std::int32_t>(rng_.below(4) == 0 ? 10 : 0);
  if (options_.has_classes()) {
    job.priority_class = job.priority != 0 ? "prod" : serial_ % 2 == 0 ? "batch" : "";
    job.priority = 0;
  }
  job.held = rng_.percent(4);
  job.time_limit_ms = some_limit();
  return job;
}

// Only beside one or two pods, so that the search tries all placements of them.
void RandomWorld::add_launcher(GangRequest& request) {
  request.groups[0].count = std::min(request.groups[0].count, 2u);
  PodGroup launcher;
  launcher.count = 1;
  launcher.shape.cpu_milli = rng_.between(0, 16) * 500;
  const bool first = rng_.percent(60);
  request.groups.insert(first ? request.groups.begin() : request.groups.end(), launcher);
  if (options_.plain && rng_.percent(20)) request.terms.topology = Topology::kNode;
}

in::Body RandomWorld::node_event() {
  const std::size_t i = rng_.below(kNodes);
  const char* const cluster = kClusters[i % 2];
  if (i % 2 == 1 && node_there_[i] && rng_.percent(25)) {
    node_there_[i] = false;
    const bool late = !options_.plain && rng_.percent(30);
    return in::NodeGone{cluster, node_name(i), late ? now_ - rng_.between(0, kMinuteMs) : 0};
  }
  if (i % 2 == 0 && rng_.percent(80)) return in::Pass{};  // an imported fleet changes rarely
  if (i % 2 == 0) {
    in::ImportNodes import;
    import.cluster = cluster;
    for (std::size_t n = 0; n < kNodes; n += 2) {
      node_there_[n] = !rng_.percent(12);
      if (node_there_[n]) import.nodes.push_back(node_spec(n));
    }
    return import;
  }
  node_there_[i] = true;
  NodeSpec spec = node_spec(i);
  spec.unschedulable = rng_.percent(10);
  if (rng_.percent(15)) {
    spec.ready = false;
    spec.not_ready_since_ms = options_.plain ? 0 : now_ - rng_.between(0, kMinuteMs);
  }
  const std::uint64_t health = options_.plain ? 50 : rng_.below(100);
  if (health < 15) spec.unhealthy_gpus = 1;
  if (health >= 92) spec.unfit = "nvidia.com/mig.config.state is pending";
  if (!options_.plain && rng_.percent(5)) spec.gpus -= 1;
  if (health >= 86 && health < 92) lose_plugin(spec, rng_.percent(50));
  return in::NodeSeen{cluster, spec};
}

in::Body RandomWorld::change_policy() {
  Policy policy;
  moves_.choose_half_life(rng_, policy);
  policy.hold_ms = 5 * kMinuteMs;
  choose_time(policy);
  if (options_.beside) policy.gpu_headroom.cpu_milli = rng_.between(0, 4) * 1000;
  policy.order = kOrders[rng_.below(std::size(kOrders))];
  if (rng_.percent(50)) policy.system_namespaces = {"nobodys"};
  choose_rules(policy);
  return in::SetPolicy{policy, {}};
}

// A cluster that comes and goes, with idle nodes; the others are always in use.
in::Body RandomWorld::spare_cluster() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 40) return in::DeleteCluster{kSpare, "random", rng_.percent(10)};
  if (dice < 45) return in::DeleteCluster{kClusters[rng_.below(2)], "random", true};
  if (dice < 75) {
    in::ImportNodes import;
    import.cluster = kSpare;
    for (std::size_t i = 0; i < rng_.below(3); ++i) import.nodes.push_back(node_spec(i));
    return import;
  }
  in::SetCluster set;
  set.name = kSpare;
  set.must_exist = rng_.percent(20);
  set.replaces = rng_.percent(20) ? kClusters[rng_.below(2)] : "";
  return set;
}

// A fresh list of the watched cluster, as after a lost connection; some objects are gone meanwhile.
in::Body RandomWorld::list_again() {
  for (std::size_t i = 1; i < kNodes; i += 2) {
    node_there_[i] = !rng_.percent(10);
    if (node_there_[i]) planned_.emplace_back(in::NodeSeen{"watched", node_spec(i)});
  }
  for (const in::PodSeen& seen : light_) {
    if (rng_.percent(80)) planned_.emplace_back(seen);
  }
  for (const auto& [uid, record] : records_) {
    if (!rng_.percent(5)) planned_.push_back(say_again(record));
  }
  owners_.plan_list(*this);
  planned_.emplace_back(in::ListComplete{"watched"});
  const char* const kUids[] = {"", "8f6b", "8f6b", "8f6b", "another"};
  return in::ListBegin{"watched", kUids[rng_.below(std::size(kUids))]};
}

// Mostly the session of the edge that follows the cluster now; sometimes an older one, or none.
std::uint64_t RandomWorld::some_session(const in::Body& body) {
  const std::string* cluster = observed_cluster(body);
  if (cluster == nullptr || *cluster != "watched" || rng_.percent(50)) return kAnySession;
  if (rng_.percent(4)) return kNoSession;
  if (rng_.percent(6) && session_.newest > 1) return 1 + rng_.below(session_.newest - 1);
  return session_.newest + (std::holds_alternative<in::ListBegin>(body) ? 1 + rng_.below(3) : 0);
}

void RandomWorld::saw(const Input& input, const ApplyOutcome& outcome) {
  const bool taken = !outcome.reply.error;
  if (taken && std::holds_alternative<in::ListBegin>(input.body)) session_.listing = true;
  if (taken && std::holds_alternative<in::ListComplete>(input.body)) session_.listing = false;
  for (const Fact& fact : outcome.facts) {
    moves_.saw(fact);
    note_pods(fact);
    if (const auto* synced = std::get_if<fact::ClusterSynced>(&fact.body)) {
      session_.newest = std::max(session_.newest, synced->session);
    } else if (const auto* created = std::get_if<fact::JobCreated>(&fact.body)) {
      jobs_.push_back(created->id);
    } else if (const auto* moved = std::get_if<fact::JobMoved>(&fact.body)) {
      if (moved->to == JobState::kDone) std::erase(jobs_, moved->id);
    } else if (const auto* gone = std::get_if<fact::PodGone>(&fact.body)) {
      forget(gone->job, gone->rank, false);
    } else if (const auto* ended = std::get_if<fact::AttemptEnded>(&fact.body)) {
      forget(ended->id, std::nullopt, true);
      if (ended->to == JobState::kDone) std::erase(jobs_, ended->id);
    } else if (const auto* lost = std::get_if<fact::PlaceLost>(&fact.body)) {
      forget(lost->job, lost->rank, true);
    } else if (const auto* added = std::get_if<fact::PodAdded>(&fact.body)) {
      Pod pod{added->job, added->rank, added->uid, "", Pod::State::kBound};
      if (added->bound) pods_.push_back(std::move(pod));
    }
  }
  for (const Effect& effect : outcome.effects) open_gate(effect);
}

}  // namespace subak::sim
