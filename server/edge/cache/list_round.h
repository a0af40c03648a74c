// The number of the list of one kind of objects, and whether its gaps are believed. Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace subak {

// One object for each kind, for as long as the cache lives. Numbers rise by one a list, and wrap
// after 2^32 of them.
class ListRound {
 public:
  // A list begins: objects that it names get its number.
  void begin() { ++number_; }
  // The number of the running list, or of the last one; 0: there was none.
  std::uint32_t number() const { return number_; }
  // Call once the list is complete. `going` of `all` objects were not named. False: more than half
  // would go, and this is the first list to say so. Then nothing goes: a server may answer from a
  // view that lags behind.
  // True also when at most 8 objects would go. The second list in a row that says so is believed.
  bool believe(std::size_t going, std::size_t all) {
    // So many may go at once without a second list.
    constexpr std::size_t kFewObjects = 8;
    const bool many = going > kFewObjects && 2 * going > all;
    asked_ = many && !asked_;
    return !asked_;
  }

 private:
  std::uint32_t number_ = 0;
  // The last complete list was not believed.
  bool asked_ = false;
};

}  // namespace subak
