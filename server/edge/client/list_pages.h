// The pages of one list that an API server sends in parts. Threads: plain value.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/edge_limits.h"

namespace subak {

// The tokens of the pages of one list. A list always ends, whatever the server answers: no token is
// followed twice, and at most limits::kMaxListPages pages are requested.
class ListPages {
 public:
  // Begins a list: its first page has no token.
  void begin() {
    tokens_.clear();
    next_.clear();
  }

  // Takes the continue token of a page; empty: it was the last page. False: the token was followed
  // before, is longer than limits::kMaxContinueBytes, or would exceed the limit of pages.
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
  // Returns the token of the page to request now, and drops the token; empty: the first page.
  std::string take_next() { return std::exchange(next_, {}); }
  // Gives up the further pages of the list.
  // The followed tokens stay known until begin().
  void drop() { next_.clear(); }

 private:
  // The token of the next page; empty: there is no such page, or take_next() took the token.
  std::string next_;
  // All tokens of this list that were followed.
  std::set<std::string, std::less<>> tokens_;
};

}  // namespace subak
