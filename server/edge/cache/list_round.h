// Numbers the lists (LIST requests) of one kind of Kubernetes objects, and decides whether objects
// that a list did not name are gone. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace subak {

// Each cache of pods, nodes or namespaces has one ListRound. The number rises by one with each
// list, and wraps after 2^32 lists.
class ListRound {
 public:
  // A list begins. The caller stores the number of this list in the entry of each object that the
  // list names.
  void begin() { ++number_; }
  // Returns the number of the present or the last list; 0: there was no list.
  std::uint32_t number() const { return number_; }
  // Returns true if the objects that a complete list did not name are gone. `all`: the number of
  // known objects. `going`: how many of them the list did not name. It returns false if `going` is
  // more than half of `all` and more than 8, since a server may answer with old data. For example,
  // a list that lacks 30 of 40 pods is not believed. The caller then drops no object. The second
  // such list in a row is believed, so the result is true.
  bool believe(std::size_t going, std::size_t all) {
    // At most this many objects may disappear at once without a second list.
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
