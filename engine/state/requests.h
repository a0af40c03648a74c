// Stores the replies to mutations, which are requests that change something, by request id. So a
// mutation that repeats an id gets the same reply. An id belongs to its actor and its method.
// Private to engine: State owns one RequestLog.
//
// The log has the replies of the last limits::kRequestIdLifeMs, at most limits::kMaxRequestIds. If
// there are more replies, the actor with the most ids loses its oldest id. This protects an actor
// with few ids from the requests of other actors. A request whose id is a UUID takes about 105
// bytes.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/flat_index.h"
#include "core/ids.h"
#include "core/must.h"
#include "core/quantity.h"
#include "model/input.h"

namespace subak {

// The reply to a mutation. Fields that the reply did not set are 0 or none.
struct RememberedRequest {
  // When the engine decided the request.
  TimeMs at_ms = 0;
  JobId job;
  AccountId account;
  std::int64_t revision = 0;
  // The digest of the caller's content (core/content_hash.h).
  std::uint64_t content = 0;
};

// The actor, method and id of a request, as views into the caller's texts.
struct RequestKey {
  std::string_view actor;
  Method method = Method::kNone;
  std::string_view id;
};

// The requests of one actor.
class ActorRequests {
 public:
  // Returns the reply; nullptr if the request is unknown. The pointer is valid until the next
  // change.
  const RememberedRequest* find(const RequestKey& key) const;
  // Adds a request. Times must never decrease. Returns true if the key was not known.
  bool add(const RequestKey& key, const RememberedRequest& request);
  // Forgets the oldest request. There must be one (asserted).
  void forget_oldest();
  std::size_t size() const { return entries_.size(); }
  // `place` is the index of a request: 0 is the oldest request, size() - 1 the newest. text()
  // returns the encoded key. key_of() returns views into its argument.
  std::string text(std::size_t place) const;
  static RequestKey key_of(std::string_view text);
  const RememberedRequest& request(std::size_t place) const { return entries_[place].request; }

 private:
  struct Entry {
    RememberedRequest request;
    // The position of the request's key, counted from the first byte that was ever in text_.
    std::uint64_t text = 0;
    std::uint32_t length = 0;
    std::uint32_t hash = 0;
  };
  static std::string text_of(const RequestKey& key);
  static std::uint32_t hash(std::string_view text) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(text));
  }
  // The index refers to entries by number. Each new entry gets the next number, modulo kNumbers.
  static constexpr std::uint32_t kNumbers = 1u << 23;
  std::size_t place_of(std::uint32_t number) const { return (number - first_) % kNumbers; }
  std::uint32_t number_of(std::size_t place) const {
    return (first_ + static_cast<std::uint32_t>(place)) % kNumbers;
  }
  bool is(std::size_t place, std::string_view text) const;
  std::uint32_t find_number(std::string_view text, std::uint32_t hash) const;

  std::deque<Entry> entries_;
  // The encoded keys of all requests, one after another.
  std::deque<char> text_;
  // The position of the oldest key, counted like Entry::text.
  std::uint64_t text_begin_ = 0;
  // The number of the oldest entry.
  std::uint32_t first_ = 0;
  FlatIndex index_;
};

// The requests of all actors.
class RequestLog {
 public:
  // Returns the reply; nullptr if the request is unknown or forgotten. The pointer is valid until
  // the next add().
  const RememberedRequest* find(const RequestKey& key) const;
  // Adds a request. Times of one actor must never decrease. A known key gets the new reply, but its
  // position stays. The call then forgets requests that are too old or too many, which costs
  // O(actors).
  void add(const RequestKey& key, const RememberedRequest& request);
  // The number of requests of all actors, at most limits::kMaxRequestIds.
  std::size_t size() const { return size_; }
  // For checkpoints: calls fn(RequestKey, RememberedRequest) for each request, by actor, and for
  // each actor from the oldest request on.
  template <class F>
  void each(F&& fn) const {
    for (const auto& [actor, of_actor] : actors_) {
      for (std::size_t place = 0; place < of_actor.size(); ++place) {
        const std::string text = of_actor.text(place);
        fn(ActorRequests::key_of(text), of_actor.request(place));
      }
    }
  }
  // Calls fn() for the request that each() would pass on first, and forgets this request. There
  // must be a request (asserted).
  template <class F>
  void take_first(F&& fn) {
    must(!actors_.empty(), "a request that is taken is there");
    ActorRequests& first = actors_.begin()->second;
    const std::string text = first.text(0);
    fn(ActorRequests::key_of(text), first.request(0));
    first.forget_oldest();
    if (first.size() == 0) actors_.erase(actors_.begin());
    --size_;
  }

 private:
  // Forgets requests older than limits::kRequestIdLifeMs.
  void forget_old(TimeMs now);
  // Forgets the oldest request of the actor with the most requests.
  void forget_of_largest();

  // The requests of each actor. No entry is empty.
  std::map<std::string, ActorRequests, std::less<>> actors_;
  std::size_t size_ = 0;
  // No request is older than this time.
  TimeMs oldest_ms_ = 0;
};

}  // namespace subak
