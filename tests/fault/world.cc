#include "world.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/limits.h"

namespace subak::fault {

namespace {

// The times that whoever reports has read, by a clock that shows so much more.
void shift(in::Body& body, DurationMs by) {
  const auto move = [by](TimeMs& at) {
    if (at != 0) at = std::max<TimeMs>(at + by, 1);
  };
  if (auto* bound = std::get_if<in::PodBound>(&body)) move(bound->at_ms);
  if (auto* running = std::get_if<in::PodRunning>(&body)) move(running->at_ms);
  if (auto* gone = std::get_if<in::PodGone>(&body)) move(gone->ended_at_ms);
  if (auto* seen = std::get_if<in::PodSeen>(&body)) {
    move(seen->pod.ended_at_ms);
    move(seen->pod.running_at_ms);
  }
}

// Faults that leave the books exact.
Faults faults_of(const WorldOptions& options, sim::Rng& rng) {
  if (!options.faults) return Faults::none();
  Faults faults = Faults::draw(rng);
  if (!options.clocks) return faults;
  faults.lose = faults.delay = faults.reorder = faults.vanish = faults.clock = faults.nodes = false;
  faults.foreign = faults.edits = faults.crash = false;
  faults.retries = false;  // a leap of a day is more than request ids are kept
  return faults;
}

}  // namespace

World::World(WorldOptions options)
    : options_(options),
      rng_(options.seed),
      faults_(faults_of(options, rng_)),
      database_(options.planted),
      cluster_(rng_, faults_),
      users_(
          rng_, faults_,
          [this](const Input& i, const ReplyFn& done) { return post_to_any(i, done); },
          [this](const std::string& what) { judge().wrong(what); }),
      agent_(new_agent()) {
  if (options.replicas > 1 && options.faults) replica_faults_ = ReplicaFaults::draw(rng_);
  if (options.planted != Planted::kNothing) replica_faults_ = ReplicaFaults::all();
  replicas_.resize(options.replicas);
  judges_.push_back(std::make_unique<Judge>(database_.facts, options.trace));
  pass_time(0);
}

std::unique_ptr<World::Agent> World::new_agent() {
  auto agent = std::make_unique<Agent>();
  agent->edge = std::make_unique<Edge>(
      cluster_, rng_, faults_,
      [this, at = agent.get()](in::Body body, std::uint64_t session, ReplyFn done) {
        shift(body, said_off_ms_);
        Input input{0, "", "", std::move(body)};
        input.session = session;
        input.said_at_ms = cluster_.now + said_off_ms_;
        return post(*at->at, std::move(input), std::move(done));
      },
      [this, at = agent.get()] { return new_session(*at->at); },
      [at = agent.get()](const Effect& effect) { at->at->judge->delivered(effect); });
  return agent;
}

// As server/api gives them: greater than what the view has and than what this process gave.
std::uint64_t World::new_session(Replica& r) {
  const std::shared_ptr<const View> view = r.runtime->view();  // none before the first turn
  for (std::size_t i = 0; view != nullptr && i < view->clusters->size(); ++i) {
    r.last_session = std::max(r.last_session, (*view->clusters)[i].reports.session);
  }
  return ++r.last_session;
}

std::string World::faults() const {
  return faults_.text() + (replicas_.size() > 1 ? "; replicas: " + replica_faults_.text() : "");
}

std::vector<std::string> World::mistakes() {
  std::vector<std::string> all;
  for (const auto& judge : judges_) {
    for (std::string& line : judge->mistakes()) {
      if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(std::move(line));
    }
  }
  return all;
}

bool World::is_wrong() {
  return std::any_of(judges_.begin(), judges_.end(),
                     [](const auto& judge) { return !judge->mistakes().empty(); });
}

std::vector<std::string> World::run() {
  begin();
  for (int i = 0; i < options_.steps && !is_wrong(); ++i) step();
  return end();
}

void World::begin() {
  judge().say("seed " + std::to_string(options_.seed) + ", faults: " + faults());
  for (std::size_t i = 0; i < replicas_.size(); ++i) start(i);
  set_up();
}

std::vector<std::string> World::end() {
  if (!is_wrong()) finale();
  return mistakes();
}

// --- what a replica does -------------------------------------------------------------------------

void World::turn(Replica& r) {
  r.runtime->turn();
  judge_time(r);
  if (const auto view = r.runtime->view()) r.judge->viewed(*view);
}

// Whatever the wall clock does, the service's time follows the true time from the first believed
// instant on. It may be ahead by small steps only. It may be behind only while it stands still
// after such a step, or after a clock that is behind was accepted.
void World::judge_time(Replica& r) {
  const TimeMs now = r.runtime->now_ms();
  const std::int64_t boot = clock_.boot_ms();
  const ClockStatus status = r.runtime->stats().clock;
  const bool is_believed = status.state == ClockState::kBelieved;
  if (is_believed && status.offset_ms < -limits::kMaxClockStepMs) return r.believed.reset();
  if (!r.believed) {
    if (is_believed) r.believed = {now, boot};
    return;
  }
  const DurationMs passed = boot - r.believed->boot_ms;
  const DurationMs ahead = now - r.believed->wall_ms - passed;
  const DurationMs most = limits::kMaxClockStepMs * (2 + passed / limits::kClockAnchorMs);
  if (ahead > most || ahead < -most) {
    r.judge->wrong("in " + std::to_string(passed) + " ms time went on by " +
                   std::to_string(passed + ahead));
  }
}

// Nothing is committed, and nothing fails, while the database does not answer.
void World::commit(Replica& r, FaultStore::Fate fate) {
  if (!r.store.reaches()) return;
  database_.facts.fate = fate;
  r.runtime->commit();
  database_.facts.fate = FaultStore::Fate::kKept;
}

bool World::post(Replica& r, Input input, ReplyFn done) {
  if (r.is_asleep(clock_)) return false;
  const std::string name = "p" + std::to_string(++counts_.posts);
  input.actor = "world";
  const bool taken = r.runtime->post(
      std::move(input), [judge = r.judge, name, done = std::move(done)](const Reply& reply) {
        judge->acknowledged(name, reply);
        if (done) done(reply);
      });
  if (taken) r.judge->posted(name);
  return taken;
}

// Whoever asks and is refused asks the next.
bool World::post_to_any(const Input& input, const ReplyFn& done) {
  const std::size_t first = replicas_.size() == 1 ? 0 : rng_.below(replicas_.size());
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (post(*replicas_[(first + i) % replicas_.size()], input, done)) return true;
  }
  return false;
}

// --- one step ------------------------------------------------------------------------------------

void World::pass_time(DurationMs ms) {
  if (replicas_.size() == 1) return advance(ms);
  constexpr int kMostLooks = 20;
  for (int i = 0; i < kMostLooks && ms > limits::kHeartbeatMs; ++i, ms -= limits::kHeartbeatMs) {
    advance(limits::kHeartbeatMs);
    beat_and_look();
  }
  advance(ms);
  beat_and_look();
}

void World::advance(DurationMs ms) {
  cluster_.now += ms;
  clock_.mono_us += ms * 1000;
  clock_.wall = cluster_.now + skew_ms_;
}

// Who leads gives a sign of life, and who waits looks for it.
void World::beat_and_look() {
  for (const auto& r : replicas_) {
    if (r == nullptr || r->is_asleep(clock_)) continue;
    if (!r->has_led()) {
      follow(*r);
      continue;
    }
    const bool gets_late = options_.faults && !is_well_;
    if (gets_late && rng_.percent(r->store.is_leader() ? 10 : 60)) continue;
    if (!r->store.beat()) r->is_dead = true;
  }
}

// Somebody asks what changes nothing.
void World::ask_only() {
  Replica* const led_before = led_once();
  if (!rng_.percent(led_before != nullptr ? 50 : 5)) return;
  Replica& r = led_before != nullptr ? *led_before : some_replica();
  if (!r.has_led() || r.is_asleep(clock_) || r.is_dead) return;
  post(r, Input{0, "", "", in::AcceptClock{0, true, "", true}}, nullptr);
  turn(r);
  if (rng_.percent(80)) commit(r, FaultStore::Fate::kKept);
}

void World::set_up() {
  Replica& first = *leading();
  for (in::Body& body : Users::set_up(rng_, options_.reclaims)) {
    while (!post(first, Input{0, "", "", body}, nullptr)) {
      turn(first);
      commit(first, FaultStore::Fate::kKept);
    }
  }
  settle();
}

// Somebody sets a clock, or the service is killed and starts by one that is wrong for a while.
void World::clock_step() {
  if (rng_.percent(3)) said_off_ms_ = rng_.between(-kDayMs, kDayMs);
  if (!rng_.percent(1)) return;
  if (leading() == nullptr || !leading()->runtime) return;
  skew_ms_ = rng_.between(-kDayMs, kDayMs);
  pass_time(0);
  crash(0);
  for (std::uint64_t i = 5 + rng_.below(60); i > 0 && !is_wrong(); --i) {
    edge_step();
    service_step();
    cluster_.act();
    if (rng_.percent(20)) pass_time(rng_.between(0, 5'000));
  }
  skew_ms_ = 0;
  pass_time(0);
  if (leading() == nullptr || !leading()->runtime) return;
  // It runs by the right clock until what it finds out by that is durable.
  turn(*leading());
  commit(*leading(), FaultStore::Fate::kKept);
  turn(*leading());
}

void World::step() {
  if (options_.clocks) clock_step();
  const std::uint64_t chance = options_.reclaims && judge().has_claims() ? 25 : 5;
  if (replicas_.size() > 1 && options_.faults && rng_.percent(chance)) replica_step();
  if (replicas_.size() > 1) ask_only();
  const std::uint64_t dice = rng_.below(100);
  if (dice < 8) {
    pass_time(rng_.percent(90) ? rng_.between(0, 5'000) : rng_.between(0, 10 * kMinuteMs));
    if (faults_.clock && rng_.percent(5)) {
      skew_ms_ = rng_.between(-kHourMs, kHourMs);
      // Never taken, also at a start: the day for which request ids are kept does not pass by it.
      if (skew_ms_ % 4 == 0) skew_ms_ += skew_ms_ < 0 ? -400 * kDayMs : 400 * kDayMs;
    }
  } else if (dice < 30) {
    cluster_.act();
  } else if (dice < 65) {
    edge_step();
  } else if (dice < 72) {
    users_.act();
  } else {
    service_step();
  }
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i]->is_dead) crash(i);
  }
}

// The agent that was replaced is gone; replies to it may be on their way.
void World::retire() {
  if (old_agent_ == nullptr) return;
  old_agent_->edge->disconnect();
  gone_agents_.push_back(std::move(old_agent_));
}

void World::connect(Agent& agent) {
  Replica& r = some_replica();
  if (r.runtime->view() == nullptr || r.is_asleep(clock_)) return;  // nobody is let in
  agent.at = &r;
  agent.edge->connect(*r.runtime, ClusterId(1));
}

void World::edge_step() {
  if (!agent_->edge->connected()) return connect(*agent_);
  Agent& agent = old_agent_ != nullptr && rng_.percent(30) ? *old_agent_ : *agent_;
  if (agent.at->is_asleep(clock_)) return wait_for_sleeper(agent);
  Edge& edge = *agent.edge;
  const std::uint64_t dice = rng_.below(100);
  if (dice < 60) {
    edge.send();
  } else if (dice < 97) {
    edge.carry_out();
  } else if (dice == 97 && faults_.second_edge) {
    retire();
    old_agent_ = std::exchange(agent_, new_agent());
  } else if (dice == 98 && faults_.disconnect) {
    if (&agent == old_agent_.get()) return retire();
    edge.disconnect();
  } else if (dice == 99 && faults_.disconnect) {
    agent_->edge->relist();
  }
}

// It hears nothing: in the end its line breaks, or another takes its place and it goes on with who slept.
void World::wait_for_sleeper(Agent& agent) {
  if (!rng_.percent(20)) return;
  if (&agent == old_agent_.get()) return retire();
  if (rng_.percent(50)) return agent.edge->disconnect();
  retire();
  old_agent_ = std::exchange(agent_, new_agent());
}

void World::service_step() {
  Replica& r = some_replica();
  if (r.is_asleep(clock_)) return;
  if (!r.has_led()) return follow(r);
  const std::uint64_t dice = rng_.below(1000);
  const bool slow = faults_.slow_store && rng_.percent(80);
  const bool alone = replicas_.size() == 1;
  if (dice < 450) {
    turn(r);
  } else if (dice < 800) {
    if (!slow) commit(r, FaultStore::Fate::kKept);
  } else if (dice < 980) {
    database_.facts.checkpoints_fail = faults_.failing_store && rng_.percent(30);
    if (!faults_.slow_follower || rng_.percent(20)) r.follower->turn();
  } else if (dice < 985) {
    if (alone && faults_.failing_store) {
      commit(r, rng_.percent(50) ? FaultStore::Fate::kLost : FaultStore::Fate::kKeptButFailed);
    }
  } else if (alone && faults_.crash) {
    rng_.percent(90) ? crash(0) : stop(0);
  }
}

}  // namespace subak::fault
