// The end of a world: no faults any more, one list, and everything must come right.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/limits.h"
#include "world.h"

namespace subak::fault {
namespace {

constexpr int kMostRounds = 2000;
constexpr int kMostTurns = 2000;
constexpr int kPatienceRounds = 300;  // then people cancel what cannot go on

// One pod as the engine has it.
struct Pictured {
  JobId job;
  PodState state = PodState::kWaiting;
  std::string node;
};

std::map<std::string, Pictured> picture_of(const Engine& engine) {
  std::map<std::string, Pictured> all;
  for (const JobRow& row : engine.jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone) continue;
    const auto job = engine.job(row.id, true);
    for (const PodRow& pod : job->pods) {
      const bool api = pod.uid.empty();
      if (pod.state == PodState::kGone || (api && pod.state == PodState::kWaiting)) continue;
      const PodRef ref =
          api ? PodRef{"", row.id, pod.rank, row.attempt} : PodRef{pod.uid, {}, 0, 0};
      const NodeSpec* const node = pod.slot.node ? engine.fleet().node(pod.slot.node) : nullptr;
      all[name_of(ref)] = {row.id, pod.state, node == nullptr ? "" : node->name};
    }
  }
  return all;
}

// True if the job cannot be preempted, and the GPUs that are free are promised to other accounts.
bool waits_for_a_promise(const Engine& engine, const JobRow& row) {
  if (row.state != JobState::kQueued || !engine.policy().reclaim) return false;
  const std::vector<Reason> reasons = engine.reasons(row.id, 0);
  return std::any_of(reasons.begin(), reasons.end(), [](const Reason& r) {
    return r.detail.find("it cannot be preempted") != std::string::npos;
  });
}

bool is_bound(PodState state) { return state == PodState::kBound || state == PodState::kRunning; }

}  // namespace

void World::finale() {
  heal();
  settle();
  if (is_wrong()) return;
  compare_picture();
  clear_backoffs();
  compare_waiting();
  drain();
  if (is_wrong()) return;
  for (const auto& [request, id] : users_.submitted()) {
    if (!judge().engine().job(id, false)) judge().wrong("request " + request + " is lost");
  }
  for (const auto& [request, id] : users_.cancelled()) {
    const auto job = judge().engine().job(id, false);
    if (job && job->state != JobState::kDone) judge().wrong("cancel " + request + " is lost");
  }
  if (cluster_.ended().empty()) judge().wrong("nothing ever ran");
  compare_times();
  for (const std::string& complaint : cluster_.complaints()) judge().wrong(complaint);
  compare_replicas();
  // No claim was lost, none was carried out twice, and none is left.
  counts_.claims = read_claims(database_.facts.facts());
  for (const std::string& line : counts_.claims.mistakes) judge().wrong(line);
  if (judge().has_claims()) judge().wrong("a claim is left, and nobody waits");
  judge().audit(!options_.clocks);
}

void World::heal() {
  judge().say("--- no more faults");
  // A clock that is set right by hours would make the service's time stand for so long.
  skew_ms_ = options_.clocks ? leading()->runtime->now_ms() - cluster_.now : 0;
  heal_replicas();
  pass_time(0);
  cluster_.heal(Faults::none());
  retire();
  agent_->edge->heal(Faults::none());
  settle();
  accept_clock();
  while (!is_wrong() && users_.finish()) settle();
  release_everything();
  settle();
  agent_->edge->disconnect();
  while (!is_wrong() && !agent_->edge->connected()) {
    Replica& leader = *leading();
    agent_->at = &leader;
    agent_->edge->connect(*leader.runtime, ClusterId(1));
    turn(leader);
    commit(leader, FaultStore::Fate::kKept);
  }
}

// What is still on its way arrives, and whoever led before finds out.
void World::heal_replicas() {
  is_well_ = true;
  database_.is_away = false;
  for (const auto& r : replicas_) {
    r->store.is_cut_off = false;
    r->asleep_until_ms = 0;
  }
  while (!database_.network.empty()) database_.deliver(0);
}

void World::ask(in::Body body) {
  while (!is_wrong() && !post(*leading(), Input{0, "", "", body}, nullptr)) settle();
}

// A service that was started by a wrong clock does not believe the right one until a person does.
void World::accept_clock() {
  Replica* leader = leading();
  if (leader == nullptr || leader->runtime->stats().clock.state == ClockState::kBelieved) return;
  leader->believed.reset();
  ask(in::Finalize{kFactVersion, "test", false});
  ask(in::AcceptClock{0, false, "test", false});
  settle();
  leader = leading();
  if (leader->runtime->stats().clock.state != ClockState::kBelieved) {
    judge().wrong("still no belief");
  }
}

// Until nothing is on its way anywhere.
void World::settle() {
  for (int i = 0; i < kMostTurns && !is_wrong(); ++i) {
    Replica* const leader = leading();
    if (leader == nullptr) {
      pass_time(limits::kHeartbeatMs);
      settle_others();
      continue;
    }
    bool some = agent_->edge->connected() && agent_->edge->pump();
    turn(*leader);
    commit(*leader, FaultStore::Fate::kKept);
    turn(*leader);
    leader->follower->turn();
    some |= settle_others();
    if (!some && !leader->runtime->stats().has_work && !judge().engine().pass_due()) return;
  }
  judge().wrong("the service does not come to rest");
}

// Of those that do not lead. False: all of them follow, and know what there is.
bool World::settle_others() {
  bool some = false;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& r = *replicas_[i];
    if (&r == leading()) continue;
    if (r.is_dead) {
      crash(i);
    } else if (r.has_led()) {
      turn(r);
      commit(r, FaultStore::Fate::kKept);
      r.is_dead = r.is_dead || !r.store.beat();
    } else {
      follow(r);
      r.follower->turn();
      if (r.follows && r.runtime->view()->seq == database_.facts.durable_seq()) continue;
    }
    some = true;
  }
  return some;
}

// What people had held back may go on.
void World::release_everything() {
  const Engine& engine = judge().engine();
  ask(in::SetCluster{kCluster, Mode::kEnforce, {}, "test", false});
  for (AccountId id : engine.accounts().preorder()) {
    in::SetAccount account;
    account.spec = engine.accounts().node(id).spec;
    if (account.spec.path.empty() || account.spec.user) continue;
    account.spec.limit.clear();
    account.spec.budgets.clear();
    account.spec.held = account.spec.draining = false;
    account.reason = "test";
    ask(std::move(account));
  }
  for (const auto& [name, spec] : cluster_.nodes()) {
    ask(in::DrainNode{kCluster, name, false, "test"});
  }
  for (const JobRow& row : engine.jobs(JobId(), SIZE_MAX, JobState::kPaused, "")) {
    ask(in::HoldJob{row.id, false, "test"});
  }
}

// The engine's picture is the truth, and the other way round.
void World::compare_picture() {
  const std::map<std::string, Pictured> picture = picture_of(judge().engine());
  for (const auto& [name, pod] : cluster_.pods()) {
    if (!pod.live() || pod.evicted) continue;  // what is being stopped may be unknown already
    if (pod.record.shape.kind == GpuKind::kNone) continue;
    const auto known = picture.find(name);
    // Its gate went before anybody had told of it: it counts once it is bound.
    if (known == picture.end() && !pod.occupies() && !pod.record.gated) continue;
    if (known == picture.end()) {
      judge().wrong(name + " lives and the engine does not know it");
    } else if (pod.occupies() != is_bound(known->second.state) ||
               (pod.occupies() && pod.record.node != known->second.node)) {
      judge().wrong(name + " is on \"" + pod.record.node + "\", to the engine " +
                    std::string(enum_name(known->second.state)) + " on \"" + known->second.node +
                    "\"");
    } else if (known->second.state == PodState::kHeld && pod.place != known->second.node &&
               (pod.record.gated || !pod.record.let_go_to.empty())) {
      judge().wrong(name + " is reserved and its gate is not open");
    }
  }
  const Engine& engine = judge().engine();
  for (NodeId id : engine.fleet().nodes(ClusterId(1))) {
    const std::string& name = engine.fleet().node(id)->name;
    if (engine.fleet().others(id).cpu_milli != cluster_.non_gpu_cpu(name)) {
      judge().wrong("pods without GPUs take another sum of " + name);
    }
  }
  for (const auto& [name, known] : picture) {
    const auto pod = cluster_.pods().find(name);
    if (pod == cluster_.pods().end() || !pod->second.live()) {
      judge().wrong("the engine has " + name + " of " + text::job_id_text(known.job) + " as " +
                    std::string(enum_name(known.state)) + ", and there is no such pod");
    }
  }
}

// An operator repairs nodes that are unfit. Other nodes that turned pods away are tried again when
// their bars have ended.
void World::clear_backoffs() {
  std::vector<std::string> unfit;
  for (const NodeId id : judge().engine().fleet().nodes(ClusterId(1))) {
    const NodeSpec& node = *judge().engine().fleet().node(id);
    if (node.rejects) unfit.push_back(node.name);
  }
  for (const std::string& node : unfit) ask(in::DrainNode{kCluster, node, false, "repaired"});
  for (int i = 0; judge().some_node_is_backed_off() && !is_wrong(); ++i) {
    if (i == kMostTurns) return judge().wrong("nodes turn pods away for ever");
    pass_time(5 * kSecondMs);
    cluster_.progress();
    settle();
  }
}

// Nobody waits beside an idle node that would do; judged for single pods, which fit or do not.
void World::compare_waiting() {
  // Gangs that finish give their nodes away. The service's time may stand until a clock that was
  // set back has reached it.
  const TimeMs until_ms = leading()->runtime->now_ms() + limits::kGangFinishMs;
  for (int i = 0; leading()->runtime->now_ms() < until_ms && !is_wrong(); ++i) {
    if (i == kMostTurns) return judge().wrong("the service's time stands for ever");
    pass_time(5 * kSecondMs);
    settle();
  }
  const Engine& engine = judge().engine();
  if (engine.policy().patience_ms > 0) return;  // nodes may be reserved
  if (judge().has_claims()) return;             // GPUs may be claimed
  for (const JobRow& row : engine.jobs(JobId(), SIZE_MAX, JobState::kQueued, "")) {
    if (row.gang_size != 1 || waits_for_a_promise(engine, row)) continue;
    const PodShape& shape = row.request.groups[0].shape;
    for (NodeId id : engine.fleet().nodes(ClusterId(1))) {
      const NodeSpec& node = *engine.fleet().node(id);
      const bool right = shape.products.empty() || shape.products[0] == node.product;
      const NodeLevels levels = engine.fleet().levels(id);
      if (right && levels.installed - levels.allocated >= shape.gpus * kMilliPerGpu) {
        judge().wrong(text::job_id_text(row.id) + " waits though " + node.name + " has room");
      }
    }
  }
}

std::string World::unfinished() const {
  std::string all;
  for (const JobRow& row : judge().engine().jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    if (row.state == JobState::kDone) continue;
    all += " " + text::job_id_text(row.id) + " " + std::string(enum_name(row.state)) + " " +
           std::string(enum_name(row.cause));
  }
  for (const auto& [name, pod] : cluster_.pods()) {
    if (pod.live()) all += " pod " + name + (pod.record.gated ? " gated" : "");
  }
  return all;
}

// What only a person can end: gangs whose missing pods never come, pods without a controller whose
// node went while they were on their way to it, and jobs that no quota covers and no claim can end.
void World::give_up() {
  for (const JobRow& row : judge().engine().jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    const auto job = judge().engine().job(row.id, true);
    const bool left_behind =
        job->attempt > 0 && std::any_of(job->pods.begin(), job->pods.end(), [](const PodRow& pod) {
          return pod.state == PodState::kWaiting && !pod.uid.empty() && !is_closed(pod.gate);
        });
    const bool goes_on = job->state != JobState::kIncomplete && !left_behind &&
                         !waits_for_a_promise(judge().engine(), row);
    if (job->state == JobState::kEnding || goes_on) continue;
    post(*leading(), Input{0, "", "", in::CancelJob{row.id, "it cannot go on"}}, nullptr);
    settle();
  }
}

// Work goes on until there is none: every job that can start does, and ends.
void World::drain() {
  for (int round = 0; round < kMostRounds && !is_wrong(); ++round) {
    if (unfinished().empty()) return;
    pass_time(kMinuteMs);
    cluster_.progress();
    settle();
    if (round >= kPatienceRounds) give_up();
  }
  if (!is_wrong()) judge().wrong("never finished:" + unfinished());
}

// Who follows has what the facts say, and nothing else.
void World::compare_replicas() {
  Engine all;
  for (const Fact& fact : database_.facts.facts()) all.evolve(fact);
  for (const auto& r : replicas_) {
    r->follower->turn();
    if (r->follower->stats().seq != all.seq()) judge().wrong("a follower lags behind");
    if (r->has_led()) continue;
    r->follower->read([&](const Engine& engine) {
      if (engine.digest() != all.digest()) judge().wrong("a standby has another state");
    });
    r->follower->turn();
  }
}

namespace {

// What the books have of a pod that ran.
struct Charged {
  AllocationId id;
  TimeMs bound_ms = 0;
  TimeMs attempt_ms = 0;  // when its place became its own
  // It was somewhere else than we had put it, or came past us: its time begins when that was said,
  // which the books judge.
  bool elsewhere = false;
};

std::map<std::string, Charged> charged_pods(const std::vector<Fact>& facts) {
  std::map<std::string, Charged> pods;
  std::map<JobId, std::pair<TimeMs, fact::AttemptStarted>> attempts;
  std::map<std::pair<JobId, std::uint32_t>, std::string> uids;
  for (const Fact& fact : facts) {
    if (const auto* added = std::get_if<fact::PodAdded>(&fact.body)) {
      uids[{added->job, added->rank}] = added->uid;
      const AllocationId id{added->job, added->rank, 0};
      if (added->bound) pods[added->uid] = {id, added->bound_at_ms, 0, true};
    } else if (const auto* seated = std::get_if<fact::PodSeated>(&fact.body)) {
      uids[{seated->job, seated->rank}] = uids[{seated->job, seated->from}];
    } else if (const auto* ranked = std::get_if<fact::PodsRanked>(&fact.body)) {
      std::vector<std::string> moved;
      for (const auto& [from, rank] : ranked->moves) moved.push_back(uids[{ranked->job, from}]);
      for (std::size_t i = 0; i < moved.size(); ++i) {
        uids[{ranked->job, ranked->moves[i].rank}] = moved[i];
      }
    } else if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) {
      attempts[started->id] = {fact.time_ms, *started};
    } else if (const auto* bound = std::get_if<fact::PodBound>(&fact.body)) {
      const auto& [attempt_ms, attempt] = attempts[bound->job];
      const AllocationId id{bound->job, bound->rank, attempt.attempt};
      const auto uid = uids.find({bound->job, bound->rank});
      const PodRef ref = uid == uids.end() ? PodRef{"", id.job, id.rank, id.attempt}
                                           : PodRef{uid->second, {}, 0, 0};
      const bool elsewhere = attempt.slots.at(bound->rank).node != bound->slot.node;
      pods[name_of(ref)] = {id, bound->at_ms, attempt_ms, elsewhere};
    }
  }
  return pods;
}

}  // namespace

// Where nothing kept the service from knowing them, the times in the books are the true ones.
void World::compare_times() {
  if (!faults_.exact_times()) return;
  if (options_.clocks) return find_rows();
  const std::map<std::string, Charged> charged = charged_pods(database_.facts.facts());
  std::map<AllocationId, DurationMs> used;
  for (const Fact& fact : database_.facts.facts()) {
    const auto* const row = std::get_if<fact::Charged>(&fact.body);
    if (row == nullptr) continue;
    const UsageState state = row->row.state;
    // What is refunded for lost work is paid by the platform, so both rows together are nothing.
    const bool corrects = row->row.corrects != 0;
    if (state != UsageState::kUsed && state != UsageState::kForeign && !corrects) continue;
    const DurationMs span = row->row.to_ms - row->row.from_ms;
    used[row->row.allocation] += row->row.milligpu < 0 ? -span : span;
  }
  for (const TruePod& pod : cluster_.ended()) {
    if (pod.bound_ms == 0 || pod.record.shape.kind == GpuKind::kNone) continue;
    const auto known = charged.find(name_of(pod.ref));
    // A launcher may start what was taken back meanwhile, or what it has forgotten to have ended;
    // it is told, and stops it.
    const bool launched = pod.ref.uid.empty();
    if (known == charged.end()) {
      if (!launched) judge().wrong(name_of(pod.ref) + " ran and was never charged");
      continue;
    }
    const Charged& books = known->second;
    if (launched && pod.bound_ms != books.bound_ms) continue;
    // An attempt may have been taken back while its pod was bound, and nobody had said so: its place
    // was free in the books then.
    const TimeMs since =
        books.elsewhere ? books.bound_ms : std::max(pod.bound_ms, books.attempt_ms);
    if (used[books.id] != std::max<DurationMs>(0, pod.ended_ms - since)) {
      judge().wrong(name_of(pod.ref) + " ran " + std::to_string(pod.ended_ms - pod.bound_ms) +
                    " ms, charged were " + std::to_string(used[books.id]));
    }
  }
}

// Whatever clocks show, each pod that ran has rows. Their lengths are not compared here: while a service that was
// started by a wrong clock waits for the right one, news of a bind may come after the hold was charged
// (docs/design/0078, "Open points"). tests/takeover compares lengths.
void World::find_rows() {
  std::set<AllocationId> charged;
  for (const Fact& fact : database_.facts.facts()) {
    const auto* const row = std::get_if<fact::Charged>(&fact.body);
    if (row != nullptr && row->row.corrects == 0) charged.insert(row->row.allocation);
  }
  const std::map<std::string, Charged> bound = charged_pods(database_.facts.facts());
  for (const TruePod& pod : cluster_.ended()) {
    const bool ran = pod.bound_ms != 0 && pod.bound_ms != pod.ended_ms;
    if (!ran || pod.record.shape.kind == GpuKind::kNone) continue;
    const auto known = bound.find(name_of(pod.ref));
    // A launcher may start what was taken back meanwhile; it is told, and stops it.
    if (known == bound.end() && pod.ref.uid.empty()) continue;
    // An earlier attempt may have let it go: it may be bound before its last hold began.
    if (known != bound.end() && !pod.ref.uid.empty() && known->second.id.attempt > 1) continue;
    if (known == bound.end() || !charged.contains(known->second.id)) {
      judge().wrong(name_of(pod.ref) + " ran and has no row");
    }
  }
}

}  // namespace subak::fault
