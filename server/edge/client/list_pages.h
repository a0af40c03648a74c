// Follows the pages of one list that an API server sends in parts, and bounds their number.
// Threads: one at a time.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/edge_limits.h"

namespace subak {

// The tokens of the pages of one list. Each page has the token of the next page. Whatever the
// server answers, the list ends: no token is followed twice, and at most limits::kMaxListPages
// pages are requested.
class ListPages {
 public:
  // Begins a new list and forgets the tokens of the last one. The first page is requested without a
  // token.
  void begin() {
    tokens_.clear();
    next_.clear();
  }

  // Takes the token of the next page from a page (its field "continue"); empty: there is no further
  // page. False: the token must not be followed, because it was followed before, is longer than
  // limits::kMaxContinueBytes, or exceeds the limit on pages.
  bool follow(std::string_view token) {
    if (!token.empty() &&
        (token.size() > limits::kMaxContinueBytes || tokens_.size() + 1 >= limits::kMaxListPages ||
         !tokens_.emplace(token).second)) {
      return false;
    }
    next_ = token;
    return true;
  }

  // True if the list has a further page that was not requested yet.
  bool has_next() const { return !next_.empty(); }
  // Takes out and returns the token of the page to request now; empty: request the first page.
  std::string take_next() { return std::exchange(next_, {}); }
  // Drops the token of the next page, so the list has no further page. The tokens that were
  // followed stay known until begin().
  void drop() { next_.clear(); }

 private:
  // The token of the next page; empty: there is no such page, or take_next() took the token.
  std::string next_;
  // All tokens of this list that were followed.
  std::set<std::string, std::less<>> tokens_;
};

}  // namespace subak
