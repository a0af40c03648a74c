// A container with one value for each account that a pass (ReadyQueue::Pass) visits.
// Threads: one at a time. Private to queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/must.h"

namespace subak::ready {

// A value of type T for each visited account. Each account has a mark with the number of the pass
// that visited it last. So begin() makes all values void in O(1). The next pass reuses the memory
// of the values. visit() calls T::clear() at the first visit of an account in a pass. References to
// values stay valid until begin().
template <class T>
class Visited {
 public:
  // Begins a pass, which has visited no account yet. All account ids of the pass are below
  // `accounts`.
  void begin(std::size_t accounts) {
    ++pass_;
    count_ = 0;
    if (marks_.size() < accounts) marks_.resize(accounts);
  }
  // Returns the account's value; nullptr if the pass has not visited the account. O(1). The pointer
  // is valid until begin().
  T* find(AccountId id) { return found(id) ? values_[marks_[id.value].at].get() : nullptr; }
  const T* find(AccountId id) const {
    return found(id) ? values_[marks_[id.value].at].get() : nullptr;
  }
  // Returns the account's value. At the first visit of a pass, the value has just been cleared.
  T& visit(AccountId id) {
    must(id.value < marks_.size(), "a pass visits accounts that it began with");
    Mark& mark = marks_[id.value];
    if (mark.pass == pass_) return *values_[mark.at];
    if (count_ == values_.size()) values_.push_back(std::make_unique<T>());
    mark = {pass_, count_++};
    values_[mark.at]->clear();
    return *values_[mark.at];
  }

 private:
  struct Mark {
    // The last pass that visited the account.
    std::uint64_t pass = 0;
    // The index of the account's value in values_.
    std::uint32_t at = 0;
  };
  // Most passes block nothing. In these passes count_ is 0, and found() does not read the marks.
  bool found(AccountId id) const { return count_ != 0 && marks_[id.value].pass == pass_; }

  // The number of the present pass; 0 before the first pass.
  std::uint64_t pass_ = 0;
  // The marks of all accounts; the index is the account id.
  std::vector<Mark> marks_;
  // The values in the order of the first visit, so that a short pass always uses the same memory.
  std::vector<std::unique_ptr<T>> values_;
  // How many of values_ belong to this pass. These values are the first elements of values_.
  std::uint32_t count_ = 0;
};

}  // namespace subak::ready
