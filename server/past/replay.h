// Checks a scheduling decision of the past, for the command `subak replay`. It decides the pass
// (one round of decisions) again, in the state before the pass. Then it compares the new facts with
// the stored facts.
//
// A pass depends only on the state. Its facts are consecutive and have one time. But no fact says
// where a pass begins. For example, the facts 40 to 44 have one time, 41 is an edit of an account,
// and fact 43 starts a job. No pass makes an edit, so the pass of fact 43 begins with fact 42 or
// 43.
//
// So a replay tries each of these facts as the beginning. It rebuilds the state before it, decides
// a pass in this state, and compares all facts of the pass with the stored facts. If they are equal
// for one beginning, and include the fact in question, the decision is the same. If they differ for
// each beginning, no pass made the stored facts (docs/design/0129).
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "engine/engine.h"
#include "server/past/fold.h"
#include "server/runtime/ports.h"

namespace subak {

enum class ReplayVerdict : std::uint8_t {
  // A pass in the state before gives the same facts.
  kSame,
  // Only a pass makes facts like this one, and no pass gives the stored facts.
  kDifferent,
  // No pass gives this fact, but other inputs make such facts too, and facts do not name their
  // input. So the fact cannot be replayed.
  kNoPass,
};

// The result of a replay of one fact.
struct Replayed {
  ReplayVerdict verdict = ReplayVerdict::kNoPass;
  // The fact.
  Fact fact;
  // The job that the fact is about; 0: it is not about a job that a pass decides on.
  JobId job;
  // The first and the last fact of the pass. For kDifferent, `begin` is the beginning with the most
  // equal facts, and `end` is the fact before the first difference.
  std::uint64_t begin = 0, end = 0;
  // For kDifferent: the stored fact and the replayed fact at the first difference, in text form.
  // Empty: there is no such fact.
  std::string stored, replayed;
};

// The result of a replay of all decisions of a range.
struct ReplayedRange {
  // The decisions that came out the same, and those that no pass made (ReplayVerdict::kNoPass).
  std::int64_t same = 0, no_pass = 0;
  // The first decision that came out different; nullopt: there is none.
  std::optional<Replayed> different;
};

// True for facts that a replay of a range examines: starts, reservations and new claims.
bool is_decision(const Fact& fact);

class Replay {
 public:
  // `reader` must outlive the object.
  explicit Replay(StoreReader& reader) : reader_(reader), fold_(reader) {}

  // Replays the pass of the fact `seq`. It is fast if `seq` never decreases from call to call. Each
  // beginning at which the pass differs costs O(state), since it leaves a state that the store
  // never had. kNotFound: no such fact. kPrecondition: the state
  // before is gone, or its order rule has a state that no fact stores. kExhausted:
  // limits::kMaxReplayStarts or kMaxReplayFacts is reached. Other errors are those of the reader.
  Result<Replayed> fact(std::uint64_t seq);

  // Replays each decision (is_decision()) of the facts `from` to `to`, up to the first difference.
  // `from` must be at least 1. Facts after the store's last one do not count. Each pass is replayed
  // once. The errors are those of fact().
  Result<ReplayedRange> range(std::uint64_t from, std::uint64_t to);

  // Returns the state before the pass that was replayed last, by fact() or range(); nullptr if that
  // call failed or found no pass. Valid until the next call.
  const Engine* before() const { return has_before_ ? &fold_.engine() : nullptr; }

 private:
  // The facts [first, first + facts.size()) of one time.
  struct Facts {
    std::uint64_t first = 0;
    std::vector<Fact> facts;
  };
  // Reads the facts of the same time as `seq`, up to `seq`.
  Result<Facts> read_until(std::uint64_t seq);
  // Returns a copy of the state of `fold_`, in which a pass can be decided.
  Result<Engine*> trial_state();
  // Decides a pass in the state of `fold_`, and compares it with the stored facts from `begin` on.
  // True: all facts are equal and they include the fact of `out`. Else it keeps the first
  // difference in `out`, if that is later than the one in `out`.
  Result<bool> try_at(std::uint64_t begin, Replayed& out);

  StoreReader& reader_;
  // The state before the pass.
  Fold fold_;
  // Decides the passes. Where a pass gave the stored facts, this is a state of the store, and later
  // facts are added to it. nullptr: the last pass differed.
  std::unique_ptr<Engine> trial_;
  bool has_before_ = false;
};

}  // namespace subak
