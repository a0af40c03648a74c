// The plain-text form of records. Inputs, facts, scenario files, recorded traces and logs share
// this form.
//
// A record is a struct with a member template
//     template <class V> void fields(V& v) { v(1, "job", job); v(2, "pods", pods); }
// which names each field once, with the number that the durable form of the field uses
// (proto/subak/fact/v1). The object `v` is a *field visitor*: fields() calls it once for each
// field. The same list drives this text form, the protobuf form of the store (server/codec/codec.h)
// and its size (core/stored_size.h), so they cannot disagree.
//
// Grammar:
//     record := name=value (" " name=value)*
//     value  := atom | "quoted\n" | [value,value] | {record}
//
// The writer leaves out fields with their default value: a number or enum of 0, an empty string or
// list, a record that equals a new record. The writer emits fields in declaration order and in one
// canonical spelling, so equal records have equal bytes. The reader accepts fields in any order and
// refuses unknown names.
// Threads: any; pure functions, no shared state.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/ids.h"

namespace subak {

// Each enum in a record has a specialisation of EnumText with its spellings, indexed by value.
// Values are durable: append only.
// A specialisation has: static constexpr std::array<std::string_view, N> names. It may also have
// values_of_version (core/versions.h).
template <class E>
struct EnumText;

// Returns the spelling of `e`; "?" if it has none.
template <class E>
constexpr std::string_view enum_name(E e) {
  const auto i = static_cast<std::size_t>(e);
  return i < EnumText<E>::names.size() ? EnumText<E>::names[i] : std::string_view("?");
}
// Returns the enum value with exactly this spelling; nullopt if there is none.
template <class E>
constexpr std::optional<E> enum_from(std::string_view name) {
  for (std::size_t i = 0; i < EnumText<E>::names.size(); ++i) {
    if (EnumText<E>::names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

// True for a list field: any std::vector.
template <class T>
concept IsVector = requires {
  typename T::value_type;
  typename T::allocator_type;
}
&&!std::same_as<T, std::string>;
// True for an Id of core/ids.h. In the text such an id is a number. JobId has another text form.
template <class T>
concept IsSmallId = requires(T t) {
  typename T::rep;
  { t.value } -> std::convertible_to<std::uint64_t>;
};

namespace text {

// Appends `value` to `out`: as an atom if it needs no quotes, else in quotes. An empty string
// becomes "".
void write_string(std::string& out, std::string_view value);

// A cursor over the text of one record. The text must outlive the Reader. On the first mistake the
// Reader stores an Error (kInvalid) and keeps it. After that, ok() is false, and the results of
// further calls have no meaning.
class Reader {
 public:
  // Begins at the first character. Reads nothing yet.
  explicit Reader(std::string_view text) : rest_(text) {}
  // True until the first mistake.
  bool ok() const { return !error_; }
  // The first mistake; nullopt if there was none so far.
  const std::optional<Error>& error() const { return error_; }
  // Stores this error, unless there was an earlier one.
  void fail(std::string_view field, std::string_view got, std::string_view want);

  // Skips spaces and tabs.
  void skip_blanks();
  // True if only blanks are left.
  bool at_end();
  // Skips blanks, then consumes `c`. If another character is next, returns false, without an error.
  bool accept(char c);
  // Reads a name and consumes the '=' after it. Returns the name as a view into the text; "" if
  // there is no name with a '='.
  std::string_view read_name();
  // Reads an atom or a quoted text. Returns the text without quotes and escapes. An empty atom
  // without quotes is an error.
  std::string read_string(std::string_view field);
  // Returns the text that is not consumed yet.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  std::optional<Error> error_;
};

// Returns the text form of a job id, the cluster and the sequence number: "3-1042".
std::string job_id_text(JobId id);
// Reads the form of job_id_text(). Returns nullopt if the text has another form, or a number does
// not fit a JobId.
std::optional<JobId> parse_job_id(std::string_view text);

// Writes one value of any field type: bool, number, enum, id, string, list or record.
template <class T>
void write_value(std::string& out, const T& value);
// Reads one value. An error names `field`.
template <class T>
void read_value(Reader& in, std::string_view field, T& value);

// A field visitor that appends "name=value" for each field that differs from its default. A space
// separates the fields.
struct FieldWriter {
  // The text to append to. The caller owns it.
  std::string& out;
  // True until the visitor has written the first field. No space comes before the first field.
  bool first = true;
  template <class T>
  void operator()(int, std::string_view name, const T& value) {
    if (value == T{}) return;
    if (!first) out += ' ';
    first = false;
    out += name;
    out += '=';
    write_value(out, value);
  }
};

// A field visitor that sets every number to 0, before a record is read. So a number that the text
// omits becomes 0, even if the record's default is another number. (A nested record that the text
// omits gets its default value.)
struct NumberZeroer {
  template <class T>
  void operator()(int, std::string_view, T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) value = T{};
  }
};

// A field visitor that reads a value into the field that is called `name`. Afterwards `found` says
// whether the record has this field.
struct FieldReader {
  // The text after the name and its '='.
  Reader& in;
  // The name that was read.
  std::string_view name;
  // True after the visitor has found the field with this name.
  bool found = false;
  template <class T>
  void operator()(int, std::string_view field, T& value) {
    if (found || field != name) return;
    found = true;
    read_value(in, field, value);
  }
};

// Reads fields up to `close`, or to the end of the text if `close` is 0.
template <class T>
void read_fields(Reader& in, T& record, char close) {
  NumberZeroer zeroer;
  record.fields(zeroer);
  while (in.ok() && !(close == 0 ? in.at_end() : in.accept(close))) {
    const std::string_view name = in.read_name();
    if (!in.ok()) return;
    FieldReader reader{in, name};
    record.fields(reader);
    if (!reader.found) in.fail(name, "", "is not a field of this record");
  }
}

template <class T>
void write_value(std::string& out, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::same_as<T, JobId>) {
    out += job_id_text(value);
  } else if constexpr (IsSmallId<T>) {
    out += std::to_string(value.value);
  } else if constexpr (std::is_enum_v<T>) {
    out += enum_name(value);
  } else if constexpr (std::integral<T>) {
    out += std::to_string(value);
  } else if constexpr (std::floating_point<T>) {
    std::array<char, 32> buf{};
    const auto end = std::to_chars(buf.data(), buf.data() + buf.size(), value).ptr;
    out.append(buf.data(), end);
  } else if constexpr (std::same_as<T, std::string>) {
    write_string(out, value);
  } else if constexpr (IsVector<T>) {
    out += '[';
    bool first = true;
    for (const auto& item : value) {
      if (!first) out += ',';
      first = false;
      write_value(out, item);
    }
    out += ']';
  } else {
    out += '{';
    FieldWriter writer{out};
    const_cast<T&>(value).fields(writer);  // fields() serves readers and writers
    out += '}';
  }
}

// Reads an atom as a number. If the atom is no number, or does not fit the type, the error is "want
// a number in range".
template <class T>
void read_number(Reader& in, std::string_view field, T& value) {
  const std::string s = in.read_string(field);
  if (!in.ok()) return;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (ec != std::errc() || end != s.data() + s.size()) in.fail(field, s, "want a number in range");
}

template <class T>
void read_value(Reader& in, std::string_view field, T& value) {
  if constexpr (std::same_as<T, bool>) {
    const std::string s = in.read_string(field);
    if (s != "true" && s != "false") in.fail(field, s, "want true or false");
    value = s == "true";
  } else if constexpr (std::same_as<T, JobId>) {
    const std::string s = in.read_string(field);
    const auto id = parse_job_id(s);
    if (!id) in.fail(field, s, "want a job id such as 1-42");
    value = id.value_or(JobId());
  } else if constexpr (IsSmallId<T>) {
    read_number(in, field, value.value);
  } else if constexpr (std::is_enum_v<T>) {
    const std::string s = in.read_string(field);
    const auto e = enum_from<T>(s);
    if (!e) in.fail(field, s, "is not one of its values");
    value = e.value_or(T{});
  } else if constexpr (std::integral<T> || std::floating_point<T>) {
    read_number(in, field, value);
  } else if constexpr (std::same_as<T, std::string>) {
    value = in.read_string(field);
  } else if constexpr (IsVector<T>) {
    value.clear();
    if (!in.accept('[')) return in.fail(field, "", "want a list in [ ]");
    if (in.accept(']')) return;
    do {
      read_value(in, field, value.emplace_back());
    } while (in.ok() && in.accept(','));
    if (in.ok() && !in.accept(']')) in.fail(field, "", "want , or ] in a list");
  } else {
    if (!in.accept('{')) return in.fail(field, "", "want a record in { }");
    read_fields(in, value, '}');
  }
}

}  // namespace text

// Returns the canonical text of one record, without the name of its kind in front.
template <class T>
std::string to_text(const T& record) {
  std::string out;
  text::FieldWriter writer{out};
  const_cast<T&>(record).fields(writer);
  return out;
}

// Reads one record. The error is kInvalid and names the field.
template <class T>
Result<T> from_text(std::string_view line) {
  text::Reader in(line);
  T record{};
  text::read_fields(in, record, 0);
  if (!in.ok()) return *in.error();
  return record;
}

}  // namespace subak
