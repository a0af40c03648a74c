// A unique_ptr that passes its constness on: a const method of the pointer's owner cannot change
// the object behind the pointer. Only placement uses this class. The public header of Fleet
// includes it too, for the pointer to the fleet's state.
// Threads: as a unique_ptr: one at a time may change it.
#pragma once

#include <memory>
#include <utility>

namespace subak {

// The pointer. It is move-only, like a unique_ptr, and may be null.
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(std::unique_ptr<T> value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose

  // False: this pointer owns no object, and must not be dereferenced.
  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  // Returns the object. This pointer still owns it.
  T* get() { return value_.get(); }
  const T* get() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace subak
