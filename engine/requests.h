// What mutations with a request id did, so that the same id again gets the same answer: the newest
// limits::kMaxRequestIds of the last limits::kRequestIdLifeMs. About 85 bytes for an id that is a
// UUID. Private to engine. Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "core/flat_index.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

struct RememberedRequest {
  TimeMs at_ms = 0;
  JobId job;
  AccountId account;
  std::int64_t revision = 0;
};

class RequestLog {
 public:
  // nullptr if unknown or forgotten. Valid until the next add().
  const RememberedRequest* find(std::string_view id) const;
  // Times never fall. An id that is known gets the new answer and keeps its place. Forgets what is
  // too old or too many.
  void add(std::string_view id, const RememberedRequest& request);
  std::size_t size() const { return entries_.size(); }
  // The oldest is 0.
  std::string id(std::size_t place) const;
  const RememberedRequest& request(std::size_t place) const { return entries_[place].request; }

 private:
  struct Entry {
    RememberedRequest request;
    std::uint64_t text = 0;  // where its id begins, counted from the first id ever
    std::uint32_t length = 0;
    std::uint32_t hash = 0;
  };
  static std::uint32_t hash(std::string_view id) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(id));
  }
  // The index knows entries by a number that grows with each, modulo this.
  static constexpr std::uint32_t kNumbers = 1u << 23;
  std::size_t place_of(std::uint32_t number) const { return (number - first_) % kNumbers; }
  std::uint32_t number_of(std::size_t place) const {
    return (first_ + static_cast<std::uint32_t>(place)) % kNumbers;
  }
  bool is(std::size_t place, std::string_view id) const;
  std::uint32_t find_number(std::string_view id, std::uint32_t hash) const;
  void forget_oldest();

  std::deque<Entry> entries_;
  std::deque<char> text_;         // all ids, one after another
  std::uint64_t text_begin_ = 0;  // of the oldest id
  std::uint32_t first_ = 0;       // number of the oldest entry
  FlatIndex index_;
};

}  // namespace subak
