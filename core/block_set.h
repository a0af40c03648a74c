// An ordered set in sorted blocks of up to kBlock values, for small values that are often inserted
// and erased. The set works like a std::set, but allocates once for each block instead of once for
// each value. A change touches few cache lines. Any change of the set invalidates all iterators and
// references into it.
// Threads: one at a time for each set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace subak {

// The set copies T and compares it with `<` only. So two values are equal if neither is below the
// other.
template <class T>
class BlockSet {
 public:
  // The most values in a block. If an insert exceeds this, the set splits the block in half.
  static constexpr std::size_t kBlock = 64;

  // Iterates over the values in ascending order. All iterators at the end are equal, even of
  // different sets.
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    // Makes an iterator at the end, which equals end() of any set.
    const_iterator() = default;
    // The iterator must not be at the end.
    const T& operator*() const { return *at_; }
    const T* operator->() const { return at_; }
    const_iterator& operator++() {
      if (++at_ == end_) enter(block_ + 1);
      return *this;
    }
    const_iterator operator++(int) {
      const const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.at_ == b.at_;
    }

   private:
    friend class BlockSet;
    using Block = const std::vector<T>*;
    const_iterator(Block block, Block last, std::size_t at) : last_(last) {
      enter(block);
      if (at_ != nullptr) at_ += at;
    }
    // Goes to the first value of this block, or to the end.
    void enter(Block block) {
      block_ = block;
      at_ = block == last_ ? nullptr : block->data();
      end_ = block == last_ ? nullptr : at_ + block->size();
    }
    // `block_` is the block of the current value. `last_` is the end of the array of blocks.
    Block block_ = nullptr, last_ = nullptr;
    // `at_` is the current value, and `end_` is the end of its block. At the end of the set both
    // are nullptr.
    const T *at_ = nullptr, *end_ = nullptr;
  };

  // Inserts the value. Returns false, and changes nothing, if the set already has the value. O(log
  // n + kBlock). A split of a block adds O(n / kBlock).
  bool insert(const T& value) {
    if (blocks_.empty()) blocks_.emplace_back(), lasts_.push_back(value);
    const std::size_t b = std::min(block_of(value), blocks_.size() - 1);
    std::vector<T>& block = blocks_[b];
    const auto at = std::lower_bound(block.begin(), block.end(), value);
    if (at != block.end() && !(value < *at)) return false;
    block.insert(at, value);
    lasts_[b] = block.back();
    ++size_;
    if (block.size() > kBlock) split(b);
    return true;
  }
  // Removes the value. Returns how many values were removed: 0 or 1. The cost is the same as that
  // of insert().
  std::size_t erase(const T& value) {
    const std::size_t b = block_of(value);
    if (b == blocks_.size()) return 0;
    std::vector<T>& block = blocks_[b];
    const auto at = std::lower_bound(block.begin(), block.end(), value);
    if (value < *at) return 0;
    block.erase(at);
    --size_;
    if (block.empty()) {
      remove(b);
    } else {
      lasts_[b] = block.back();
      if (b + 1 < blocks_.size()) merge(b);
    }
    return 1;
  }

  // True if the set has the value. O(log n).
  bool contains(const T& value) const {
    const const_iterator at = lower_bound(value);
    return at != end() && !(value < *at);
  }
  // Returns the first value that is not below `value`; end() if there is none. O(log n).
  const_iterator lower_bound(const T& value) const {
    const std::size_t b = block_of(value);
    if (b == blocks_.size()) return end();
    const std::vector<T>& block = blocks_[b];
    const auto at = std::lower_bound(block.begin(), block.end(), value);
    return iterator_at(b, static_cast<std::size_t>(at - block.begin()));
  }
  // The iteration from begin() to end() is in ascending order.
  const_iterator begin() const { return iterator_at(0, 0); }
  const_iterator end() const { return {}; }
  // The number of values. O(1).
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  // Returns the iterator at index `at` of the block. If `block` is the number of blocks, returns
  // end().
  const_iterator iterator_at(std::size_t block, std::size_t at) const {
    return {blocks_.data() + block, blocks_.data() + blocks_.size(), at};
  }
  // Returns the index of the first block whose last value is not below `value`; the number of
  // blocks if there is no such block.
  std::size_t block_of(const T& value) const {
    return static_cast<std::size_t>(std::lower_bound(lasts_.begin(), lasts_.end(), value) -
                                    lasts_.begin());
  }
  // Moves the upper half of the block into a new block after it.
  void split(std::size_t b) {
    const auto middle = blocks_[b].begin() + static_cast<std::ptrdiff_t>(kBlock / 2);
    std::vector<T> upper(middle, blocks_[b].end());
    blocks_[b].erase(middle, blocks_[b].end());
    const auto next = static_cast<std::ptrdiff_t>(b + 1);
    lasts_.insert(lasts_.begin() + next, upper.back());
    lasts_[b] = blocks_[b].back();
    blocks_.insert(blocks_.begin() + next, std::move(upper));
  }
  // Merges the block with the next block if both together have at most kBlock / 2 values.
  void merge(std::size_t b) {
    std::vector<T>& block = blocks_[b];
    const std::vector<T>& next = blocks_[b + 1];
    if (block.size() + next.size() > kBlock / 2) return;
    block.insert(block.end(), next.begin(), next.end());
    lasts_[b] = block.back();
    remove(b + 1);
  }
  // Removes a block that is empty or was merged into another. O(n / kBlock).
  void remove(std::size_t b) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
    lasts_.erase(lasts_.begin() + static_cast<std::ptrdiff_t>(b));
  }

  // The values in ascending order. No block is empty.
  std::vector<std::vector<T>> blocks_;
  // The largest value of each block, so that a search reads one array first.
  std::vector<T> lasts_;
  std::size_t size_ = 0;
};

}  // namespace subak
