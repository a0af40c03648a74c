// Computes how many bytes a record takes in its durable form (server/codec), without encoding the
// record. The core uses this size to refuse large inputs, so that each fact stays within its size
// limit.
// The durable form is protobuf. Source: https://protobuf.dev/programming-guides/encoding/
// Threads: any; pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/text.h"

namespace subak {

// A field visitor that adds up the size. A record passes its fields to a visitor in its member
// `fields` (core/text.h): record.fields(size). The sum is the encoded size of the record, plus two
// bytes for each empty record inside.
class StoredSize {
 public:
  // Adds one field. A field with the value 0 or an empty text takes no bytes, as in the durable
  // form.
  template <class T>
  void operator()(int number, std::string_view, const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      if (!value.empty()) bytes_ += tag(number) + in_length(value.size());
    } else if constexpr (IsVector<T>) {
      for (const auto& item : value) add_item(number, item);
    } else if constexpr (std::floating_point<T>) {
      bytes_ += tag(number) + sizeof(double);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      // A negative number takes as many bytes as the largest unsigned number.
      add_number(number, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    } else if constexpr (
        requires { value.value; } && !requires { const_cast<T&>(value).fields(*this); }) {
      add_number(number, value.value);  // an id
    } else {
      add_item(number, value);
    }
  }
  std::size_t bytes() const { return bytes_; }

 private:
  // Returns how many bytes the value takes as a base-128 varint: 1 to 10.
  static std::size_t varint(std::uint64_t value) {
    return static_cast<std::size_t>(std::bit_width(value | 1) + 6) / 7;
  }
  // Returns how many bytes a field's tag takes. The tag is the field's number and three bits of
  // wire type.
  static std::size_t tag(int number) {
    constexpr int kTypeBits = 3;
    return varint(static_cast<std::uint64_t>(number) << kTypeBits);
  }
  // Returns how many bytes a text or record takes, with its length in front.
  static std::size_t in_length(std::size_t bytes) { return varint(bytes) + bytes; }

  void add_number(int number, std::uint64_t value) {
    if (value != 0) bytes_ += tag(number) + varint(value);
  }
  // Adds an item of a list, or a record. Unlike an empty field, an empty item takes the bytes of
  // its tag.
  template <class T>
  void add_item(int number, const T& item) {
    if constexpr (std::same_as<T, std::string>) {
      bytes_ += tag(number) + in_length(item.size());
    } else {
      StoredSize inner;
      const_cast<T&>(item).fields(inner);  // fields() serves readers and writers
      bytes_ += tag(number) + in_length(inner.bytes());
    }
  }

  std::size_t bytes_ = 0;
};

// Returns the size of one record in bytes, as StoredSize counts.
template <class T>
std::size_t stored_bytes(const T& record) {
  StoredSize size;
  const_cast<T&>(record).fields(size);
  return size.bytes();
}

}  // namespace subak
