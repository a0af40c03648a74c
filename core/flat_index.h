// A hash table from the caller's keys to numbers, which are indexes of the caller's own array. The
// caller stores the keys, and passes a function to find() that compares them. A cell takes 4 bytes,
// so an entry takes 5 to 11 bytes. The table serves for look-up only: code cannot iterate over it.
// The table uses open addressing with linear probing. Its length is a power of two, and at most 3/4
// of its cells are in use.
// Threads: one at a time for each table.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace subak {

// Mixes the bits of an integer key. Source: the finalizer of splitmix64 (Steele et al., OOPSLA
// 2014).
inline std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Each number is in the table at most once. Numbers may be reused after erase().
class FlatIndex {
 public:
  // find() returns this number if there is no entry.
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  // The largest number that fits a cell. Two values above kMaxNumber mark empty and erased cells.
  static constexpr std::uint32_t kMaxNumber = (1u << 24) - 3;

  // Returns the number that was inserted under `hash` and for which same(number) is true; kNone if
  // there is none. On average, find(), insert() and erase() take O(1).
  template <class Same>
  std::uint32_t find(std::uint64_t hash, Same same) const {
    const std::size_t place = place_of(hash, same);
    return place == cells_.size() ? kNone : cells_[place] & kNumberMask;
  }
  // Inserts a number, which must be at most kMaxNumber (asserted) and not be in the table yet. When
  // the table grows, the function calls hash_of(number) for every entry.
  template <class HashOf>
  void insert(std::uint64_t hash, std::uint32_t number, HashOf hash_of) {
    assert(number <= kMaxNumber);
    if ((used_ + 1) * 4 > cells_.size() * 3) rehash(hash_of);
    put(hash, number);
    ++size_;
  }
  // Removes a number that is in the table under this hash (asserted).
  void erase(std::uint64_t hash, std::uint32_t number) {
    const std::size_t place = place_of(hash, [&](std::uint32_t n) { return n == number; });
    assert(place != cells_.size());
    const bool last = cells_[(place + 1) & (cells_.size() - 1)] == kEmpty;
    cells_[place] = last ? kEmpty : kErased;
    if (last) --used_;
    --size_;
  }
  // The number of entries. O(1).
  std::size_t size() const { return size_; }

 private:
  // A cell has 8 bits of the hash above the 24 bits of the number. The bits of the hash spare
  // find() most calls of same() for wrong entries.
  static constexpr std::uint32_t kNumberMask = (1u << 24) - 1;
  static constexpr std::uint32_t kEmpty = 0xffff'ffff;
  static constexpr std::uint32_t kErased = 0xffff'fffe;
  static constexpr std::size_t kFirstCells = 64;

  // Returns the part of the hash that a cell stores: its bits 56 to 63.
  static std::uint32_t cell_bits(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> 32) & ~kNumberMask;
  }
  // Returns the index of the cell whose number has this hash and fulfils `same`; the table's length
  // if there is no such cell.
  template <class Same>
  std::size_t place_of(std::uint64_t hash, Same same) const {
    if (cells_.empty()) return 0;
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const std::uint32_t cell = cells_[i];
      if (cell == kEmpty) return cells_.size();
      if (cell == kErased || (cell & ~kNumberMask) != cell_bits(hash)) continue;
      if (same(cell & kNumberMask)) return i;
    }
  }
  // Writes the number into the first free cell, searching from the position that the hash gives. A
  // free cell must exist.
  void put(std::uint64_t hash, std::uint32_t number) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t i = hash & mask;
    while (cells_[i] != kEmpty && cells_[i] != kErased) i = (i + 1) & mask;
    if (cells_[i] == kEmpty) ++used_;
    cells_[i] = cell_bits(hash) | number;
  }
  // Doubles the table if more than 3/8 of its cells would have an entry. Else the function only
  // removes the marks of erased cells.
  template <class HashOf>
  void rehash(HashOf hash_of) {
    std::size_t length = cells_.empty() ? kFirstCells : cells_.size();
    if ((size_ + 1) * 8 > length * 3) length *= 2;  // else only removes the marks of erased cells
    std::vector<std::uint32_t> old(length, kEmpty);
    old.swap(cells_);
    used_ = 0;
    for (const std::uint32_t cell : old) {
      if (cell == kEmpty || cell == kErased) continue;
      put(hash_of(cell & kNumberMask), cell & kNumberMask);
    }
  }

  std::vector<std::uint32_t> cells_;
  // The number of cells that are not empty. Cells that are marked as erased count too.
  std::size_t used_ = 0;
  // The number of entries in the table.
  std::size_t size_ = 0;
};

}  // namespace subak
