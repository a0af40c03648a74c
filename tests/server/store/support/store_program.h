// A program on a store: it opens it as its version does, recovers, decides and commits.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "pack_facts.h"
#include "server/runtime/runtime.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {

class Program {
 public:
  explicit Program(const std::string& path, std::uint32_t knows = kFactVersion) {
    SqliteOptions options{path};
    options.fact_version = knows;
    auto opened = open_sqlite_store(options);
    if (!opened.ok()) {
      error_ = opened.error().message();
      return;
    }
    store_ = std::move(*opened);
    auto reader = store_->open_reader();
    const Result<Recovered> recovered = recover_engine(**reader, engine_);
    if (!recovered.ok()) error_ = recovered.error().message();
  }

  const std::string& error() const { return error_; }
  Engine& engine() { return engine_; }
  Store& store() { return *store_; }

  // One input and what it caused, durable.
  std::optional<Error> apply(in::Body body, const char* actor = "ana") {
    Input input;
    input.time_ms = engine_.now() + kMinuteMs;
    input.actor = actor;
    input.body = std::move(body);
    const ApplyOutcome outcome = engine_.apply(input);
    if (outcome.reply.error) return outcome.reply.error;
    return outcome.facts.empty() ? std::nullopt : store_->commit(outcome.facts);
  }
  // A cluster, a node, an account.
  void found() {
    NodeSpec node;
    node.name = "n1";
    node.product = "H100";
    node.gpus = 8;
    in::SetAccount account;
    account.spec.path = "ml";
    ASSERT_FALSE(apply(in::SetCluster{"east", Mode::kEnforce, {}, "", false}));
    ASSERT_FALSE(apply(in::ImportNodes{"east", {node}, "", false}));
    ASSERT_FALSE(apply(account));
  }
  // A job from submission to its first running pod, and an edit.
  void work() {
    in::SubmitJob job;
    job.account = "ml";
    job.request.groups = {{1, PodShape{}}};
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = 1;
    ASSERT_FALSE(apply(job));
    ASSERT_FALSE(apply(in::Pass{}));
    const std::vector<JobRow> jobs = engine_.jobs(JobId(), 100, JobState::kStarting, "");
    ASSERT_EQ(jobs.size(), 1u);
    PodRef pod;
    pod.job = jobs[0].id;
    ASSERT_FALSE(apply(in::PodBound{"east", pod, "n1", 0}));
    ASSERT_FALSE(apply(in::PodRunning{"east", pod, 0}));
    ASSERT_FALSE(apply(in::PodGone{"east", pod, 0, Cause::kFinished}));
    in::SetAccount edit;
    edit.spec = engine_.accounts().node(engine_.accounts().find("ml")).spec;
    ++edit.spec.shares;
    edit.reason = "more work";
    ASSERT_FALSE(apply(edit));
  }
  // As Finalize does, also to a version that this program's engine does not know.
  std::optional<Error> finalize(std::uint32_t version) {
    fact::Finalized finalized;
    finalized.version = version;
    const std::vector<Fact> facts{{engine_.seq() + 1, engine_.now(), finalized}};
    engine_.evolve(facts.front());
    return store_->commit(facts);
  }
  void checkpoint() {
    ASSERT_FALSE(store_->write_checkpoint(engine_.seq(), pack(engine_.checkpoint())));
  }

 private:
  std::string error_;
  std::unique_ptr<Store> store_;
  Engine engine_;
};

}  // namespace subak
