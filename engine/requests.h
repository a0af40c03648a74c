// What mutations with a request id did, so that the same id again gets the same answer: the newest
// limits::kMaxRequestIds of the last limits::kRequestIdLifeMs. About 110 bytes for an id that is a
// UUID. Private to engine. Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

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
  RequestLog() = default;
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

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
  };
  // The index holds numbers of entries, modulo 2^32, and hashes the ids that they stand for.
  struct Hash {
    using is_transparent = void;
    const RequestLog* log;
    std::size_t operator()(std::string_view id) const { return std::hash<std::string_view>()(id); }
    std::size_t operator()(std::uint32_t number) const { return (*this)(log->id_of(number)); }
  };
  struct Equal {
    using is_transparent = void;
    const RequestLog* log;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(std::string_view a, std::uint32_t b) const { return a == log->id_of(b); }
    bool operator()(std::uint32_t a, std::string_view b) const { return b == log->id_of(a); }
  };
  std::size_t place_of(std::uint32_t number) const {
    return static_cast<std::uint32_t>(number - first_);
  }
  std::string id_of(std::uint32_t number) const { return id(place_of(number)); }
  void forget_oldest();

  std::deque<Entry> entries_;
  std::deque<char> text_;         // all ids, one after another
  std::uint64_t text_begin_ = 0;  // of the oldest id
  std::uint32_t first_ = 0;       // number of the oldest entry
  std::unordered_set<std::uint32_t, Hash, Equal> index_{0, Hash{this}, Equal{this}};
};

}  // namespace subak
