// The store of a fault world. Only durable facts and checkpoints survive a crash.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/runtime/ports.h"
#include "tests/server/store/support/facts_reader.h"
#include "tests/server/store/support/pack_facts.h"

namespace subak::fault {

// A deliberate mistake of a store. Tests check that the judges find it.
enum class Planted {
  kNothing,
  kLies,              // reports a batch as durable that a crash still loses
  kLosesTail,         // a restart does not find the last fact
  kSpoilsCheckpoint,  // a checkpoint has another priority for a job
  kSpoilsFact,        // a fact has another priority for a job
  // Only for processes that share a database:
  kNoEpochCheck,  // accepts a batch of a process that does not lead
  kUnconfirmed,   // confirms the lead of a process without a check
};

class FaultStore final : public Store {
 public:
  explicit FaultStore(Planted planted) : planted_(planted) {}
  Planted planted() const { return planted_; }

  // What happens to the next commits.
  enum class Fate { kKept, kLost, kKeptButFailed };
  Fate fate = Fate::kKept;
  bool checkpoints_fail = false;

  std::optional<Error> commit(std::span<const Fact> facts) override {
    if (fate == Fate::kLost) return broken();
    if (facts.front().seq != said_seq() + 1) complaints.push_back("a batch leaves a gap");
    if (planted_ == Planted::kLies) {
      cache_.insert(cache_.end(), facts.begin(), facts.end());
    } else {
      facts_.insert(facts_.end(), facts.begin(), facts.end());
    }
    if (planted_ == Planted::kSpoilsFact) spoil(facts_.size() - facts.size());
    if (fate == Fate::kKeptButFailed) return broken();
    return std::nullopt;
  }

  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override {
    if (checkpoints_fail) return broken();
    if (seq > said_seq()) complaints.push_back("a checkpoint of what is not durable");
    checkpoint_ = unpack(facts);
    checkpoint_seq_ = seq;
    if (planted_ == Planted::kSpoilsCheckpoint) {
      for (Fact& fact : checkpoint_) {
        if (auto* const kept = std::get_if<fact::JobSnapshot>(&fact.body)) ++kept->job.priority;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> write_calibration(std::string_view bytes) override {
    told = bytes;
    return std::nullopt;
  }
  Result<std::string> read_calibration() override { return told; }

  Result<std::unique_ptr<StoreReader>> open_reader() override {
    return std::unique_ptr<StoreReader>(std::make_unique<Reader>(*this));
  }
  std::string describe() const override { return "faults"; }

  // Says that the process has died.
  void crash() {
    cache_.clear();
    if (planted_ == Planted::kLosesTail && !facts_.empty()) facts_.pop_back();
  }
  // Returns the last fact that a crash at this moment would leave.
  std::uint64_t durable_seq() const { return facts_.empty() ? 0 : facts_.back().seq; }
  const std::vector<Fact>& facts() const { return facts_; }

  std::vector<std::string> complaints;
  std::string told;  // the calibration beside the checkpoint; a test may change it

 private:
  class Reader final : public FactsReader {
   public:
    explicit Reader(FaultStore& store) : store_(store) {}
    Result<Recovered> recover(FactSink& sink) override {
      Recovered out;
      for (const Fact& fact : store_.checkpoint_) sink.checkpoint_fact(fact);
      out.checkpoint_seq = out.seq = store_.checkpoint_seq_;
      out.checkpoint_facts = store_.checkpoint_.size();
      sink.checkpoint_end(out.seq);
      for (std::size_t i = out.checkpoint_seq; i < store_.facts_.size(); ++i) {
        sink.fact(store_.facts_[i]);
        out.seq = store_.facts_[i].seq;
        ++out.tail_facts;
      }
      return out;
    }
    Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
      const std::vector<Fact>& all = store_.facts_;
      const std::size_t begin = std::min<std::size_t>(after, all.size());
      const std::size_t end = std::min(begin + most, all.size());
      return std::vector<Fact>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                               all.begin() + static_cast<std::ptrdiff_t>(end));
    }

   private:
    FaultStore& store_;
  };

  void spoil(std::size_t from) {
    for (std::size_t i = from; i < facts_.size(); ++i) {
      if (auto* const job = std::get_if<fact::JobCreated>(&facts_[i].body)) ++job->priority;
    }
  }

  static Error broken() { return {ErrorCode::kPrecondition, "store", "fault", "a disk"}; }
  std::uint64_t said_seq() const { return cache_.empty() ? durable_seq() : cache_.back().seq; }

  const Planted planted_;
  std::vector<Fact> facts_, checkpoint_;
  std::vector<Fact> cache_;  // of a lying store
  std::uint64_t checkpoint_seq_ = 0;
};

}  // namespace subak::fault
