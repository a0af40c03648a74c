#include "judge.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "core/names.h"

namespace subak::fault {
namespace {

constexpr std::size_t kCompareEvery = 40;

// The moves that a job can make by one input.
bool legal(JobState from, JobState to) {
  using S = JobState;
  if (to == S::kDone) return from != S::kDone;
  switch (from) {
    case S::kIncomplete:  // it pauses if its backoff goes on
      return to == S::kQueued || to == S::kPaused || to == S::kEnding;
    case S::kQueued:
      return to == S::kIncomplete || to == S::kPaused || to == S::kStarting || to == S::kEnding;
    case S::kPaused:
      return to == S::kIncomplete || to == S::kQueued || to == S::kEnding;
    case S::kStarting:
      return is_waiting(to) || to == S::kRunning || to == S::kEnding;
    case S::kRunning:
      return is_waiting(to) || to == S::kEnding;
    case S::kEnding:
      return is_waiting(to);
    case S::kDone:
      return false;
  }
  return false;
}

// What the account's jobs hold, without what they claim.
MilliGpu held_at(const AccountNode& node) {
  MilliGpu held = node.alloc();
  for (const auto& [product, amount] : node.jobs.claimed) held -= amount;
  return held;
}

void touch(std::set<JobId>& jobs, JobId id) { jobs.insert(id); }
template <class Other>
void touch(std::set<JobId>&, const Other&) {}

}  // namespace

Judge::Judge(FaultStore& store, bool trace) : store_(store), trace_(trace) {}

void Judge::wrong(const std::string& what) {
  say("WRONG: " + what);
  mistakes_.push_back(what);
}

void Judge::say(const std::string& what) const {
  if (trace_) std::cout << what << "\n";
}

std::vector<std::string> Judge::mistakes() {
  std::vector<std::string> all = mistakes_;
  const auto add = [&](const std::vector<std::string>& more, const char* who) {
    for (const std::string& line : more) all.push_back(std::string(who) + line);
  };
  add(store_.complaints, "store: ");
  add(memory_.oracle.mistakes(), "oracle: ");
  add(memory_.books.mistakes, "books: ");
  return all;
}

// --- the service's life --------------------------------------------------------------------------

std::unique_ptr<Engine> Judge::fold() const {
  auto engine = std::make_unique<Engine>();
  for (const Fact& fact : store_.facts()) engine->evolve(fact);
  return engine;
}

std::unique_ptr<Judge> Judge::successor() const {
  auto next = std::make_unique<Judge>(store_, trace_);
  next->history_ = history_;
  next->started_ = started_;
  next->stopped_ = stopped_;
  next->taken_back_ = taken_back_;
  next->gates_ = gates_;
  next->digests_ = digests_;
  return next;
}

void Judge::posted(const std::string& post) { waiting_.push_back(post); }

void Judge::crashed() {
  waiting_.clear();
  applied_.clear();
  made_.clear();
  engine_ = nullptr;
}

void Judge::recovered() {
  engine_ = std::make_unique<Engine>();
  const auto reader = std::move(*store_.open_reader());
  if (!recover_engine(*reader, *engine_).ok()) wrong("the store cannot be read");
  const auto digest = engine_->digest();
  if (fold()->digest() != digest) wrong("checkpoint and tail differ from the whole history");
  const auto before = digests_.find(engine_->seq());
  if (before != digests_.end() && before->second != digest) {
    wrong("the state after the restart is not the one before");
  }
  engine_->check_invariants();
  const std::uint64_t durable = store_.durable_seq();
  std::erase_if(history_, [&](const Seen& seen) { return seen.seq > durable; });
  // A list that began after the last durable fact is forgotten, and so is its time.
  while (!history_.empty() && history_.back().outcome.facts.empty()) history_.pop_back();
  digests_.erase(digests_.upper_bound(durable), digests_.end());
  released_facts_ = durable;
  std::erase_if(started_, [&](const auto& entry) { return entry.second > durable; });
  std::erase_if(stopped_, [&](const auto& entry) { return entry.second > durable; });
  std::erase_if(taken_back_, [&](const auto& entry) { return entry.second > durable; });
  jobs_.clear();
  for (const JobRow& row : engine_->jobs(JobId(), SIZE_MAX, std::nullopt, "")) {
    jobs_[row.id] = {row.state, row.attempt};
  }
  memory_ = Memory();
  for (const Seen& seen : history_) judge(seen, nullptr);
}

void Judge::saw(const Input& input) {
  Seen seen{input, engine_->apply(input), 0};
  seen.seq = engine_->seq();
  made_.insert(made_.end(), seen.outcome.facts.begin(), seen.outcome.facts.end());
  if (trace_) {
    std::cout << "> " << input_to_text(input) << "\n";
    for (const Fact& fact : seen.outcome.facts) std::cout << fact_to_text(fact) << "\n";
    if (seen.outcome.reply.error) std::cout << "  " << seen.outcome.reply.error->message() << "\n";
  }
  engine_->check_invariants();
  judge(seen, engine_.get());
  if (++inputs_ % kCompareEvery == 0) {
    memory_.oracle.compare(*engine_);
    digests_[engine_->seq()] = engine_->digest();
  }
  note_effects(seen.outcome.facts);
  if (!input.actor.empty()) {  // not the runtime's own
    applied_[waiting_.front()] = engine_->seq();
    waiting_.pop_front();
  }
  // What may wait for a node, or ends waiting, makes no fact; nor does what begins anew, or says
  // that a cluster was heard, and what its list names.
  const bool counts = std::holds_alternative<in::ListBegin>(input.body) ||
                      std::holds_alternative<in::Restarted>(input.body) ||
                      std::holds_alternative<in::PodSeen>(input.body) ||
                      std::holds_alternative<in::PodBound>(input.body) ||
                      std::holds_alternative<in::PodGone>(input.body) ||
                      std::holds_alternative<in::PodRunning>(input.body) ||
                      std::holds_alternative<in::NodeSeen>(input.body) ||
                      std::holds_alternative<in::NodeGone>(input.body) ||
                      std::holds_alternative<in::PodRefused>(input.body) ||
                      std::holds_alternative<in::SeenUntil>(input.body) ||
                      std::holds_alternative<in::ListComplete>(input.body);
  if (counts || !seen.outcome.facts.empty()) history_.push_back(std::move(seen));
}

void Judge::judge(const Seen& seen, const Engine* engine) {
  memory_.oracle.saw(seen.input, seen.outcome);
  memory_.books.saw(seen.input, seen.outcome);
  if (engine == nullptr) return;
  judge_moves(seen, *engine);
  judge_limits(seen, *engine);
  judge_places(seen, *engine);
}

void Judge::judge_moves(const Seen& seen, const Engine& engine) {
  std::set<JobId> touched;
  std::map<JobId, std::uint32_t> starts;  // in a pass, a job may start and be preempted at once
  for (const Fact& fact : seen.outcome.facts) {
    if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) ++starts[started->id];
    std::visit(
        [&](const auto& body) {
          if constexpr (requires { body.job; }) touch(touched, body.job);
          if constexpr (requires { body.id; }) touch(touched, body.id);
        },
        fact.body);
    if (const auto* created = std::get_if<fact::JobCreated>(&fact.body)) {
      const bool first = jobs_.emplace(created->id, Known{created->state, 0}).second;
      if (!first) wrong("the id " + text::job_id_text(created->id) + " was given twice");
    }
  }
  touched.erase(JobId());
  for (const JobId id : touched) {
    const auto row = engine.job(id, false);
    Known& known = jobs_.at(id);
    const std::string name = text::job_id_text(id);
    if (!row) {
      wrong(name + " is forgotten");
      continue;
    }
    if (row->state != known.state && !legal(known.state, row->state)) {
      wrong(name + " went from " + std::string(enum_name(known.state)) + " to " +
            std::string(enum_name(row->state)));
    }
    if (row->attempt != known.attempt + starts[id]) wrong(name + " skips an attempt");
    known = {row->state, row->attempt};
    judge_reasons(*row, engine);
  }
}

// A job has a reason exactly when it waits, or when its gang has no rank for some of its pods.
void Judge::judge_reasons(const JobRow& row, const Engine& engine) {
  const std::vector<PodRow> pods = engine.job(row.id, true)->pods;
  const bool crowded = std::any_of(pods.begin(), pods.end(), [&](const PodRow& pod) {
    return pod.rank >= row.gang_size && pod.state == PodState::kWaiting;
  });
  const bool waits = row.state == JobState::kIncomplete || row.state == JobState::kQueued ||
                     row.state == JobState::kPaused || crowded;
  const std::vector<Reason> all = engine.reasons(row.id, 0);
  const std::optional<Reason> first = engine.first_reason(row.id, 0);
  if (waits == all.empty() || waits != first.has_value()) {
    wrong(text::job_id_text(row.id) + " is " + std::string(enum_name(row.state)) + " with " +
          std::to_string(all.size()) + " reasons");
  }
}

// Nothing new starts on a node that MIG Manager changes, by the labels that the service has of it.
void Judge::judge_places(const Seen& seen, const Engine& engine) {
  for (const Fact& fact : seen.outcome.facts) {
    const auto* started = std::get_if<fact::AttemptStarted>(&fact.body);
    if (started == nullptr) continue;
    for (const PodSlot& slot : started->slots) {
      const NodeSpec* const node = engine.fleet().node(slot.node);
      if (node == nullptr) continue;
      for (const Label& label : node->labels) {
        if (label.key != names::kLabelMigState || label.value == "success") continue;
        wrong(text::job_id_text(started->id) + " starts on " + node->name +
              ", where MIG Manager's state is " + label.value);
      }
    }
  }
}

void Judge::judge_limits(const Seen& seen, const Engine& engine) {
  const AccountTree& tree = engine.accounts();
  for (const Fact& fact : seen.outcome.facts) {
    const auto* started = std::get_if<fact::AttemptStarted>(&fact.body);
    if (started == nullptr) continue;
    const auto row = engine.job(started->id, false);
    std::string path = row->user.empty() ? row->account : row->account + "/" + row->user;
    for (AccountId a = tree.find(path); a; a = tree.node(a).parent) {
      for (const ProductAmount& limit : tree.node(a).spec.limit) {
        if (limit.product == kAnyProduct && held_at(tree.node(a)) > limit.milligpu) {
          wrong(text::job_id_text(started->id) + " lifts " + tree.node(a).spec.path +
                " above its limit");
        }
      }
    }
  }
}

void Judge::note_effects(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) {
      started_[{started->id, started->attempt}] = fact.seq;
    } else if (const auto* stop = std::get_if<fact::StopAsked>(&fact.body)) {
      stopped_.try_emplace({stop->id, stop->cause}, fact.seq);  // it may be asked again
    } else if (const auto* ended = std::get_if<fact::AttemptEnded>(&fact.body)) {
      taken_back_.try_emplace({ended->id, ended->attempt}, fact.seq);
    } else if (const auto* lost = std::get_if<fact::PlaceLost>(&fact.body)) {
      const auto after = started_.upper_bound({lost->job, UINT32_MAX});
      if (after != started_.begin()) taken_back_.try_emplace(std::prev(after)->first, fact.seq);
    }
  }
}

void Judge::released(const Released& batch) {
  if (batch.seq > store_.durable_seq()) wrong("a batch was released before it was durable");
  for (const Fact& fact : *batch.facts) {
    const auto& all = store_.facts();
    if (fact.seq != ++released_facts_) wrong("a fact was released out of order");
    if (fact.seq <= all.size() && fact_to_text(all[fact.seq - 1]) != fact_to_text(fact)) {
      wrong("another fact was released than stored");
    }
    if (made_.empty() || fact_to_text(made_.front()) != fact_to_text(fact)) {
      wrong("decided otherwise than an engine with the same inputs: " + fact_to_text(fact));
    }
    if (!made_.empty()) made_.pop_front();
  }
}

// --- what it shows -------------------------------------------------------------------------------

void Judge::acknowledged(const std::string& post, const Reply& reply) {
  const auto applied = applied_.find(post);
  if (applied == applied_.end()) return wrong(post + " was answered and never applied");
  if (applied->second > store_.durable_seq()) wrong(post + " was answered before it was durable");
  say("  answer to " + post + (reply.error ? ": " + reply.error->message() : ""));
}

void Judge::delivered(const Effect& effect) {
  const bool open = effect.kind == EffectKind::kOpenGate;
  const std::string job = text::job_id_text(effect.job);
  say("  effect " + std::string(enum_name(effect.kind)) + " " + job);
  std::uint64_t rests_on = 0;
  if (effect.kind != EffectKind::kEvict) {
    const auto& facts = open ? started_ : taken_back_;
    const auto known = facts.find({effect.job, effect.attempt});
    rests_on = known == facts.end() ? UINT64_MAX : known->second;
  } else {
    const auto known = stopped_.find({effect.job, effect.cause});
    rests_on = known == stopped_.end() ? UINT64_MAX : known->second;
  }
  if (rests_on > store_.durable_seq()) wrong("an effect for " + job + " before it was durable");
  if (!open) return;
  for (const EffectPod& pod : effect.pods) {
    const std::string key = pod.uid.empty() ? job + "/" + std::to_string(pod.rank) + "/" +
                                                  std::to_string(effect.attempt)
                                            : pod.uid;
    const Opened opened{effect.attempt, pod.node + " " + std::to_string(pod.gpu_mask)};
    Opened& before = gates_.emplace(key, opened).first->second;
    if (before.attempt == opened.attempt && before.where != opened.where) {
      wrong("the gate of " + key + " was opened for two places");
    }
    before = opened;
  }
}

void Judge::viewed(const View& view) {
  if (view.seq > store_.durable_seq()) wrong("a view was published before it was durable");
}

void Judge::audit(bool ids_last) {
  const auto all = fold();
  if (all->digest() != engine_->digest()) wrong("the history folds to another state");
  all->check_invariants();
  memory_.oracle.compare(*engine_);
  std::map<Ledger::Key, GpuTime> sums;
  std::set<std::string> requests;
  for (const Fact& fact : store_.facts()) {
    if (const auto* charged = std::get_if<fact::Charged>(&fact.body)) {
      const LedgerRow& row = charged->row;
      sums[{row.payer, row.holder, row.state, row.product}] += row.amount();
    } else if (const auto* created = std::get_if<fact::JobCreated>(&fact.body)) {
      const std::string& request = created->edit.request_id;
      if (ids_last && !request.empty() && !requests.insert(request).second) {
        wrong("request " + request + " made two jobs");
      }
    }
  }
  if (sums != engine_->ledger().sums()) wrong("the ledger has drifted from its rows");
}

}  // namespace subak::fault
