// Facts of checkpoints only: sums and counters that a replay from the first fact would give. Part
// of engine/fact.h, which is what others include.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "accounting/ledger.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/input.h"

namespace subak {

// A GpuTime as it is stored.
struct StoredGpuTime {
  std::int64_t gpu_seconds = 0;
  std::int64_t rest = 0;
  template <class V>
  void fields(V& v) {
    v(1, "gpu_seconds", gpu_seconds);
    v(2, "rest", rest);
  }
  static StoredGpuTime of(GpuTime t) { return {t.gpu_seconds(), t.rest()}; }
  GpuTime get() const { return GpuTime::from_parts(gpu_seconds, rest); }
  friend bool operator==(const StoredGpuTime&, const StoredGpuTime&) = default;
};

namespace fact {

struct MetersKept {
  static constexpr std::string_view kName = "meters_kept";
  struct Meter {
    double a = 0;
    std::int64_t shift = 0;
    MilliGpu rate = 0;
    MilliGpu peak_rate = 0;
    StoredGpuTime whole;
    TimeMs since_ms = 0;
    template <class V>
    void fields(V& v) {
      v(1, "a", a);
      v(2, "shift", shift);
      v(3, "rate", rate);
      v(4, "peak_rate", peak_rate);
      v(5, "whole", whole);
      v(6, "since_ms", since_ms);
    }
    friend bool operator==(const Meter&, const Meter&) = default;
  };
  AccountId account;
  Meter usage, surplus, adjustment;
  StoredGpuTime usage_total;
  TimeMs usage_as_of_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "account", account);
    v(2, "usage", usage);
    v(3, "surplus", surplus);
    v(4, "adjustment", adjustment);
    v(5, "usage_total", usage_total);
    v(6, "usage_as_of_ms", usage_as_of_ms);
  }
};

struct LedgerKept {
  static constexpr std::string_view kName = "ledger_kept";
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  std::string product;
  NodeId node;  // set: the sum of one node; else of one (payer, holder, state, product)
  StoredGpuTime amount;
  std::uint64_t rows = 0;  // set in the first of them only
  template <class V>
  void fields(V& v) {
    v(1, "payer", payer);
    v(2, "holder", holder);
    v(3, "state", state);
    v(4, "product", product);
    v(5, "node", node);
    v(6, "amount", amount);
    v(7, "rows", rows);
  }
};

struct RequestKept {  // also of a request that found nothing to change
  static constexpr std::string_view kName = "request_kept";
  std::string request_id;
  TimeMs at_ms = 0;
  JobId job;
  AccountId account;
  std::int64_t revision = 0;
  std::string actor;
  Method method = Method::kNone;
  std::uint64_t content = 0;  // as in EditStamp
  template <class V>
  void fields(V& v) {
    v(1, "request_id", request_id);
    v(2, "at_ms", at_ms);
    v(3, "job", job);
    v(4, "account", account);
    v(5, "revision", revision);
    v(6, "actor", actor);
    v(7, "method", method);
    v(8, "content", content);
  }
};

// The counters from which ids are made.
struct CountersKept {
  static constexpr std::string_view kName = "counters_kept";
  ClusterId cluster;  // set: that cluster's job sequence
  std::uint64_t next_job = 0;
  std::uint32_t next_node = 0;
  template <class V>
  void fields(V& v) {
    v(1, "cluster", cluster);
    v(2, "next_job", next_job);
    v(3, "next_node", next_node);
  }
};

}  // namespace fact

}  // namespace subak
