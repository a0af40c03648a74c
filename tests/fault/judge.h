// The judge of a fault world (world.h). After each step it checks the rules that no fault may
// break. It applies the inputs of the service's engine to an engine of its own, and compares
// everything that the service shows with this engine.
// Threads: one at a time.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "books.h"
#include "server/runtime/runtime.h"
#include "store.h"
#include "tests/oracle/oracle.h"

namespace subak::fault {

class Judge {
 public:
  Judge(FaultStore& store, bool trace);

  // Returns the judge of the next leader. It has the history of this judge. Call recovered() on it
  // when the next leader has read the store.
  std::unique_ptr<Judge> successor() const;

  // --- the service's life ------------------------------------------------------------------------
  void crashed();                        // the process died; only the store is left
  void recovered();                      // a new process has read the store
  void posted(const std::string& post);  // the runtime has accepted this post
  void saw(const Input& input);
  void released(const Released& batch);
  // --- what it shows -----------------------------------------------------------------------------
  void acknowledged(const std::string& post, const Reply& reply);
  void delivered(const Effect& effect);
  void viewed(const View& view);

  void wrong(const std::string& what);
  void say(const std::string& what) const;  // writes a line into the trace
  // Returns all mistakes so far, including those that the store and the oracle found; empty: none.
  std::vector<std::string> mistakes();
  // The judge's engine, which must equal the service's engine after the last input.
  const Engine& engine() const { return *engine_; }
  // True if the process leads and there are claims.
  bool has_claims() const { return engine_ != nullptr && !engine_->claims("").empty(); }
  bool some_node_is_backed_off() const { return !memory_.books.bars.empty(); }
  // Call it at the end. Checks that all facts from the first one on give the same state, and that
  // sums and request ids are right. `ids_last`: no leap of the clock has made the service forget
  // request ids (limits::kRequestIdLifeMs).
  void audit(bool ids_last = true);

 private:
  // The checks that need earlier inputs. After a crash they begin again with the durable facts.
  struct Memory {
    sim::Oracle oracle{sim::Oracle::Options{false, false}};
    Books books;
  };
  struct Known {
    JobState state = JobState::kIncomplete;
    std::uint32_t attempt = 0;
  };
  struct Seen {
    Input input;
    ApplyOutcome outcome;
    std::uint64_t seq = 0;  // the last fact so far
  };
  void judge(const Seen& seen, const Engine* engine);
  void judge_moves(const Seen& seen, const Engine& engine);
  void judge_places(const Seen& seen, const Engine& engine);
  void judge_limits(const Seen& seen, const Engine& engine);
  void judge_reasons(const JobRow& row, const Engine& engine);
  void note_effects(const std::vector<Fact>& facts);
  std::unique_ptr<Engine> fold() const;  // all facts from the first

  FaultStore& store_;
  const bool trace_;
  std::unique_ptr<Engine> engine_;
  Memory memory_;
  std::map<JobId, Known> jobs_;  // as of the last input
  std::vector<Seen> history_;    // inputs with facts, and all reports of clusters
  std::size_t released_facts_ = 0;
  std::deque<Fact> made_;                         // by engine_, not released yet
  std::deque<std::string> waiting_;               // posts not applied yet, in order
  std::map<std::string, std::uint64_t> applied_;  // post: last fact when it was applied
  std::map<std::pair<JobId, std::uint32_t>, std::uint64_t> started_;  // by attempt: its fact
  std::map<std::pair<JobId, Cause>, std::uint64_t> stopped_;
  std::map<std::pair<JobId, std::uint32_t>, std::uint64_t> taken_back_;  // first, by attempt
  struct Opened {
    std::uint32_t attempt = 0;
    std::string where;
  };
  std::map<std::string, Opened> gates_;  // by pod: where the opened gate leads
  std::map<std::uint64_t, std::array<std::uint64_t, 2>> digests_;  // by last fact
  std::size_t inputs_ = 0;
  std::vector<std::string> mistakes_;
};

}  // namespace subak::fault
