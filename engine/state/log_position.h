// The position of a state in the log of facts: the number and time of its last fact, the version of
// its facts, and the present time. Numbers rise by one, and time never goes back.
//
// A fact with number 0 belongs to a checkpoint. Such a fact restores a record and is not in the
// log.
// Threads: one at a time; State owns the object.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/must.h"
#include "core/quantity.h"
#include "model/fact.h"

namespace subak::state {

// The position of one state.
class LogPosition {
 public:
  // The number and the time of the last fact. 0: there is no fact yet.
  std::uint64_t seq() const { return seq_; }
  TimeMs fact_ms() const { return fact_ms_; }
  // The time of the last input or fact. now() is not before fact_ms().
  TimeMs now() const { return now_; }
  // The version of the facts. The version never goes back.
  std::uint32_t version() const { return version_; }
  // True while a fact of a checkpoint is applied.
  bool restoring() const { return restoring_; }

  // Call begin() before a fact is applied, and end() after the fact was applied. begin() asserts
  // that facts come in order.
  void begin(const Fact& fact) {
    must(fact.seq == 0 || fact.seq == seq_ + 1, "facts come in order");
    must(!restoring_, "one fact is applied at a time");
    restoring_ = fact.seq == 0;
    if (!restoring_) seq_ = fact.seq;
    accept_clock(fact.time_ms);
  }
  void end(const Fact& fact) {
    must(fact_ms_ <= now_, "no fact is of the future");
    must(restoring_ || seq_ == fact.seq, "a fact is applied once");
    restoring_ = false;
  }
  // Sets the time of an input. An earlier time changes nothing.
  void advance(TimeMs now) { now_ = std::max(now_, now); }
  // Sets the time of the last fact, and so the present time. An earlier time changes nothing.
  void accept_clock(TimeMs fact_ms) {
    fact_ms_ = std::max(fact_ms_, fact_ms);
    advance(fact_ms);
  }
  // Sets the number of the last fact that the checkpoint includes.
  void set_seq(std::uint64_t seq) {
    must(seq >= seq_, "the number of the last fact never goes back");
    seq_ = seq;
  }
  // Raises the version of the facts. The new version may not be lower than the old version
  // (asserted).
  void set_version(std::uint32_t version) {
    must(version >= version_, "the fact version never goes back");
    version_ = version;
  }

 private:
  std::uint64_t seq_ = 0;
  TimeMs fact_ms_ = 0;
  TimeMs now_ = 0;
  std::uint32_t version_ = 1;
  // True between begin() and end() of a fact with number 0.
  bool restoring_ = false;
};

}  // namespace subak::state
