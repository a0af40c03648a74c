// A small service for tests of upgrades: an engine on a SQLite store, without the runtime. It opens
// the store as a program of a given version does. A failed step fails the test.
// Threads: one at a time.
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
  // Opens the store at `path` and rebuilds the engine. `knows`: the newest fact version that the
  // program knows. If that fails, error() has the message.
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

  // Applies the input one minute after the last one, and commits its facts. Returns the refusal, or
  // the error of the commit.
  std::optional<Error> apply(in::Body body, const char* actor = "ana") {
    Input input;
    input.time_ms = engine_.now() + kMinuteMs;
    input.actor = actor;
    input.body = std::move(body);
    const ApplyOutcome outcome = engine_.apply(input);
    if (outcome.reply.error) return outcome.reply.error;
    return outcome.facts.empty() ? std::nullopt : store_->commit(outcome.facts);
  }
  // Makes a cluster, a node with 8 GPUs and an account.
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
  // Runs a job of one GPU from its submission to its end, and then edits the account.
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
  // Finalizes the store to any version, even to one that the engine does not know.
  std::optional<Error> finalize(std::uint32_t version) {
    fact::Finalized finalized;
    finalized.version = version;
    const std::vector<Fact> facts{{engine_.seq() + 1, engine_.now(), finalized}};
    engine_.evolve(facts.front());
    return store_->commit(facts);
  }
  // Writes a checkpoint of the present state.
  void checkpoint() {
    ASSERT_FALSE(store_->write_checkpoint(engine_.seq(), pack(engine_.checkpoint())));
  }

 private:
  std::string error_;
  std::unique_ptr<Store> store_;
  Engine engine_;
};

}  // namespace subak
