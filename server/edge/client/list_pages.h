// The pages of one list that an API server sends in parts. Threads: plain value.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/edge_limits.h"

namespace subak {

// The way through the pages. It ends, whatever the server answers: no token is followed twice, and
// at most limits::kMaxListPages pages are asked for.
class ListPages {
 public:
  // Begins a list: its first page has no token.
  void begin() {
    tokens_.clear();
    next_.clear();
  }

  // Takes the continue token of a page; empty: it was the last one. False: the token was there
  // before, is over limits::kMaxContinueBytes, or exceeds the limit of pages.
  bool follow(std::string_view token) {
    if (!token.empty() &&
        (token.size() > limits::kMaxContinueBytes || tokens_.size() + 1 >= limits::kMaxListPages ||
         !tokens_.emplace(token).second)) {
      return false;
    }
    next_ = token;
    return true;
  }

  // True if the list continues with a further page that was not asked for yet.
  bool has_next() const { return !next_.empty(); }
  // Returns the token of the page to ask for now, and drops it; empty: the first page.
  std::string take_next() { return std::exchange(next_, {}); }
  // Gives up the rest of the list.
  // The tokens stay known until begin().
  void drop() { next_.clear(); }

 private:
  // The token of the next page; empty: there is none, or it was taken.
  std::string next_;
  // All tokens of this list that were followed.
  std::set<std::string, std::less<>> tokens_;
};

}  // namespace subak
