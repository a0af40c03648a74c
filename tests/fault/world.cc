#include "world.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace subak::fault {

World::World(WorldOptions options)
    : options_(options),
      rng_(options.seed),
      faults_(Faults::draw(rng_)),
      store_(options.planted),
      judge_(store_, options.trace),
      cluster_(rng_, faults_),
      users_(
          rng_, faults_,
          [this](Input i, ReplyFn done) { return post(std::move(i), std::move(done)); },
          [this](const std::string& what) { judge_.wrong(what); }),
      edge_(new_edge()) {
  pass_time(0);
}

std::unique_ptr<Edge> World::new_edge() {
  return std::make_unique<Edge>(
      cluster_, rng_, faults_,
      [this](in::Body body, std::uint64_t session, ReplyFn done) {
        Input input{0, "", "", std::move(body)};
        input.session = session;
        return post(std::move(input), std::move(done));
      },
      [this] { return new_session(); }, [this](const Effect& effect) { judge_.delivered(effect); });
}

// As server/api gives them: greater than what the view has and than what this process gave.
std::uint64_t World::new_session() {
  const std::shared_ptr<const View> view = runtime_->view();  // none before the first turn
  for (std::size_t i = 0; view != nullptr && i < view->clusters->size(); ++i) {
    last_session_ = std::max(last_session_, (*view->clusters)[i].session);
  }
  return ++last_session_;
}

std::vector<std::string> World::run() {
  judge_.say("seed " + std::to_string(options_.seed) + ", faults: " + faults_.text());
  start();
  set_up();
  for (int i = 0; i < options_.steps && !is_wrong(); ++i) step();
  if (!is_wrong()) finale();
  return judge_.mistakes();
}

// --- the service's life --------------------------------------------------------------------------

void World::start() {
  judge_.say("--- the service starts");
  judge_.recovered();
  FollowerOptions follower;
  follower.stepped = true;
  follower.checkpoint_every = 20 + rng_.below(100);
  follower.checkpoint_on_stop = rng_.percent(50);
  follower.most_queued_facts = faults_.slow_follower ? 10 : 1000;
  follower.on_digest_mismatch = [this] { judge_.wrong("the follower differs from the loop"); };
  follower_ = std::make_unique<Follower>(follower, store_);
  RuntimeOptions options;
  options.stepped = true;
  options.digest_every = 1;
  if (faults_.small_mailbox) options.most_waiting = 4;
  options.record = [this](const Input& input) { judge_.saw(input); };
  options.on_durable = [this](const Released& batch) {
    judge_.released(batch);
    follower_->durable(batch);
  };
  options.fatal = [this](const Error&) { dead_ = true; };
  runtime_ = std::make_unique<Runtime>(options, store_, clock_);
  dead_ = false;
  believed_.reset();
  if (follower_->start() || !runtime_->start().ok()) judge_.wrong("the service does not start");
}

void World::crash() {
  if (rng_.percent(50)) {
    commit(rng_.percent(50) ? FaultStore::Fate::kKept : FaultStore::Fate::kKeptButFailed);
  }
  judge_.say("--- the service is gone");
  edge_->disconnect();
  retire();
  last_session_ = 0;
  users_.crashed();
  runtime_ = nullptr;
  follower_ = nullptr;
  store_.crash();
  judge_.crashed();
  // Also for longer than a hold lasts.
  if (rng_.percent(30))
    pass_time(rng_.between(0, rng_.percent(20) ? 30 * kMinuteMs : 5 * kMinuteMs));
  start();
}

// Whatever was accepted is answered before the service goes.
void World::stop() {
  judge_.say("--- the service stops");
  store_.fate = FaultStore::Fate::kKept;
  runtime_->stop();
  follower_->stop();
  crash();
}

void World::turn() {
  runtime_->turn();
  judge_time();
  if (const auto view = runtime_->view()) judge_.viewed(*view);
}

// Whatever the wall clock does, the service's time follows the true time from the first believed
// instant on. It may be ahead by small steps only. It may be behind only while it stands still
// after such a step, or after a clock that is behind was accepted.
void World::judge_time() {
  const TimeMs now = runtime_->now_ms();
  const std::int64_t boot = clock_.boot_ms();
  const ClockStatus status = runtime_->stats().clock;
  const bool is_believed = status.state == ClockState::kBelieved;
  if (is_believed && status.offset_ms < -limits::kMaxClockStepMs) return believed_.reset();
  if (!believed_) {
    if (is_believed) believed_ = {now, boot};
    return;
  }
  const DurationMs passed = boot - believed_->boot_ms;
  const DurationMs ahead = now - believed_->wall_ms - passed;
  const DurationMs most = limits::kMaxClockStepMs * (2 + passed / limits::kClockAnchorMs);
  if (ahead > most || ahead < -most) {
    judge_.wrong("in " + std::to_string(passed) + " ms time went on by " +
                 std::to_string(passed + ahead));
  }
}

void World::commit(FaultStore::Fate fate) {
  store_.fate = fate;
  runtime_->commit();
  store_.fate = FaultStore::Fate::kKept;
}

bool World::post(Input input, ReplyFn done) {
  const std::string name = "p" + std::to_string(++posts_);
  input.actor = "world";
  const bool taken =
      runtime_->post(std::move(input), [this, name, done = std::move(done)](const Reply& reply) {
        judge_.acknowledged(name, reply);
        if (done) done(reply);
      });
  if (taken) judge_.posted(name);
  return taken;
}

// --- one step ------------------------------------------------------------------------------------

void World::pass_time(DurationMs ms) {
  cluster_.now += ms;
  clock_.mono_us += ms * 1000;
  clock_.wall = cluster_.now + skew_ms_;
}

void World::set_up() {
  for (in::Body& body : Users::set_up(rng_)) {
    while (!post(Input{0, "", "", body}, nullptr)) {
      turn();
      commit(FaultStore::Fate::kKept);
    }
  }
  settle();
}

void World::step() {
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
  if (dead_) crash();
}

// The edge that was replaced is gone; replies to it may be on their way.
void World::retire() {
  if (old_edge_ == nullptr) return;
  old_edge_->disconnect();
  gone_edges_.push_back(std::move(old_edge_));
}

void World::edge_step() {
  if (runtime_->view() == nullptr) return;  // not ready: nobody is let in
  if (!edge_->connected()) return edge_->connect(*runtime_, ClusterId(1));
  Edge& edge = old_edge_ != nullptr && rng_.percent(30) ? *old_edge_ : *edge_;
  const std::uint64_t dice = rng_.below(100);
  if (dice < 60) {
    edge.send();
  } else if (dice < 97) {
    edge.carry_out();
  } else if (dice == 97 && faults_.second_edge) {
    retire();
    old_edge_ = std::exchange(edge_, new_edge());
  } else if (dice == 98 && faults_.disconnect) {
    if (&edge == old_edge_.get()) return retire();
    edge.disconnect();
  } else if (dice == 99 && faults_.disconnect) {
    edge_->relist();
  }
}

void World::service_step() {
  const std::uint64_t dice = rng_.below(1000);
  const bool slow = faults_.slow_store && rng_.percent(80);
  if (dice < 450) {
    turn();
  } else if (dice < 800) {
    if (!slow) commit(FaultStore::Fate::kKept);
  } else if (dice < 980) {
    store_.checkpoints_fail = faults_.failing_store && rng_.percent(30);
    if (!faults_.slow_follower || rng_.percent(20)) follower_->turn();
  } else if (dice < 985) {
    if (faults_.failing_store) {
      commit(rng_.percent(50) ? FaultStore::Fate::kLost : FaultStore::Fate::kKeptButFailed);
    }
  } else if (faults_.crash) {
    rng_.percent(90) ? crash() : stop();
  }
}

}  // namespace subak::fault
