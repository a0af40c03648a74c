// Visitors that write and read the fields of any record that has fields(v), a member that calls v
// once for each field. server/codec/format.h uses them. The visitors use protobuf's wire format
// (https://protobuf.dev/programming-guides/encoding), but none of protobuf's message classes. As in
// proto3, a field with its default value (0 or empty) is not written. No record has a list of
// numbers, so there is no code for the packed form of such lists. Threads: one at a time for each
// visitor; the functions are pure.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "core/text.h"
#include "core/versions.h"

namespace subak::codec {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Types whose value is one varint on the wire, without a length before it. IsId: ids. IsScalar:
// ids, integers, booleans and enums.
template <class T>
concept IsId = IsSmallId<T> || std::same_as<T, JobId>;
template <class T>
concept IsScalar = std::integral<T> || std::is_enum_v<T> || IsId<T>;

// Appends a varint: 7 bits in each byte, the lowest bits first. At most 10 bytes.
inline void put_varint(std::string& out, std::uint64_t value) {
  std::uint8_t buffer[10];
  const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer));
}

// Appends a field's number and wire type.
inline void put_tag(std::string& out, int number, WireFormatLite::WireType type) {
  put_varint(out, WireFormatLite::MakeTag(number, type));
}

// Returns the number that stands for a scalar on the wire. A negative number becomes its two's
// complement of 64 bits.
template <IsScalar T>
std::uint64_t to_varint(const T& value) {
  if constexpr (IsId<T>) {
    return value.value;
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// Reads a scalar from its wire value. False: the value is out of range for T. An enum may get any
// value that its underlying type can hold. The caller checks whether the value exists in the
// caller's version.
template <IsScalar T>
bool from_varint(std::uint64_t raw, T& value) {
  if constexpr (IsId<T>) {
    using Rep = decltype(value.value);
    if (raw > std::numeric_limits<Rep>::max()) return false;
    value = T(static_cast<Rep>(raw));
  } else if constexpr (std::is_enum_v<T>) {
    using Rep = std::underlying_type_t<T>;
    if (raw > static_cast<std::uint64_t>(std::numeric_limits<Rep>::max())) return false;
    value = static_cast<T>(raw);
  } else if constexpr (std::signed_integral<T>) {
    const auto wide = static_cast<std::int64_t>(raw);
    value = static_cast<T>(wide);
    return static_cast<std::int64_t>(value) == wide;
  } else {
    value = static_cast<T>(raw);
    return static_cast<std::uint64_t>(value) == raw;
  }
  return true;
}

// Appends fields to `out`, in one pass. Before a nested record, it leaves one byte for the length
// of that record. If the length needs more bytes, the writer inserts them afterwards. Writing never
// fails: read `unknown` and `needs` at the end. `needs` is then the oldest version that can read
// the bytes.
struct WireWriter {
  std::string& out;
  std::uint32_t needs = 1;
  // True: an enum had an undefined value, so the bytes must not be stored.
  bool unknown = false;

  // fields(v) calls this for each member. A field with its default value is not written, so it does
  // not raise `needs`.
  template <class T>
  void operator()(FieldNumber field, std::string_view, const T& value) {
    const std::size_t before = out.size();
    if constexpr (std::is_enum_v<T>) {
      const std::uint32_t version = version_of_value(value);
      if (static_cast<std::uint64_t>(value) != 0) needs = std::max(needs, version);
      unknown |= version == 0;
    }
    write(field.number, value);
    if (out.size() != before) needs = std::max(needs, field.version);
  }

 private:
  // Leaves out an empty nested record. But it writes an empty record that is an element of a list,
  // since the positions in a list count.
  template <class T>
  void write(int number, const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      if (!value.empty()) put_string(number, value);
    } else if constexpr (IsVector<T>) {
      for (const auto& item : value) put_item(number, item);
    } else if constexpr (std::same_as<T, double>) {
      put_double(number, value);
    } else if constexpr (IsScalar<T>) {
      put_scalar(number, to_varint(value));
    } else {
      const std::size_t start = out.size();
      if (put_record(number, value) == 0) out.resize(start);
    }
  }

  void put_scalar(int number, std::uint64_t raw) {
    if (raw == 0) return;
    put_tag(out, number, WireFormatLite::WIRETYPE_VARINT);
    put_varint(out, raw);
  }

  // -0.0 is written, since its bits are not 0.
  void put_double(int number, double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (bits == 0) return;
    put_tag(out, number, WireFormatLite::WIRETYPE_FIXED64);
    std::uint8_t buffer[8];
    CodedOutputStream::WriteLittleEndian64ToArray(bits, buffer);
    out.append(reinterpret_cast<const char*>(buffer), sizeof buffer);
  }

  void put_string(int number, const std::string& value) {
    put_tag(out, number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    put_varint(out, value.size());
    out += value;
  }

  template <class T>
  void put_item(int number, const T& item) {
    static_assert(!IsScalar<T> && !std::floating_point<T>, "lists of numbers would be packed");
    if constexpr (std::same_as<T, std::string>) {
      put_string(number, item);
    } else {
      put_record(number, item);
    }
  }

  // Appends a nested record. Returns the number of bytes of its fields, without tag and length.
  template <class T>
  std::size_t put_record(int number, const T& value) {
    put_tag(out, number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    const std::size_t start = out.size();
    out += '\0';
    const_cast<T&>(value).fields(*this);  // fields() is written once, for readers and writers
    const std::size_t size = out.size() - start - 1;
    std::uint8_t buffer[10];
    const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(size, buffer);
    const auto length = static_cast<std::size_t>(end - buffer);
    out.replace(start, 1, reinterpret_cast<const char*>(buffer), length);
    return size;
  }
};

// Sets every number to zero, since an absent field means zero on the wire. The default in the C++
// record may differ from zero. For example, an account has 1 share by default, but 0 shares is the
// value that is not written.
struct WireZero {
  template <class T>
  void operator()(int, std::string_view, T& value) {
    if constexpr (IsScalar<T> || std::floating_point<T>) {
      value = T{};
    } else if constexpr (!std::same_as<T, std::string> && !IsVector<T>) {
      value.fields(*this);
    }
  }
};

// Sets all numbers of a record to zero. Call it before a WireReader fills the record.
template <class T>
void zero(T& record) {
  WireZero visitor;
  record.fields(visitor);
}

// Reads the fields of a record, like a program that knows `version` and all older versions.
// WireReader refuses a field or value of a newer version, because the next checkpoint would lose
// that data. After a failure, `error` has the cause, `field` the place ("spec.mode"), and `got`
// what was found. `in` has a limit, and the reader does not read beyond that limit. The memory of
// the result is bounded by the number of bytes read. A field may occur several times: a scalar
// takes the last value, and a list gets an element for each occurrence.
struct WireReader {
  CodedInputStream& in;
  std::uint32_t version = 1;
  std::uint32_t tag = 0;
  int depth = 0;
  bool found = false;
  bool newer = false;  // the reader failed on a field or value of a newer version
  const char* error = nullptr;
  std::string field = {};
  std::string got = {};

  // fields(v) calls this for each member. The call acts only on the member whose tag was just read.
  template <class T>
  void operator()(FieldNumber number, std::string_view name, T& value) {
    if (found || WireFormatLite::GetTagFieldNumber(tag) != number.number) return;
    if (number.version > version) return;
    found = true;
    if (!read(value)) {
      if (error == nullptr) error = "is malformed";
      field = field.empty() ? std::string(name) : std::string(name) + "." + field;
    }
  }

  // Reads fields up to the limit of `in`. Call zero() on the record first. False: a field could not
  // be read (see `error`), or the bytes end in the middle of a field. Do not use the record after
  // that.
  template <class T>
  bool read_record(T& record) {
    while ((tag = in.ReadTag()) != 0) {
      found = false;
      record.fields(*this);
      if (error != nullptr) return false;
      if (!found) return unknown("field " + std::to_string(tag_number()));
    }
    return in.ConsumedEntireMessage();
  }

 private:
  int tag_number() const { return WireFormatLite::GetTagFieldNumber(tag); }
  // Sets the error that `what` belongs to a newer version, and returns false.
  bool unknown(std::string what) {
    newer = true;
    got = std::move(what);
    error = "is not known";
    return false;
  }
  // Returns true if the tag has this wire type. Otherwise it sets `error` and returns false.
  bool is(WireFormatLite::WireType type) {
    if (WireFormatLite::GetTagWireType(tag) == type) return true;
    error = "has another wire type";
    return false;
  }

  template <class T>
  bool read(T& value) {
    if constexpr (std::same_as<T, std::string>) {
      return is(WireFormatLite::WIRETYPE_LENGTH_DELIMITED) && read_string(value);
    } else if constexpr (IsVector<T>) {
      auto& item = value.emplace_back();
      if constexpr (!std::same_as<typename T::value_type, std::string>) zero(item);
      return read(item);
    } else if constexpr (std::same_as<T, double>) {
      std::uint64_t bits = 0;
      if (!is(WireFormatLite::WIRETYPE_FIXED64) || !in.ReadLittleEndian64(&bits)) return false;
      value = std::bit_cast<double>(bits);
      return true;
    } else if constexpr (IsScalar<T>) {
      std::uint64_t raw = 0;
      if (!is(WireFormatLite::WIRETYPE_VARINT) || !in.ReadVarint64(&raw)) return false;
      const bool in_range = from_varint(raw, value);
      if constexpr (std::is_enum_v<T>) {
        const std::uint32_t needs = in_range ? version_of_value(value) : 0;
        if (needs == 0 || needs > version) return unknown("value " + std::to_string(raw));
      }
      if (in_range) return true;
      error = "is out of range";
      return false;
    } else {
      return is(WireFormatLite::WIRETYPE_LENGTH_DELIMITED) && read_nested(value);
    }
  }

  // Reads a length. False: the length is larger than the number of bytes that are left.
  bool read_length(int& length) {
    return in.ReadVarintSizeAsInt(&length) && length <= in.BytesUntilLimit();
  }

  bool read_string(std::string& value) {
    int length = 0;
    return read_length(length) && in.ReadString(&value, length);
  }

  template <class T>
  bool read_nested(T& value) {
    int length = 0;
    if (!read_length(length)) return false;
    if (depth == limits::kMaxFactDepth) {
      error = "is nested too deep";
      return false;
    }
    ++depth;
    const auto outer = in.PushLimit(length);
    const bool ok = read_record(value);
    in.PopLimit(outer);
    --depth;
    found = true;  // of the outer record again
    return ok;
  }
};

}  // namespace subak::codec
