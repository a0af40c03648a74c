#include "core/text.h"

#include <charconv>

#include "model/fact.h"
#include "model/input.h"

namespace subak {
namespace {

Error line_error(std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, "line", std::string(got.substr(0, 80)), std::string(want)};
}

// Removes the next blank-delimited word from the front of `rest` and returns it.
std::string_view next_word(std::string_view& rest) {
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(word.size());
  return word;
}

template <class T>
bool read_marked(std::string_view word, char mark, T& value) {
  if (word.size() < 2 || word[0] != mark) return false;
  const char* end = word.data() + word.size();
  const auto r = std::from_chars(word.data() + 1, end, value);
  return r.ec == std::errc() && r.ptr == end;
}

// A record with the fields of `head`, which all kinds have, followed by the fields of one kind.
template <class Head, class Record>
struct HeadAnd {
  Head& head;
  Record& record;
  template <class V>
  void fields(V& v) {
    head.fields(v);
    record.fields(v);
  }
};

// Reads `rest` as the alternative of `Body` whose kName is `kind`. The text may also have fields of
// `head`.
template <class Head, class Body, std::size_t I = 0>
std::optional<Error> read_body(std::string_view kind, std::string_view rest, Head& head,
                               Body& body) {
  if constexpr (I == std::variant_size_v<typename Body::Alternatives>) {
    return line_error(kind, "is not a known kind");
  } else {
    using T = std::variant_alternative_t<I, typename Body::Alternatives>;
    if (kind != T::kName) return read_body<Head, Body, I + 1>(kind, rest, head, body);
    text::Reader in(rest);
    HeadAnd<Head, T> both{head, body.template emplace<I>()};
    text::read_fields(in, both, 0);
    return in.error();
  }
}

struct InputHead {
  std::string& request_id;
  std::string& actor;
  std::uint64_t& content;
  std::uint64_t& session;
  TimeMs& said_at_ms;
  template <class V>
  void fields(V& v) {
    v(0, "request_id", request_id);
    v(0, "actor", actor);
    v(0, "content", content);
    v(0, "session", session);
    v(0, "said_at_ms", said_at_ms);
  }
};
struct NoHead {
  template <class V>
  void fields(V&) {}
};

void append_fields(std::string& out, const std::string& fields) {
  if (!fields.empty()) out += ' ' + fields;
}

}  // namespace

std::string input_to_text(const Input& input) {
  std::string out = "@" + std::to_string(input.time_ms) + " ";
  std::visit(
      [&](const auto& body) {
        out += body.kName;
        auto& writable = const_cast<Input&>(input);  // fields() serves readers and writers
        std::string head;
        text::FieldWriter writer{head};
        InputHead{writable.request_id, writable.actor, writable.content, writable.session,
                  writable.said_at_ms}
            .fields(writer);
        append_fields(out, head);
        append_fields(out, to_text(body));
      },
      input.body);
  return out;
}

Result<Input> input_from_text(std::string_view line) {
  Input input;
  const std::string_view time = next_word(line);
  if (!read_marked(time, '@', input.time_ms)) return line_error(time, "want @<milliseconds>");
  const std::string_view kind = next_word(line);
  InputHead head{input.request_id, input.actor, input.content, input.session, input.said_at_ms};
  if (auto error = read_body(kind, line, head, input.body)) return *error;
  return input;
}

std::string fact_to_text(const Fact& fact) {
  std::string out = "#" + std::to_string(fact.seq) + " @" + std::to_string(fact.time_ms) + " ";
  std::visit(
      [&](const auto& body) {
        out += body.kName;
        append_fields(out, to_text(body));
      },
      fact.body);
  return out;
}

Result<Fact> fact_from_text(std::string_view line) {
  Fact fact;
  const std::string_view seq = next_word(line);
  if (!read_marked(seq, '#', fact.seq)) return line_error(seq, "want #<number>");
  const std::string_view time = next_word(line);
  if (!read_marked(time, '@', fact.time_ms)) return line_error(time, "want @<milliseconds>");
  const std::string_view kind = next_word(line);
  NoHead head;
  if (auto error = read_body(kind, line, head, fact.body)) return *error;
  return fact;
}

}  // namespace subak
