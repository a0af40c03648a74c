// Checks a store completely, from the first fact on, after a test has disturbed it: facts, state,
// ledger rows, audit log and file must agree.
// Threads: one at a time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/metrics/ledger_audit.h"
#include "server/store/file/connection.h"
#include "server/store/proof/audit_rows.h"
#include "tests/server/runtime/runtime_fakes.h"

namespace subak::test {

using Digest = std::array<std::uint64_t, 2>;

inline std::string view_text(const View& view) {
  std::string out = std::to_string(view.seq) +
                    " queued=" + std::to_string(view.count(JobState::kQueued)) +
                    " paused=" + std::to_string(view.count(JobState::kPaused)) +
                    " starting=" + std::to_string(view.count(JobState::kStarting)) +
                    " running=" + std::to_string(view.count(JobState::kRunning)) +
                    " rows=" + std::to_string(view.ledger_rows) + " " + to_text(view.policy);
  for (const AccountsView::Row* row : view.accounts->accounts()) {
    out += "\n" + std::to_string(row->revision) + " " + to_text(row->spec);
  }
  for (const ClusterView& cluster : *view.clusters) {
    out += "\n" + cluster.name + " " + std::string(enum_name(cluster.mode)) +
           (cluster.synced ? " synced" : "") + (cluster.owned ? " owned" : "");
  }
  return out;
}

// The facts of a store, and figures that follow from them.
class AuditedStore {
 public:
  // Reads the store and makes all checks. A failed check fails the test.
  void look(const std::string& path, Store& store) {
    check_file(path);
    const auto reader = std::move(*store.open_reader());
    const auto recovered = recover_engine(*reader, engine);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message();
    auto all = reader->facts(0, SIZE_MAX / 4);
    ASSERT_TRUE(all.ok()) << all.error().message();
    facts = std::move(*all);
    ASSERT_EQ(facts.size(), recovered->seq) << "facts are missing or there are too many";
    check_state();
    check_rows(*reader);
    check_once();
  }

  std::vector<Fact> facts;
  Engine engine;  // rebuilt from the last checkpoint and the facts after it
  std::map<std::string, std::vector<JobId>> jobs;  // the created jobs, by request id
  std::map<std::string, int> account_edits;        // the number of edits, by request id and path

 private:
  static void check_file(const std::string& path) {
    Connection db;
    ASSERT_TRUE(db.open(path, OpenMode::kReadOnly));
    EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
  }
  void check_state() {
    Engine replayed;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      ASSERT_EQ(facts[i].seq, i + 1);
      replayed.evolve(facts[i]);
    }
    engine.check_invariants();
    EXPECT_EQ(engine.digest(), replayed.digest()) << "checkpoint and tail differ from all facts";
    EXPECT_EQ(view_text(*engine.view()), view_text(*replayed.view()));
    EXPECT_EQ(residual_of(engine.bill(engine.now())), GpuTime());
  }
  void check_rows(StoreReader& reader) {
    LedgerQuery every;
    every.most = SIZE_MAX / 4;
    const auto rows = reader.ledger(every);
    ASSERT_TRUE(rows.ok()) << rows.error().message();
    std::size_t charged = 0, edits = 0;
    for (const Fact& fact : facts) {
      edits += audit_row(fact.body).has_value();
      const auto* charge = std::get_if<fact::Charged>(&fact.body);
      if (charge == nullptr) continue;
      ASSERT_LT(charged, rows->size()) << "a charge has no row";
      EXPECT_EQ((*rows)[charged].seq, fact.seq);
      EXPECT_EQ((*rows)[charged].row, charge->row);
      ++charged;
    }
    EXPECT_EQ(charged, rows->size()) << "a row has no charge";
    AuditQuery all;
    all.most = SIZE_MAX / 4;
    EXPECT_EQ(reader.audit(all)->size(), edits);
    const std::atomic<bool> stop{false};
    const auto drift = metrics::measure_drift({engine.seq(), engine.ledger()}, reader, stop);
    ASSERT_TRUE(drift.ok()) << drift.error().message();
    EXPECT_EQ(*drift, 0) << "GPU-seconds of drift";
  }
  // Checks that no request was carried out twice, and that no moment of an allocation was charged
  // twice.
  void check_once() {
    std::map<AllocationId, std::map<TimeMs, TimeMs>> charges;
    for (const Fact& fact : facts) {
      if (const auto* job = std::get_if<fact::JobCreated>(&fact.body)) {
        if (!job->edit.request_id.empty()) jobs[job->edit.request_id].push_back(job->id);
      } else if (const auto* set = std::get_if<fact::AccountSet>(&fact.body)) {
        if (!set->edit.request_id.empty()) ++account_edits[set->edit.request_id + set->spec.path];
      } else if (const auto* charge = std::get_if<fact::Charged>(&fact.body)) {
        const LedgerRow& row = charge->row;
        if (row.corrects != 0) continue;
        auto& intervals = charges[row.allocation];
        EXPECT_TRUE(intervals.emplace(row.from_ms, row.to_ms).second) << fact_to_text(fact);
      }
    }
    for (const auto& [request, made] : jobs) EXPECT_EQ(made.size(), 1u) << request;
    for (const auto& [edit, times] : account_edits) EXPECT_EQ(times, 1) << edit;
    for (const auto& [allocation, intervals] : charges) {
      TimeMs end = 0;
      for (const auto& [from, to] : intervals) {
        EXPECT_LE(end, from) << "charged twice: " << to_text(allocation);
        end = to;
      }
    }
  }
};

}  // namespace subak::test
