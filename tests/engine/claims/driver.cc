#include "tests/engine/claims/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <variant>

#include "core/text.h"

namespace subak::claim_model {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

namespace {

std::string amounts_text(const ProductAmounts& amounts) {
  std::string out;
  for (const auto& [product, amount] : amounts) {
    out += ' ' + product + '=' + std::to_string(amount / kMilliPerGpu);
  }
  return out;
}

std::string slots_text(const Engine& engine, const std::vector<PodSlot>& slots) {
  std::string out;
  for (const PodSlot& slot : slots) {
    const NodeSpec* const node = slot.node ? engine.fleet().node(slot.node) : nullptr;
    if (node != nullptr) out += ' ' + node->name + ':' + std::to_string(slot.gpu_mask);
  }
  return out;
}

}  // namespace

std::string text_of(const Engine& engine, const Books& books) {
  std::ostringstream out;
  out << "\n";
  for (const AccountId id : engine.accounts().preorder()) {
    const AccountNode& node = engine.accounts().node(id);
    out << "account " << node.spec.path << " shares=" << node.spec.shares << " quota"
        << amounts_text(node.spec.quota) << ", limit" << amounts_text(node.spec.limit) << ", held "
        << node.alloc() / kMilliPerGpu << "\n";
  }
  for (const NodeId id : engine.fleet().nodes(engine.find_cluster("main"))) {
    const NodeSpec& node = *engine.fleet().node(id);
    out << "node " << node.name << ' ' << node.product << ' ' << node.gpus << "\n";
  }
  for (const auto& [id, job] : books.jobs) {
    out << "job " << text::job_id_text(id) << ' ' << engine.accounts().node(job.leaf).spec.path
        << ' ' << enum_name(job.state) << " pods";
    for (const int gpus : job.pods) out << ' ' << gpus;
    out << ' ' << job.product << (job.fixed ? " fixed" : "") << " priority " << job.priority
        << " started " << job.started_ms % kHourMs / kSecondMs << " holds"
        << slots_text(engine, job.slots);
    for (const Reason& reason : engine.reasons(id, 0)) out << " | " << enum_name(reason.token);
    out << "\n";
  }
  for (const auto& [id, claim] : books.claims) {
    out << "claim " << text::job_id_text(id) << " of" << slots_text(engine, claim.slots) << " from";
    for (const auto& victim : claim.victims) out << ' ' << text::job_id_text(victim.job);
    out << "\n";
  }
  return std::move(out).str();
}

bool Job::has_one_shape() const {
  return std::all_of(pods.begin(), pods.end(), [&](int gpus) { return gpus == pods.front(); });
}

bool Books::is_victim(const Job& job) const {
  return job.in_attempt() && has_victim(job.id, job.attempt, true);
}

bool Books::was_victim(const Job& job) const {
  return job.in_attempt() && has_victim(job.id, job.attempt, false);
}

bool Books::has_victim(JobId job, std::uint32_t attempt, bool same) const {
  return std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
    return std::any_of(claim.second.victims.begin(), claim.second.victims.end(),
                       [&](const fact::Claimed::Victim& victim) {
                         return victim.job == job && (victim.attempt == attempt) == same;
                       });
  });
}

void Driver::begin(const Policy& policy) {
  in::SetPolicy set;
  set.policy = policy;
  send(set);
  in::SetCluster cluster;
  cluster.name = "main";
  cluster.mode = Mode::kEnforce;
  send(cluster);
}

void Driver::set_nodes(const std::vector<NodeSpec>& nodes) {
  in::ImportNodes import;
  import.cluster = "main";
  import.nodes = nodes;
  send(import);
}

bool Driver::set_account(const AccountSpec& spec) {
  in::SetAccount set;
  set.spec = spec;
  return !send(set).error;
}

JobId Driver::submit(const Wanted& wanted) {
  in::SubmitJob job;
  job.cluster = "main";
  job.account = wanted.account;
  job.priority = wanted.priority;
  job.grace_ms = wanted.grace_ms;
  for (const auto& [pods, gpus] : wanted.groups) {
    PodGroup group;
    group.count = static_cast<std::uint32_t>(pods);
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = gpus;
    if (!wanted.product.empty()) group.shape.products = {wanted.product};
    job.request.groups.push_back(group);
  }
  if (wanted.fixed) job.request.terms.not_preemptible = true;
  return send(job).job;
}

Reply Driver::send(in::Body body) {
  const ApplyOutcome outcome = engine_.apply({now_, "", "ana", std::move(body)});
  for (const Fact& fact : outcome.facts) {
    before(fact);
    std::visit([this](const auto& f) { on(f); }, fact.body);
  }
  for (const Effect& effect : outcome.effects) note(effect);
  return outcome.reply;
}

void Driver::note(const Effect& effect) {
  if (effect.kind == EffectKind::kOpenGate) {
    opened_.push_back(effect);
  } else if (effect.kind == EffectKind::kEvict) {
    Job& job = books_.jobs.at(effect.job);
    if (job.until_ms != 0) return;  // an effect is repeated
    if (effect.cause == Cause::kPreempted) preempted(effect.job);
    const DurationMs grace_ms = std::max<DurationMs>(job.grace_ms, 1);
    job.until_ms = now_ + 1 + below(grace_ms);
  }
}

void Driver::cancel(JobId id) {
  in::CancelJob cancel;
  cancel.job = id;
  send(cancel);
}

void Driver::end(JobId id, Cause cause) {
  const Job job = books_.jobs.at(id);
  for (std::uint32_t rank = 0; rank < job.slots.size(); ++rank) {
    if (!job.slots[rank].node) continue;
    send(in::PodGone{.cluster = "main",
                     .pod = {.uid = {}, .job = id, .rank = rank, .attempt = 0},
                     .ended_at_ms = 0,
                     .cause = cause});
  }
}

bool Driver::settle() {
  std::vector<JobId> over;
  for (const auto& [id, job] : books_.jobs) {
    if (job.until_ms != 0 && job.until_ms <= now_) over.push_back(id);
  }
  for (const JobId id : over) end(id, Cause::kPreempted);
  send(in::Tick{});
  for (int passes = 0; passes < kMostPasses; ++passes) {
    send(in::Pass{});
    after_pass();
    bind();
    if (!engine_.pass_due()) return true;
  }
  return false;
}

bool Driver::is_busy() const {
  return !books_.claims.empty() ||
         std::any_of(books_.jobs.begin(), books_.jobs.end(),
                     [](const auto& entry) { return entry.second.until_ms != 0; });
}

void Driver::bind() {
  for (const Effect& effect : std::exchange(opened_, {})) {
    for (const EffectPod& pod : effect.pods) {
      const PodRef ref{.uid = {}, .job = effect.job, .rank = pod.rank, .attempt = 0};
      send(in::PodBound{.cluster = "main", .pod = ref, .node = pod.node, .at_ms = 0});
    }
  }
}

// --- the books -----------------------------------------------------------------------------------

void Driver::on(const fact::JobCreated& f) {
  books_.event_ms = now_;
  Job job;
  job.id = f.id;
  job.leaf = f.leaf;
  job.state = f.state;
  job.priority = f.priority;
  job.grace_ms = f.grace_ms;
  job.fixed = f.request.terms.not_preemptible;
  for (const PodGroup& group : f.request.groups) {
    job.pods.insert(job.pods.end(), group.count, static_cast<int>(group.shape.gpus));
    if (!group.shape.products.empty()) job.product = group.shape.products.front();
  }
  job.slots.resize(job.pods.size());
  books_.jobs.emplace(f.id, std::move(job));
}

void Driver::on(const fact::AttemptStarted& f) {
  Job& job = books_.jobs.at(f.id);
  job.state = JobState::kStarting;
  job.attempt = f.attempt;
  job.started_ms = now_;
  job.slots = f.slots;
  books_.claims.erase(f.id);
}

void Driver::on(const fact::PodBound& f) {
  Job& job = books_.jobs.at(f.job);
  if (job.state == JobState::kStarting) job.state = JobState::kRunning;
}

void Driver::on(const fact::JobMoved& f) {
  if (f.to == JobState::kDone) books_.event_ms = now_;
  books_.jobs.at(f.id).state = f.to;
  if (f.to != JobState::kQueued) books_.claims.erase(f.id);
  if (f.to == JobState::kDone) books_.jobs.erase(f.id);
}

void Driver::on(const fact::StopAsked& f) {
  Job& job = books_.jobs.at(f.id);
  job.state = JobState::kEnding;
  if (f.cause == Cause::kPreempted) job.preempted_ms = now_;
}

void Driver::on(const fact::PodGone& f) {
  Job& job = books_.jobs.at(f.job);
  job.slots.at(f.rank) = {};
  if (job.state != JobState::kEnding) books_.event_ms = now_;
}

void Driver::on(const fact::PlaceLost& f) { books_.jobs.at(f.job).slots.at(f.rank) = {}; }

void Driver::on(const fact::AttemptEnded& f) {
  Job& job = books_.jobs.at(f.id);
  if (f.cause == Cause::kPreempted) {
    if (job.state != JobState::kEnding) job.preempted_ms = now_;
  } else if (job.state != JobState::kEnding) {
    books_.event_ms = now_;
  }
  job.state = f.to;
  job.until_ms = 0;
  job.slots.assign(job.pods.size(), {});
  if (job.state == JobState::kDone) books_.jobs.erase(f.id);
}

void Driver::on(const fact::Claimed& f) {
  if (f.cause == ClaimCause::kMade) {
    books_.claims.emplace(f.job, f);
  } else {
    books_.claims.erase(f.job);
  }
}

}  // namespace subak::claim_model
