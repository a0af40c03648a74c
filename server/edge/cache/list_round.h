// Numbers the lists of one kind of objects, and decides whether objects that a list did not name
// are gone. Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace subak {

// The cache has one ListRound for each kind. The number rises by one with each list, and wraps
// after 2^32 lists.
class ListRound {
 public:
  // A list begins. The caller gives its number to each object that the list names.
  void begin() { ++number_; }
  // Returns the number of the present or the last list; 0: there was no list.
  std::uint32_t number() const { return number_; }
  // Says whether the `going` of `all` objects that a complete list did not name are gone.
  // It returns false if they are more than half and more than 8, since a server may answer with old
  // data. Then the caller drops none. If the next list misses as many again, it returns true.
  bool believe(std::size_t going, std::size_t all) {
    // This many objects may go at once without a second list.
    constexpr std::size_t kFewObjects = 8;
    const bool many = going > kFewObjects && 2 * going > all;
    asked_ = many && !asked_;
    return !asked_;
  }

 private:
  std::uint32_t number_ = 0;
  // True: the last complete list was not believed.
  bool asked_ = false;
};

}  // namespace subak
