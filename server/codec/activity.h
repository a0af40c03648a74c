// The sums of activity (how busy the held GPUs were) and their durable form, which is protobuf
// bytes. The store has them beside the facts (docs/design/0092). The sums are observations: no fact
// and no charge depends on them. A program that cannot read the sums continues without them. The
// form works like that of facts (server/codec/codec.h), but has its own version numbers. Threads:
// any; plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/ledger.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// GPU time by how busy the GPUs were, in milli-GPU x ms, and energy in millijoules. Never negative.
struct ActivitySums {
  // The GPU time with an activity below 1 %, from 1 to 25 %, and above 25 %.
  std::int64_t idle = 0, low = 0, active = 0;
  std::int64_t energy_mj = 0;

  std::int64_t observed() const { return idle + low + active; }
  ActivitySums& operator+=(const ActivitySums& o) {
    idle += o.idle;
    low += o.low;
    active += o.active;
    energy_mj += o.energy_mj;
    return *this;
  }
  friend bool operator==(const ActivitySums&, const ActivitySums&) = default;
  template <class V>
  void fields(V& v) {
    v(1, "idle", idle);
    v(2, "low", low);
    v(3, "active", active);
    v(4, "energy_mj", energy_mj);
  }
};

// The sums of one job over all its attempts.
struct JobActivity {
  JobId job;
  ActivitySums sums;
  // The held time without a valid value, in milli-GPU x ms.
  std::int64_t unknown = 0;
  // When the job last held GPUs. The sums cover the time until then.
  TimeMs until_ms = 0;
  // Since when all GPUs of the job are idle; 0: they are not.
  TimeMs idle_since_ms = 0;
  // When all GPUs of the job were last seen idle; 0: never.
  TimeMs idle_seen_ms = 0;
  // True: the owner was warned since the job last began to hold GPUs.
  bool warned = false;

  friend bool operator==(const JobActivity&, const JobActivity&) = default;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "sums", sums);
    v(3, "unknown", unknown);
    v(4, "until_ms", until_ms);
    v(5, "idle_since_ms", idle_since_ms);
    v(6, "idle_seen_ms", idle_seen_ms);
    v(7, "warned", warned);
  }
};

// The sums of one account (or user), product and state within one hour of UTC.
struct HourActivity {
  // From 0 to 23.
  std::uint32_t hour = 0;
  AccountId payer;
  UsageState state = UsageState::kUsed;
  std::string product;
  ActivitySums sums;

  friend bool operator==(const HourActivity&, const HourActivity&) = default;
  template <class V>
  void fields(V& v) {
    v(1, "hour", hour);
    v(2, "payer", payer);
    v(3, "state", state);
    v(4, "product", product);
    v(5, "sums", sums);
  }
};

// The sums of one UTC day.
struct ActivityDay {
  static constexpr std::string_view kName = "activity_day";
  // Days since 1970-01-01.
  std::int64_t day = 0;
  std::vector<HourActivity> hours;

  template <class V>
  void fields(V& v) {
    v(1, "day", day);
    v(2, "hours", hours);
  }
};

// The sums of the jobs that hold GPUs or ended not long ago.
struct ActivityJobs {
  static constexpr std::string_view kName = "activity_jobs";
  // The last observation.
  TimeMs until_ms = 0;
  std::vector<JobActivity> jobs;

  template <class V>
  void fields(V& v) {
    v(1, "until_ms", until_ms);
    v(2, "jobs", jobs);
  }
};

namespace codec {

// Return the durable form. nullopt: it has more than limits::kMaxFactBytes bytes.
std::optional<std::string> encode_activity(const ActivityDay& day);
std::optional<std::string> encode_activity(const ActivityJobs& jobs);
// Read the durable form. An error means that the bytes are malformed, or that they have fields that
// only a newer program knows. A value out of range is an error too: a negative value, or an hour
// above 23.
Result<ActivityDay> decode_activity_day(std::string_view bytes);
Result<ActivityJobs> decode_activity_jobs(std::string_view bytes);

}  // namespace codec
}  // namespace subak
