#include "kube_world.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace subak::fault {
namespace {

constexpr const char* kName = "c";
constexpr const char* kAccounts[] = {"a", "b"};
constexpr int kSteps = 1500;
constexpr int kMostRounds = 600;
constexpr int kPatienceRounds = 100;            // then people delete what cannot go on
constexpr DurationMs kQuietMs = 2 * kMinuteMs;  // then no watch waits to be begun again
constexpr int kNvidiaPatience = 30;  // the same in NvidiaWorld: Subak knows no such claim
constexpr int kQuietTurns = 12;
constexpr MilliGpu kQuota = 12'000;
constexpr DurationMs kMinRunMs = 20 * kSecondMs;

// The account as it is at first, and again at the end. `quota`: its first one has a quota.
in::SetAccount account_of(const std::string& path, bool quota) {
  in::SetAccount account;
  account.spec.path = path;
  account.spec.namespaces = {"ns-" + path};
  if (quota && path == kAccounts[0]) account.spec.quota = {{kAnyProduct, kQuota}};
  account.reason = "test";
  return account;
}

bool ends_a_hold(const Fact& fact) {
  return std::holds_alternative<fact::PlaceLost>(fact.body) ||
         std::holds_alternative<fact::AttemptEnded>(fact.body);
}

}  // namespace

KubeWorld::KubeWorld(KubeWorldOptions options)
    : options_(options),
      rng_(options.seed),
      spoils_(options.seed ^ 1U),
      store_(Planted::kNothing),
      judge_(store_, options.trace),
      cluster_(server_, rng_, options.nvidia) {
  cluster_.place_of = [this](const std::string& uid) { return place_of(uid); };
  cluster_.note_places = [this] { note_places(); };
  cluster_.attempt_of = [this](const std::string& uid) { return attempt_of(uid); };
  server_.objects.forgets_marks = options.forgets_marks;
  if (options.nvidia) cluster_.nvidia()->plant(options.plant);
  draw_faults();
  pass_time(0);
}

// Of what the core has of its own: a foreign job's pods are found where they are.
std::optional<std::pair<JobRow, PodRow>> KubeWorld::find_pod(const std::string& uid) const {
  for (const JobRow& row : judge_.engine().jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone || row.origin == JobOrigin::kForeign) continue;
    const auto job = judge_.engine().job(row.id, true);
    for (const PodRow& pod : job->pods) {
      if (pod.uid == uid) return std::pair(row, pod);
    }
  }
  return std::nullopt;
}

std::optional<CorePlace> KubeWorld::place_of(const std::string& uid) const {
  const auto found = find_pod(uid);
  if (!found || !found->second.slot.node) return std::nullopt;
  const PodSlot& slot = found->second.slot;
  const NodeSpec* const at = judge_.engine().fleet().node(slot.node);
  return at == nullptr ? std::nullopt : std::optional(CorePlace{at->name, slot.gpu_mask});
}

std::string KubeWorld::attempt_of(const std::string& uid) const {
  const auto found = find_pod(uid);
  if (!found) return {};
  return text::job_id_text(found->first.id) + "/" + std::to_string(found->first.attempt);
}

// Which places were taken back of pods that are closed, as far as the core knows.
void KubeWorld::note_places() {
  const Engine& engine = judge_.engine();
  std::map<std::string, Held> now;
  for (const JobRow& row : engine.jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone || row.origin != JobOrigin::kPods) continue;
    const auto job = engine.job(row.id, true);
    const std::string attempt = text::job_id_text(row.id) + "/" + std::to_string(row.attempt);
    for (const PodRow& pod : job->pods) {
      const auto before = held_.find(pod.uid);
      if (pod.uid.empty() || !is_closed(pod.gate)) continue;
      const bool holds = pod.state == PodState::kHeld;
      if (before != held_.end() && (!holds || before->second.attempt != attempt)) {
        cluster_.taken_back(pod.uid, before->second.place, before->second.attempt);
      }
      if (!holds) continue;
      now[pod.uid] = {{engine.fleet().node(pod.slot.node)->name, pod.slot.gpu_mask}, attempt};
    }
  }
  held_ = std::move(now);
}

void KubeWorld::draw_faults() {
  constexpr std::uint64_t kChances[] = {15, 40, 80};
  const std::uint64_t chance = kChances[rng_.below(3)];
  const auto draw = [&](const char* name, bool& on) {
    on = rng_.percent(chance);
    if (on) faults_ += std::string(faults_.empty() ? "" : " ") + name;
  };
  draw("errors", server_.faults.errors);
  draw("lost", server_.faults.lost);
  draw("late", server_.faults.late);
  draw("cuts", server_.faults.cuts);
  draw("behind", server_.faults.behind);
  draw("repeats", server_.faults.repeats);
  draw("expires", server_.faults.expires);
  draw("no_streams", server_.faults.no_streams);
  draw("refuses", server_.faults.refuses);
  draw("nodes", cluster_.troubles.nodes);
  draw("people", cluster_.troubles.people);
  draw("rejects", cluster_.troubles.rejects);
  draw("others", cluster_.troubles.others);
  draw("vanish", cluster_.troubles.vanish);
  draw("crash", crashes_);
  draw("slow_store", slow_store_);
  draw("failing_store", failing_store_);
  draw("clock", clock_jumps_);
  draw("edits", edits_);
  // By dice of its own: the worlds of before it are what they were.
  server_.faults.protects = sim::Rng(~options_.seed).percent(chance / 2);
  if (server_.faults.protects) faults_ += std::string(faults_.empty() ? "" : " ") + "protects";
}

std::vector<std::string> KubeWorld::mistakes() {
  std::vector<std::string> all = judge_.mistakes();
  for (const std::string& complaint : cluster_.complaints()) all.push_back(complaint);
  return all;
}

std::vector<std::string> KubeWorld::run() {
  judge_.say("seed " + std::to_string(options_.seed) + ", faults: " + faults_);
  start();
  set_up();
  for (int i = 0; i < kSteps && !is_wrong(); ++i) step();
  if (!is_wrong()) heal();
  if (!is_wrong()) drain();
  if (!is_wrong()) {
    if (!cluster_.some_ran()) judge_.wrong("nothing ever ran");
    compare_times();
    judge_.audit();
  }
  return mistakes();
}

// --- the service's life --------------------------------------------------------------------------

void KubeWorld::start() {
  judge_.say("--- the service starts");
  judge_.recovered();
  FollowerOptions follower;
  follower.stepped = true;
  follower.checkpoint_every = 20 + rng_.below(100);
  follower.on_digest_mismatch = [this] { judge_.wrong("the follower differs from the loop"); };
  follower_ = std::make_unique<Follower>(follower, store_);
  RuntimeOptions options;
  options.stepped = true;
  options.digest_every = 1;
  options.record = [this](const Input& input) { judge_.saw(input); };
  options.on_durable = [this](const Released& batch) {
    judge_.released(batch);
    if (std::any_of(batch.facts->begin(), batch.facts->end(), ends_a_hold)) cluster_.note_late();
    note_places();
    follower_->durable(batch);
  };
  options.fatal = [this](const Error&) { dead_ = true; };
  runtime_ = std::make_unique<Runtime>(options, store_, clock_);
  dead_ = false;
  if (follower_->start() || !runtime_->start().ok()) judge_.wrong("the service does not start");
}

// As the service: once it is ready.
void KubeWorld::start_edge() {
  EdgePorts ports;
  ports.post = [this](Input input, ReplyFn done) {
    return post(std::move(input), std::move(done));
  };
  ports.view = [this] { return runtime_->view(); };
  ports.subscribe = [this](ClusterId id, std::function<void()> wake) {
    return runtime_->subscribe(id, std::move(wake));
  };
  ports.read = [this](std::function<void(const Engine&)> fn) {
    return follower_->read(std::move(fn));
  };
  ports.read_expensive = ports.read;
  ports.read_starts = [this](Follower::StartsRead fn) {
    return follower_->read_starts(std::move(fn));
  };
  ports.now_ms = [this] { return runtime_->now_ms(); };
  ports.monotonic_ms = [this] { return clock_.mono_us / 1000; };
  EdgeOptions options;
  options.cluster = kName;
  options.stepped = true;
  auto api = std::make_unique<FakeApi>(server_, rng_);
  api_ = api.get();
  edge_ = std::make_unique<subak::Edge>(options, std::move(ports), std::move(api));
  edge_->start();
}

void KubeWorld::crash() {
  if (rng_.percent(50)) {
    commit(rng_.percent(50) ? FaultStore::Fate::kKept : FaultStore::Fate::kKeptButFailed);
  }
  judge_.say("--- the service is gone");
  edge_ = nullptr;
  api_ = nullptr;
  runtime_ = nullptr;
  follower_ = nullptr;
  store_.crash();
  spoil_calibration();
  judge_.crashed();
  held_.clear();  // what was not durable has not been
  if (rng_.percent(30)) pass_time(rng_.between(0, 5 * kMinuteMs));
  start();
}

// What lies beside the checkpoint may be lost, cut or changed: nothing depends on it.
void KubeWorld::spoil_calibration() {
  if (store_.told.empty() || !spoils_.percent(30)) return;
  const std::size_t at = spoils_.below(store_.told.size());
  if (spoils_.percent(50)) {
    store_.told.resize(at);
  } else {
    store_.told[at] = static_cast<char>(spoils_.below(256));
  }
}

void KubeWorld::turn() {
  runtime_->turn();
  if (const auto view = runtime_->view()) judge_.viewed(*view);
}

void KubeWorld::commit(FaultStore::Fate fate) {
  store_.fate = fate;
  runtime_->commit();
  store_.fate = FaultStore::Fate::kKept;
}

bool KubeWorld::post(Input input, ReplyFn done) {
  const std::string name = "p" + std::to_string(++posts_);
  if (input.actor.empty()) input.actor = "world";
  const bool taken =
      runtime_->post(std::move(input), [this, name, done = std::move(done)](const Reply& reply) {
        judge_.acknowledged(name, reply);
        if (done) done(reply);
      });
  if (taken) judge_.posted(name);
  return taken;
}

void KubeWorld::ask(in::Body body) {
  while (!is_wrong() && !post(Input{0, "", "", body}, nullptr)) {
    turn();
    commit(FaultStore::Fate::kKept);
  }
}

// --- one step ------------------------------------------------------------------------------------

void KubeWorld::pass_time(DurationMs ms) {
  cluster_.now += ms;
  clock_.mono_us += ms * 1000;
  clock_.wall = cluster_.now + skew_ms_;
}

void KubeWorld::set_up() {
  ask(in::SetCluster{kName, Mode::kEnforce, {{"ns-seen", Mode::kObserve}}, "test", false});
  Policy policy;
  policy.hold_ms = rng_.between(1, 10) * kMinuteMs;
  policy.patience_ms = rng_.percent(50) ? 0 : 10 * kMinuteMs;
  policy.default_time_limit_ms = kHourMs;
  policy.reclaim = options_.reclaims;
  policy.reclaim_min_run_ms = kMinRunMs;
  ask(in::SetPolicy{policy, {}});
  for (const char* path : kAccounts) ask(account_of(path, options_.reclaims));
  settle();
}

void KubeWorld::step() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 10) {
    pass_time(rng_.percent(95) ? rng_.between(0, 3'000) : rng_.between(0, 3 * kMinuteMs));
    if (clock_jumps_ && rng_.percent(5)) skew_ms_ = rng_.between(-kHourMs, kHourMs);
  } else if (dice < 35) {
    cluster_.act();
  } else if (dice < 55) {
    edge_turn();
  } else if (dice < 70) {
    serve();
  } else if (dice < 72) {
    people_step();
  } else {
    service_step();
  }
  if (dead_) crash();
}

void KubeWorld::edge_turn() {
  if (runtime_->view() == nullptr) return;  // not ready
  if (edge_ == nullptr) start_edge();
  edge_->turn();
}

void KubeWorld::serve() {
  if (api_ != nullptr) api_->serve();
  if (!server_.orphans.empty() && rng_.percent(30)) serve_orphan();
  if (server_.faults.refuses && rng_.percent(2)) server_.refusing = !server_.refusing;
  if (server_.faults.expires && rng_.percent(2)) server_.objects.expire();
  if (server_.faults.protects && rng_.percent(2)) server_.protecting = !server_.protecting;
}

void KubeWorld::serve_orphan() {
  server_.objects.is_late = true;
  server_.objects.serve(server_.orphans.front());
  server_.objects.is_late = false;
  server_.orphans.pop_front();
}

void KubeWorld::people_step() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 25) {
    const JobId id(ClusterId(1), rng_.between(1, 30));
    const auto job = judge_.engine().job(id, false);
    if (!job || job->origin != JobOrigin::kPods || job->state == JobState::kStarting) return;
    post(Input{0, "", "", in::CancelJob{id, "enough"}}, nullptr);
  } else if (!edits_) {
    return;
  } else if (dice < 50) {
    const std::string node = "n" + std::to_string(rng_.below(5));
    post(Input{0, "", "", in::DrainNode{kName, node, dice < 38, ""}}, nullptr);
  } else {
    in::SetAccount account =
        account_of(kAccounts[rng_.below(std::size(kAccounts))], options_.reclaims);
    account.spec.shares = rng_.between(0, 4);
    if (rng_.percent(40)) account.spec.limit = {{kAnyProduct, rng_.between(4, 16) * 1000}};
    account.spec.held = rng_.percent(10);
    post(Input{0, "", "", std::move(account)}, nullptr);
  }
}

void KubeWorld::service_step() {
  const std::uint64_t dice = rng_.below(1000);
  if (dice < 450) {
    turn();
  } else if (dice < 800) {
    if (!slow_store_ || rng_.percent(20)) commit(FaultStore::Fate::kKept);
  } else if (dice < 985) {
    follower_->turn();
  } else if (dice < 990) {
    if (failing_store_) {
      commit(rng_.percent(50) ? FaultStore::Fate::kLost : FaultStore::Fate::kKeptButFailed);
    }
  } else if (crashes_) {
    crash();
  }
}

// --- the end -------------------------------------------------------------------------------------

// Some turns of everything; the waits of the edge are the world's.
void KubeWorld::settle() {
  for (int i = 0; i < kQuietTurns && !is_wrong(); ++i) {
    edge_turn();
    while (api_ != nullptr && api_->serve()) continue;
    turn();
    commit(FaultStore::Fate::kKept);
    turn();
    follower_->turn();
    if (dead_) return judge_.wrong("the service ends by itself");
  }
}

void KubeWorld::heal() {
  judge_.say("--- no more faults");
  skew_ms_ = 0;
  pass_time(0);
  server_faults_ = std::exchange(server_.faults, {});
  server_.refusing = server_.protecting = false;
  while (!server_.orphans.empty()) serve_orphan();
  cluster_.heal();
  settle();
  if (runtime_->stats().clock.state != ClockState::kBelieved) {
    ask(in::Finalize{kFactVersion, "test", false});
    ask(in::AcceptClock{0, false, "test", false});
  }
  for (const char* path : kAccounts) ask(account_of(path, options_.reclaims));
  for (int i = 0; i < (options_.nvidia ? 9 : 5); ++i) {
    ask(in::DrainNode{kName, "n" + std::to_string(i), false, "test"});
  }
  settle();
}

std::string KubeWorld::unfinished() const {
  std::string all = cluster_.unfinished();
  for (const JobRow& row : judge_.engine().jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone) continue;
    all += " " + text::job_id_text(row.id) + " " + std::string(enum_name(row.state)) + " " +
           std::string(enum_name(row.cause));
    const std::optional<Reason> why = judge_.engine().first_reason(row.id, 0);
    if (why) all += " (" + why->detail + ")";
  }
  return all;
}

void KubeWorld::drain() {
  const TimeMs quiet_ms = cluster_.now + kQuietMs;
  for (int round = 0; round < kMostRounds && !is_wrong(); ++round) {
    if (unfinished().empty()) return;
    pass_time(rng_.between(1'000, 20'000));
    if (round > (options_.nvidia ? kNvidiaPatience : kPatienceRounds)) cluster_.give_up();
    if (round % 50 == 49) cluster_.heal();  // people let go what was cancelled meanwhile
    cluster_.progress();
    settle();
    if (cluster_.now >= quiet_ms) compare_devices();
  }
  if (!is_wrong()) judge_.wrong("never finished:" + unfinished());
}

// What is charged as used is never more than the time from bind to end, to the API's second.
void KubeWorld::compare_times() {
  const ApiFaults& faults = server_faults_;
  // The last word came late, or was forgotten by a restart.
  if (clock_jumps_ || faults.behind || faults.cuts || crashes_ || failing_store_) return;
  std::map<std::string, DurationMs> used;
  each_charge(store_.facts(), [&](const std::string& uid, const LedgerRow& row) {
    used[uid] += (row.milligpu < 0 ? -1 : 1) * (row.to_ms - row.from_ms);
  });
  for (const auto& [uid, pod] : cluster_.pods()) {
    if (pod.bound_ms == 0 || !pod.seen_end) continue;
    const DurationMs ran = pod.ended_ms - pod.bound_ms;
    if (used[uid] > ran + kSecondMs) {
      judge_.wrong(pod.key + " (" + uid + ") ran " + std::to_string(ran) + " ms, charged were " +
                   std::to_string(used[uid]));
    }
  }
  if (cluster_.nvidia() == nullptr) return;
  const std::vector<ClaimStay>& stays = cluster_.nvidia()->claims().stays();
  const auto end_was_seen = [&](const std::string& uid) {
    return cluster_.pods().at(uid).seen_end;
  };
  for (const std::string& one : charged_too_much(store_.facts(), stays, end_was_seen))
    judge_.wrong(one);
}

// Nothing is on its way.
void KubeWorld::compare_devices() {
  if (cluster_.nvidia() == nullptr || is_wrong()) return;
  for (const std::string& one : cluster_.nvidia()->wrong_with(judge_.engine())) judge_.wrong(one);
}

}  // namespace subak::fault
