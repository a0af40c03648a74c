// The processes of a fault world: how they start, follow, lead and end.
#include <algorithm>
#include <utility>

#include "admission/policy.h"
#include "admission/review.h"
#include "core/limits.h"
#include "world.h"

namespace subak::fault {

Replica& World::some_replica() {
  if (replicas_.size() == 1) return *replicas_[0];
  Replica* const leader = leading();
  if (leader != nullptr && rng_.percent(50)) return *leader;
  Replica* const other = led_once();
  if (other != nullptr && rng_.percent(50)) return *other;
  return *replicas_[rng_.below(replicas_.size())];
}

// Awake, and does not know that another leads by now.
Replica* World::led_once() {
  for (const auto& r : replicas_) {
    const bool can_act = r->has_led() && !r->is_dead && !r->is_asleep(clock_);
    if (can_act && !r->store.is_leader()) return r.get();
  }
  return nullptr;
}

Replica* World::leading() {
  for (const auto& r : replicas_) {
    if (r->has_led() && r->store.is_leader() && !r->is_dead) return r.get();
  }
  return nullptr;
}

void World::start(std::size_t i) {
  const std::string name = "process " + std::to_string(++counts_.starts);
  replicas_[i] = std::make_unique<Replica>(database_, clock_, name);
  Replica& r = *replicas_[i];
  judge().say("--- the service starts: " + name);
  make_parts(r);
  if (replicas_.size() > 1) return follow(r);
  r.store.lead_alone();
  lead(r);
}

void World::make_parts(Replica& r) {
  FollowerOptions follower;
  follower.stepped = true;
  follower.checkpoint_every = 20 + rng_.below(100);
  follower.checkpoint_on_stop = rng_.percent(50);
  follower.most_queued_facts = faults_.slow_follower ? 10 : 1000;
  follower.may_write = [&r] { return r.runtime->stats().leads; };
  follower.on_digest_mismatch = [&r] { r.judge->wrong("the follower differs from the loop"); };
  follower.fatal = [&r](const Error&) { r.is_dead = true; };
  r.follower = std::make_unique<Follower>(follower, r.store);
  RuntimeOptions options;
  options.stepped = true;
  options.digest_every = 1;
  if (faults_.small_mailbox) options.most_waiting = 4;
  options.record = [this, &r](const Input& input) {
    ++counts_.inputs;
    r.judge->saw(input);
  };
  options.on_durable = [this, &r](const Released& batch) { released(r, batch); };
  options.fatal = [&r](const Error&) { r.is_dead = true; };
  r.runtime = std::make_unique<Runtime>(options, r.store, clock_);
  r.standby = std::make_unique<Standby>(Standby::Ports{r.store, *r.runtime, nullptr, {}, {}, {}});
}

// Nothing is shown by who leads no longer: not what rests on no commit, nor an effect of one that is long past.
void World::released(Replica& r, const Released& batch) {
  if (batch.ours) {
    r.judge->released(batch);
    const auto lost_for_ms = r.store.lost_for_ms();
    if (lost_for_ms) {
      r.judge->wrong("shown by who led no longer for " + std::to_string(*lost_for_ms) + " ms");
    }
  }
  r.follower->durable(batch);
}

// One look of who waits. A look that finds no database is no news.
void World::follow(Replica& r) {
  if (r.follows) {
    const Result<bool> leads = r.standby->look();
    if (!leads.ok()) return judge().wrong(leads.error().message());
    if (*leads) lead(r);
    if (!faults_.slow_follower || rng_.percent(20)) r.follower->turn();
    return;
  }
  const auto begun = r.standby->try_begin();
  if (!begun.ok() || *begun == Standby::Begun::kNotYet) return;
  if (*begun == Standby::Begun::kLeads) return lead(r);
  if (r.follower->start()) judge().wrong("a standby does not start");
  r.follows = true;
}

// From now on it decides, and a judge of its own looks at it.
void World::lead(Replica& r) {
  judges_.push_back(judge().successor());
  judge().say("--- " + r.store.describe() + " leads");
  judge().recovered();
  r.judge = &judge();
  for (const auto& known : judges_) {
    const bool is_needed = std::any_of(replicas_.begin(), replicas_.end(), [&](const auto& other) {
      return other != nullptr && other->judge == known.get();
    });
    if (!is_needed) known->crashed();
  }
  if (!r.follows && r.follower->start()) judge().wrong("the service does not start");
  if (!r.runtime->start().ok()) judge().wrong("the service does not start");
  if (!database_.network.empty() && rng_.percent(50)) database_.deliver(0);
}

// Whoever was connected to it has to look for another.
void World::leave(Replica& r) {
  if (agent_->at == &r) {
    agent_->edge->disconnect();
    agent_->at = nullptr;
  }
  if (old_agent_ != nullptr && old_agent_->at == &r) retire();
}

void World::crash(std::size_t i) {
  Replica& r = *replicas_[i];
  const bool alone = replicas_.size() == 1;
  if (alone && rng_.percent(50)) {
    commit(r, rng_.percent(50) ? FaultStore::Fate::kKept : FaultStore::Fate::kKeptButFailed);
  }
  if (!alone && r.has_led() && !r.is_dead && replica_faults_.kill && rng_.percent(50)) {
    turn(r);
    r.store.dies_with_it = true;
    commit(r, FaultStore::Fate::kKept);
  }
  judge().say("--- the service is gone: " + r.store.describe());
  leave(r);
  users_.crashed();
  replicas_[i] = nullptr;
  if (alone) {
    database_.facts.crash();
    // Also for longer than a hold lasts.
    if (rng_.percent(30))
      pass_time(rng_.between(0, rng_.percent(20) ? 30 * kMinuteMs : 5 * kMinuteMs));
  }
  start(i);
}

// Whatever was accepted is answered before the service goes.
void World::stop(std::size_t i) {
  Replica& r = *replicas_[i];
  judge().say("--- the service stops: " + r.store.describe());
  r.runtime->stop();
  if (replicas_.size() > 1) r.store.give_up_lead();
  r.follower->stop();
  crash(i);
}

std::string World::ask_webhooks() const {
  std::string body =
      R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
      "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "namespace": "ns-a",
      "userInfo": {"username": "ana"}, "object": {"apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "p", "namespace": "ns-a"}, "spec": {"containers": [{"name": "c",
      "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}})";
  const std::size_t size = body.size();
  body.append(kBodyPadding, ' ');
  ReviewParser reader;
  const auto review = reader.parse({body.data(), size});
  if (!review.ok()) return review.error().message();
  for (const auto& r : replicas_) {
    const Decision decision =
        decide(*r->runtime->view(), AdmissionConfig(), kCluster, Endpoint::kMutate, *review);
    if (decision.verdict == Verdict::kPatched && decision.because == Because::kGated) continue;
    return r->store.describe() + ": " + std::string(enum_name(decision.verdict)) + ", " +
           std::string(enum_name(decision.because));
  }
  return "";
}

void World::replica_step() {
  const std::size_t i = rng_.below(replicas_.size());
  Replica& r = *replicas_[i];
  const auto note = [&](const char* fault) {
    if (&r == leading() && judge().has_claims()) ++counts_.faults_in_claims[fault];
  };
  const std::uint64_t dice = rng_.below(100);
  if (dice < 20 && replica_faults_.sleep) {
    const DurationMs most = rng_.percent(80) ? 30 * kSecondMs : 10 * kMinuteMs;
    note("paused");
    r.asleep_until_ms = clock_.boot_ms() + rng_.between(500, most);
    judge().say("--- asleep: " + r.store.describe());
  } else if (dice < 40 && replica_faults_.cut) {
    note("cut off");
    r.store.is_cut_off = true;
    judge().say("--- cut off: " + r.store.describe());
  } else if (dice < 50 && replica_faults_.away) {
    database_.is_away = true;
    judge().say("--- the database is away");
  } else if (dice < 60 && replica_faults_.kill) {
    note("killed");
    crash(i);
  } else if (dice < 65 && replica_faults_.stop && !r.is_asleep(clock_) && r.store.reaches()) {
    stop(i);
  } else if (dice < 75 && !database_.network.empty()) {
    database_.deliver(rng_.below(database_.network.size()));
  } else {
    database_.is_away = false;
    for (const auto& other : replicas_) other->store.is_cut_off = false;
    judge().say("--- all reach the database");
  }
}

}  // namespace subak::fault
