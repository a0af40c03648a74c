// Runs tests/scenarios/*.txt: inputs in the form of core/text.h, the engine's answers under each.
//
//   % a comment
//   > @1000 submit_job cluster=main account=ml request={groups=[...]}
//   #7 @1000 job_created ...        facts, as made
//   effect cluster=1 job=1-1 ...    effects
//   error account: was "x", ...     the refusal
//   warning ...
//   ? why 1-1                       a question; its answer follows (queue, would, why, claims, shares,
//                                   bill, pass: whether one is due)
//
// SUBAK_REWRITE=1 rewrites the answers; the review is the diff. After each input all invariants are
// checked; at the end a checkpoint and a replay of the facts must give the same digest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/decimal.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "engine/forecast/growth_run.h"

namespace subak {
namespace {

std::string describe(const JobRow& row) {
  return text::job_id_text(row.id) + " " + std::string(enum_name(row.state)) + " " + row.account +
         (row.user.empty() ? "" : "/" + row.user) + " gpus=" + format_milligpu(row.milligpu);
}

void answer_why(const Engine& engine, const std::string& id, std::ostream& out) {
  const auto job = text::parse_job_id(id);
  const Growth growth = plan_growth(engine.forecast_basis(engine.now()));
  const auto why = job ? engine.explain(*job, engine.now(), std::nullopt, &growth) : std::nullopt;
  if (!why) {
    out << "= no such job\n";
    return;
  }
  out << "= " << describe(why->job) << " position=" << why->position << "\n";
  for (const Reason& r : why->reasons) {
    out << "= " << enum_name(r.token) << " " << r.subject << " need=" << r.need
        << " have=" << r.have;
    for (const std::string& b : r.blockers) out << " by=" << b;
    if (r.token == ReasonToken::kUnschedulable) out << ": " << r.detail;
    out << "\n";
  }
  if (const auto& last = why->job.reclaim.preempted) {
    out << "= preempted " << last->times << " times, last at " << last->asked_ms << " for "
        << text::job_id_text(last->claimant) << " of " << last->account << "\n";
  }
  if (why->job.reclaim.loan.milligpu != 0) {
    out << "= " << format_milligpu(why->job.reclaim.loan.milligpu)
        << " beyond quota, may be preempted from " << why->job.reclaim.loan.from_ms << "\n";
  }
  if (why->job.end_refused_ms != 0) out << "= end refused " << why->job.end_refused_ms << "\n";
  if (why->job.overruns != 0 || why->job.limit.enforced) {
    out << "= overran " << why->job.overruns << " times, free by " << why->job.planned_end_ms
        << (why->job.limit.enforced ? ", enforced" : "") << "\n";
  }
  if (why->job.limit.distrusted) out << "= its time limit is not counted on\n";
  if (why->reserved_nodes.empty()) return;
  const JobRow& row = why->job;
  out << "= " << (row.start_promised ? "starts by " : "may start around ") << row.start_ms << ", "
      << enum_name(row.start_moved.cause) << ", moved later " << row.start_moved.times
      << " times, on";
  for (const std::string& node : why->reserved_nodes) out << " " << node;
  out << "\n";
}

void answer_would(const Engine& engine, std::ostream& out) {
  const auto rows = engine.shadow_queue(*engine.view(), "", 0, 100);
  ASSERT_TRUE(rows.has_value());
  for (const ShadowRow& row : *rows) {
    out << "= " << row.position << " " << (row.pending ? row.job.name : describe(row.job));
    if (row.pending) {
      out << " " << row.job.account << (row.job.user.empty() ? "" : "/" + row.job.user)
          << " pods=" << row.job.gang_size << " gpus=" << format_milligpu(row.job.milligpu)
          << " since=" << row.job.submit_ms;
    }
    if (row.waits_for) {
      out << " waits: " << enum_name(row.waits_for->token) << " " << row.waits_for->detail;
    } else {
      out << " would start on";
      for (const NodeId node : row.job.nodes) out << " " << engine.fleet().node(node)->name;
    }
    out << "\n";
  }
  if (rows->empty()) out << "= nothing\n";
}

void answer_claims(const Engine& engine, bool would, std::ostream& out) {
  const std::vector<ClaimRow> rows = engine.claims("", would);
  for (const ClaimRow& row : rows) {
    out << "= " << text::job_id_text(row.job) << " of " << row.account << " from";
    for (const ClaimRow::Victim& victim : row.victims) {
      out << " " << text::job_id_text(victim.job) << " of " << victim.account
          << (victim.ending ? " by " : " at ") << (victim.ending ? victim.by_ms : victim.ask_ms);
    }
    out << "\n";
  }
  if (rows.empty()) out << "= nothing\n";
}

void answer_lending(const AccountRow::Lending& lending, std::ostream& out) {
  if (lending.lent != 0) out << " lent=" << format_milligpu(lending.lent);
  for (std::size_t why = 0; why < lending.not_recallable.size(); ++why) {
    if (lending.not_recallable[why] == 0) continue;
    out << " " << EnumText<Unrecallable>::names[why] << "="
        << format_milligpu(lending.not_recallable[why]);
  }
}

void answer_pools(const Engine& engine, std::ostream& out) {
  const Growth growth = plan_growth(engine.forecast_basis(engine.now()));
  for (const Growth::Pool& pool : growth.pools) {
    out << "= " << pool.name << " has=" << pool.present << " starting=" << pool.starting
        << " wants=" << pool.wanted << " most=" << pool.most << "\n";
  }
  for (const Growth::Job& job : growth.jobs) {
    out << "= " << text::job_id_text(job.job);
    for (const Growth::Part& part : job.parts)
      out << " " << growth.pools[part.pool].name << "=" << part.nodes;
    out << "\n";
  }
}

void answer_budgets(const Engine& engine, std::ostream& out) {
  const AccountTree& tree = engine.accounts();
  for (const AccountId id : tree.preorder()) {
    for (const BudgetBook& book : tree.node(id).jobs.budgets) {
      const BudgetFigures now = book.at(engine.now());
      out << "= " << tree.node(id).spec.path << " " << budgets_text({book.budget()})
          << " spent=" << gpu_hours_text(now.spent) << " held=" << gpu_hours_text(now.held)
          << " left=" << gpu_hours_text(now.left()) << "\n";
    }
  }
}

std::string ask(const Engine& engine, const std::string& question) {
  std::istringstream in(question);
  std::string verb, what;
  in >> verb >> what;
  std::ostringstream out;
  const bool known = verb == "why" || verb == "claims" || verb == "queue" || verb == "would" ||
                     verb == "shares" || verb == "bill" || verb == "pass" || verb == "budgets" ||
                     verb == "pools";
  if (!known) ADD_FAILURE() << "no such question: " << question;
  if (verb == "why") answer_why(engine, what, out);
  if (verb == "would") answer_would(engine, out);
  if (verb == "budgets") answer_budgets(engine, out);
  if (verb == "pools") answer_pools(engine, out);
  if (verb == "claims") answer_claims(engine, what == "would", out);
  if (verb == "queue") {
    for (const JobRow& row : engine.queue(100)) out << "= " << describe(row) << "\n";
  }
  if (verb == "pass") out << "= " << (engine.pass_due() ? "due" : "not due") << "\n";
  if (verb == "shares") {
    for (const AccountRow& row : engine.account_rows(engine.now())) {
      out << "= " << (row.spec.path.empty() ? "(root)" : row.spec.path)
          << " held=" << format_milligpu(row.held) << " running=" << format_milligpu(row.running)
          << " queued=" << format_milligpu(row.queued)
          << " used_gpu_seconds=" << row.usage_total.gpu_seconds();
      answer_lending(row.lending, out);
      out << "\n";
    }
  }
  if (verb == "bill") {
    for (const NodeBill& b : engine.bill(engine.now())) {
      out << "= " << engine.fleet().node(b.node)->name
          << " installed=" << b.capacity.installed.gpu_seconds()
          << " allocated=" << b.capacity.allocated.gpu_seconds()
          << " idle=" << b.capacity.idle.gpu_seconds()
          << " stranded=" << b.capacity.stranded.gpu_seconds()
          << " unusable=" << b.capacity.unusable.gpu_seconds()
          << (b.capacity.overcommitted == GpuTime() ? "" : " overcommitted=")
          << (b.capacity.overcommitted == GpuTime()
                  ? ""
                  : std::to_string(b.capacity.overcommitted.gpu_seconds()))
          << " residual=" << b.residual.gpu_seconds() << "\n";
    }
    for (const auto& [key, amount] : engine.ledger().sums()) {
      const bool in_tree = key.payer != kPlatform && key.payer != kUnassigned;
      out << "= payer "
          << (key.payer == kPlatform ? "platform"
              : in_tree              ? engine.accounts().node(key.payer).spec.path
                                     : "unassigned")
          << " " << enum_name(key.state) << " " << key.product
          << " gpu_seconds=" << amount.gpu_seconds() << "\n";
    }
  }
  return out.str();
}

// Plays one file and returns what it should contain.
std::string play(const std::string& path, std::vector<Fact>& facts, Engine& engine) {
  std::ifstream file(path);
  std::ostringstream out;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '%') {
      out << line << "\n";
    } else if (line[0] == '?') {
      out << line << "\n" << ask(engine, line.substr(1));
    } else if (line[0] == '>') {
      out << line << "\n";
      const auto input = input_from_text(std::string_view(line).substr(2));
      if (!input.ok()) {
        ADD_FAILURE() << path << ": " << line << "\n" << input.error().message();
        continue;
      }
      const ApplyOutcome outcome = engine.apply(*input);
      engine.check_invariants();
      for (const Fact& f : outcome.facts) {
        out << fact_to_text(f) << "\n";
        facts.push_back(f);
      }
      for (const Effect& e : outcome.effects) out << "effect " << to_text(e) << "\n";
      for (const std::string& w : outcome.reply.warnings) out << "warning " << w << "\n";
      if (outcome.reply.repeated) out << "repeated\n";
      if (outcome.reply.error) {
        out << "error " << to_string(outcome.reply.error->code) << " "
            << outcome.reply.error->message() << "\n";
      }
    }
  }
  return out.str();
}

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/scenarios")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, AnswersAsWritten) {
  std::vector<Fact> facts;
  Engine engine;
  const std::string played = play(GetParam(), facts, engine);
  if (std::getenv("SUBAK_REWRITE") != nullptr) std::ofstream(GetParam()) << played;
  EXPECT_EQ(played, read_all(GetParam()));
  EXPECT_FALSE(facts.empty());

  Engine follower;  // the state is the fold of the facts
  for (const Fact& f : facts) {
    const auto again = fact_from_text(fact_to_text(f));
    ASSERT_TRUE(again.ok()) << again.error().message();
    follower.evolve(*again);
  }
  EXPECT_EQ(follower.digest(), engine.digest());

  Engine restored;  // and so is a checkpoint of it
  for (const Fact& f : engine.checkpoint()) restored.evolve(f);
  restored.set_seq(engine.seq());
  EXPECT_EQ(restored.digest(), engine.digest());
  restored.check_invariants();
  for (const JobRow& row : engine.jobs(JobId(), limits::kMaxQueuedJobs, std::nullopt, "")) {
    EXPECT_EQ(follower.job(row.id, false)->limit.distrusted, row.limit.distrusted);
    EXPECT_EQ(restored.job(row.id, false)->limit.distrusted, row.limit.distrusted);
    EXPECT_EQ(follower.job(row.id, false)->reclaim.preempted, row.reclaim.preempted);
    EXPECT_EQ(restored.job(row.id, false)->reclaim.preempted, row.reclaim.preempted);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenario_files()), [](const auto& p) {
  std::string name = std::filesystem::path(p.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
});

}  // namespace
}  // namespace subak
