// The oracle's checks (tests/oracle/oracle.h) of jobs whose owner Subak suspended until their turn
// (docs/design/0119). A new object is made for each check. Threads: one at a time.
#pragma once

#include "tests/oracle/oracle.h"

namespace subak::sim {

class OracleParking {
 public:
  explicit OracleParking(Oracle& oracle) : o_(oracle) {}

  // True if no pod of the job's parked owner has come since the attempt or the wait began.
  static bool awaits_pods(const Oracle::Job& j);
  // Reads the next fact, before the oracle itself.
  void note(const fact::Body& body);
  // Checks the jobs of parked owners after all facts of an input.
  void judge(const Input& input, const ApplyOutcome& outcome);

 private:
  void judge_new(const fact::JobCreated& f);
  void follow(const fact::JobParked& f);
  void judge_same(const Oracle::Job& j, const in::OwnerSeen& seen);
  void judge_owner(const in::OwnerSeen& seen, Oracle::Cluster& cluster);
  void judge_listed(const Oracle::Cluster& cluster);
  void judge_resumed(const ApplyOutcome& outcome);
  void judge_resumed_jobs();
  void judge_row(const LedgerRow& row);

  Oracle& o_;
};

}  // namespace subak::sim
