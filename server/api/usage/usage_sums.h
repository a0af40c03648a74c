// Adds up the figures of a usage report in the groups that the request names. UsageService uses it.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "server/api/convert/convert.h"
#include "server/codec/activity.h"
#include "server/runtime/ports.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::api {

// Usage of a pod that has no row in the ledger yet, with the texts that its row will have.
struct RunningUsage {
  OpenUsage open;
  std::string cluster, ns, profile;
};

// Returns the usage that has no row in the ledger yet, as of the engine's state. `columns`: only
// these columns get texts.
std::vector<RunningUsage> running_usage(const Engine& engine, const UsageColumns& columns);
// Returns the columns that the store must tell apart to answer the request.
UsageColumns columns_of(const v1::ReportUsageRequest& in);

// Finds the ids of an account and all accounts below it, in ascending order. Removed accounts count
// too, since their rows stay. An empty path finds none, which stands for all accounts. Error: there
// never was such an account.
std::optional<Error> find_payers(const Engine& engine, const std::string& account,
                                 std::vector<AccountId>* payers);

// The sums of one report.
class UsageSums {
 public:
  // `query`: the query whose rows are added; its payers must be sorted. All arguments must outlive
  // the object.
  UsageSums(const v1::ReportUsageRequest& in, const LedgerQuery& query, const Engine& engine)
      : in_(in), query_(query), engine_(engine) {}

  // Adds a sum of ledger rows, as StoreReader::daily_usage() returns it.
  void add_booked(const DailyUsage& row);
  // Adds running usage, cut at the period and at UTC midnights, as rows are. Usage in a closed
  // month counts on the present day, as its row will.
  void add_running(const RunningUsage& usage, TimeMs now);
  // Adds observed activity. Call it after add_booked() and add_running(). It leaves out activity of
  // a group without usage: such activity belongs to a pod for which another account pays.
  void add_activity(const ActivityDay& day);
  // The number of sums so far.
  std::size_t size() const { return sums_.size(); }
  // Writes the sums into the answer. `observed`: with activity.
  void put_into(v1::ReportUsageResponse* out, bool observed) const;

 private:
  // Account, user, product, profile, cluster, namespace, job, first day, state. A key that is not
  // requested has its default.
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string,
                         std::string, JobId, std::int64_t, int>;
  struct Sums {
    GpuTime booked, used, held, platform, running;
    ActivitySums activity;
  };
  struct Texts {
    const std::string &product, &profile, &cluster, &ns;
  };

  Key key_of(AccountId payer, const Texts& texts, JobId job, std::int64_t day, UsageState state);
  bool is_payer(AccountId id) const;
  // Returns the usage minus the observed time, but at least 0. If the period cuts an hour, the
  // observed time of that hour is an estimate, so it may exceed the usage a little.
  static GpuTime unknown(const Sums& sum);

  const v1::ReportUsageRequest& in_;
  const LedgerQuery& query_;
  const Engine& engine_;
  std::map<AccountId, PathParts> paths_;
  std::map<Key, Sums> sums_;
  Sums total_;
  std::uint64_t rows_ = 0;
  std::int64_t first_day_ = INT64_MAX;
};

}  // namespace subak::api
