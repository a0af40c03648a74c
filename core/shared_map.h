// An immutable map from texts to values. An edit makes a new version of the map. Versions share
// memory: a new version copies only the buckets of the edited entries. So an edit costs the copies
// of a few buckets, even while readers use older versions. The View, which is the read-only copy of
// the state for the webhook, stores its accounts in such maps.
//
// Look-up: O(log of a bucket). changed(): O(buckets touched x entries in each + kBuckets).
// Threads: any, because a map is read-only. A value in a map never changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/content_hash.h"

namespace subak {

// The map. A new map is empty. A copy of a map copies only kBuckets pointers, because it shares all
// buckets with the original.
template <class T>
class SharedMap {
 public:
  // The value of a key. All versions of the map with this entry share the value. In changed(), a
  // null value removes the key.
  using Value = std::shared_ptr<const T>;
  using Entry = std::pair<std::string, Value>;

  // Returns the value; nullptr if the map has no such key. The pointer is valid as long as some
  // version of the map has the value.
  const T* find(std::string_view key) const {
    const Bucket* const bucket = buckets_[index_of(key)].get();
    if (bucket == nullptr) return nullptr;
    const auto it = place(*bucket, key);
    return it == bucket->end() || it->first != key ? nullptr : it->second.get();
  }
  // The number of keys. O(1).
  std::size_t size() const { return size_; }

  // Returns a new version of the map. It sets the entries in `changes`, and removes an entry if its
  // value is null. If `changes` has a key twice, the last entry counts.
  SharedMap changed(std::vector<Entry> changes) const {
    SharedMap next = *this;
    std::stable_sort(changes.begin(), changes.end(), [](const Entry& a, const Entry& b) {
      return index_of(a.first) < index_of(b.first);
    });
    for (auto from = changes.begin(); from != changes.end();) {
      const std::size_t index = index_of(from->first);
      auto bucket =
          buckets_[index] ? std::make_shared<Bucket>(*buckets_[index]) : std::make_shared<Bucket>();
      next.size_ -= bucket->size();
      for (; from != changes.end() && index_of(from->first) == index; ++from) {
        change(*bucket, std::move(*from));
      }
      next.size_ += bucket->size();
      next.buckets_[index] = std::move(bucket);
    }
    return next;
  }

  // All values, in the order of their keys.
  std::vector<const T*> values() const {
    std::vector<const Entry*> entries;
    entries.reserve(size_);
    for (const auto& bucket : buckets_) {
      if (!bucket) continue;
      for (const Entry& entry : *bucket) entries.push_back(&entry);
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry* a, const Entry* b) { return a->first < b->first; });
    std::vector<const T*> out;
    out.reserve(size_);
    for (const Entry* entry : entries) out.push_back(entry->second.get());
    return out;
  }

 private:
  // The number of buckets: each new version copies this many pointers. With 100,000 keys, a bucket
  // has about 400 entries.
  static constexpr std::size_t kBuckets = 256;
  using Bucket = std::vector<Entry>;  // by key

  // Returns the index of the bucket of this key. The index of a key is the same in every build.
  static std::size_t index_of(std::string_view key) { return content_hash(key) % kBuckets; }
  // Returns the first entry of the bucket whose key is not below `key`.
  template <class B>
  static auto place(B& bucket, std::string_view key) {
    return std::lower_bound(bucket.begin(), bucket.end(), key,
                            [](const Entry& e, std::string_view k) { return e.first < k; });
  }
  // Sets one entry in a bucket, or removes it if its value is null.
  static void change(Bucket& bucket, Entry entry) {
    const auto it = place(bucket, entry.first);
    const bool there = it != bucket.end() && it->first == entry.first;
    if (!entry.second) {
      if (there) bucket.erase(it);
    } else if (there) {
      it->second = std::move(entry.second);
    } else {
      bucket.insert(it, std::move(entry));
    }
  }

  // A null bucket has no entries.
  std::array<std::shared_ptr<const Bucket>, kBuckets> buckets_;
  std::size_t size_ = 0;
};

}  // namespace subak
