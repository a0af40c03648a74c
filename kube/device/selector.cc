#include "kube/device/selector.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/edge_limits.h"

namespace subak {
namespace {

// The value of a part of the selector.
struct Value;
// CEL's error, such as of an absent attribute.
struct Failed {};
struct ByUuid {};
struct Unknown {};
// device, device.attributes, device.capacity, and one domain of the last two.
struct Member {
  enum class What : std::uint8_t { kDevice, kAttributes, kCapacity } what = What::kDevice;
  std::string domain;
};
using List = std::vector<Value>;
struct Value {
  std::variant<Failed, ByUuid, Unknown, Member, bool, std::int64_t, std::string, KubeQuantity, List>
      v;
  template <class T>
  const T* as() const {
    return std::get_if<T>(&v);
  }
  // A value that is not known, or the error of CEL.
  bool is_open() const { return as<Failed>() || as<ByUuid>() || as<Unknown>(); }
};

// Returns the value that says less about the result; both values are open.
Value worse(const Value& a, const Value& b) {
  if (a.as<Unknown>() || b.as<Unknown>()) return {Unknown()};
  if (a.as<ByUuid>() || b.as<ByUuid>()) return {ByUuid()};
  return {Failed()};
}

// CEL's || with `decides` true, and && with false: one side may decide alone, even if the other one
// is an error.
Value either(const Value& a, const Value& b, bool decides) {
  for (const Value* side : {&a, &b}) {
    const bool* const known = side->as<bool>();
    if (known != nullptr && *known == decides) return {decides};
  }
  if (a.is_open() || b.is_open()) return worse(a, b);
  if (a.as<bool>() && b.as<bool>()) return {!decides};
  return {Failed()};
}

std::optional<bool> equal(const Value& a, const Value& b) {
  if (const auto* x = a.as<bool>()) return b.as<bool>() && *x == *b.as<bool>();
  if (const auto* x = a.as<std::int64_t>()) {
    return b.as<std::int64_t>() && *x == *b.as<std::int64_t>();
  }
  if (const auto* x = a.as<std::string>()) return b.as<std::string>() && *x == *b.as<std::string>();
  if (const auto* x = a.as<KubeQuantity>()) {
    return b.as<KubeQuantity>() && *x == *b.as<KubeQuantity>();
  }
  return std::nullopt;
}

class Evaluation {
 public:
  Evaluation(std::string_view text, const DeviceKind& kind, const std::string* uuid)
      : rest_(text), kind_(kind), uuid_(uuid) {}

  Selects run() {
    const Value value = read_or();
    skip_blanks();
    if (is_wrong_ || !rest_.empty() || value.as<Unknown>()) return Selects::kUnknown;
    if (value.as<ByUuid>()) return Selects::kByUuid;
    const bool* const known = value.as<bool>();
    return known != nullptr && *known ? Selects::kYes : Selects::kNo;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (std::isspace(static_cast<unsigned char>(rest_[0])) != 0)) {
      rest_.remove_prefix(1);
    }
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void want(std::string_view token) {
    if (!take(token)) is_wrong_ = true;
  }
  Value wrong() {
    is_wrong_ = true;
    return {Unknown()};
  }

  Value read_or() {
    Value left = read_and();
    while (!is_wrong_ && take("||")) left = either(left, read_and(), true);
    return left;
  }
  Value read_and() {
    Value left = read_relation();
    while (!is_wrong_ && take("&&")) left = either(left, read_relation(), false);
    return left;
  }
  Value read_relation() {
    Value left = read_unary();
    if (is_wrong_) return left;
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(op)) return compared(left, op, read_unary());
    }
    if (take_word("in")) return found_in(left, read_unary());
    return left;
  }
  Value read_unary() {
    skip_blanks();
    if (!rest_.starts_with("!=") && take("!")) {
      if (++depth_ > limits::kMaxSelectorDepth) return wrong();
      const Value value = read_unary();
      --depth_;
      if (value.is_open()) return value;
      return value.as<bool>() ? Value{!*value.as<bool>()} : Value{Failed()};
    }
    return read_postfix();
  }
  Value read_postfix() {
    if (++depth_ > limits::kMaxSelectorDepth) return wrong();
    Value value = read_primary();
    while (!is_wrong_) {
      if (take(".")) {
        const std::string name = read_word();
        if (name.empty()) return wrong();
        value = take("(") ? called(value, name, read_arguments(")")) : member(value, name);
      } else if (take("[")) {
        const std::vector<Value> index = read_arguments("]");
        if (index.size() != 1) return wrong();
        value = at(value, index[0]);
      } else {
        break;
      }
    }
    --depth_;
    return value;
  }
  Value read_primary() {
    skip_blanks();
    if (rest_.empty()) return wrong();
    if (take("(")) {
      Value value = read_or();
      want(")");
      return value;
    }
    if (take("[")) return {read_arguments("]")};
    if (rest_[0] == '"' || rest_[0] == '\'') return read_text();
    if (rest_[0] == '-' || (std::isdigit(static_cast<unsigned char>(rest_[0])) != 0)) {
      return read_number();
    }
    const std::string name = read_word();
    if (name == "true" || name == "false") return {name == "true"};
    if (name == "device") return {Member{}};
    if (name.empty() || !take("(")) return wrong();
    const std::vector<Value> arguments = read_arguments(")");
    if (arguments.size() != 1) return wrong();
    if (name == "has") return exists(arguments[0]);
    if (name == "quantity") return quantity(arguments[0]);
    return {Unknown()};
  }

  std::string read_word() {
    skip_blanks();
    std::size_t n = 0;
    while (n < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '_')) {
      ++n;
    }
    std::string word(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return word;
  }
  bool take_word(std::string_view word) {
    const std::string_view before = rest_;
    if (read_word() == word) return true;
    rest_ = before;
    return false;
  }
  Value read_text() {
    const char quote = rest_[0];
    const std::size_t end = rest_.find(quote, 1);
    // Triple quotes and escapes are not in the forms above.
    if (end == std::string_view::npos || rest_.substr(1, end - 1).find('\\') != std::string::npos) {
      return wrong();
    }
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return {std::move(text)};
  }
  Value read_number() {
    std::int64_t number = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (read.ec != std::errc()) return wrong();
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
    if (!rest_.empty() && (rest_[0] == '.' || rest_[0] == 'e' || rest_[0] == 'u')) return wrong();
    return {number};
  }
  std::vector<Value> read_arguments(std::string_view close) {
    std::vector<Value> arguments;
    if (take(close)) return arguments;
    do {
      arguments.push_back(read_or());
    } while (!is_wrong_ && take(","));
    want(close);
    return arguments;
  }

  static Value compared(const Value& a, std::string_view op, const Value& b) {
    if (a.is_open() || b.is_open()) return worse(a, b);
    if (op == "==" || op == "!=") {
      const auto same = equal(a, b);
      return same ? Value{*same == (op == "==")} : Value{Unknown()};
    }
    const auto *x = a.as<std::int64_t>(), *y = b.as<std::int64_t>();
    if (x == nullptr || y == nullptr) return {Unknown()};
    if (op == "<") return {*x < *y};
    if (op == "<=") return {*x <= *y};
    return {op == ">" ? *x > *y : *x >= *y};
  }
  Value found_in(const Value& item, const Value& in) const {
    if (item.is_open() || in.is_open()) return worse(item, in);
    if (const auto* const member = in.as<Member>()) {
      const auto* const name = item.as<std::string>();
      if (name == nullptr || member->domain.empty()) return {Failed()};
      return exists(named(*member, *name));
    }
    const List* const list = in.as<List>();
    if (list == nullptr) return {Failed()};
    Value found{false};
    for (const Value& one : *list) found = either(found, compared(item, "==", one), true);
    return found;
  }
  // True if the member that was read exists.
  static Value exists(const Value& read) {
    if (read.as<Failed>()) return {false};
    return read.is_open() ? read : Value{true};
  }
  static Value quantity(const Value& of) {
    if (of.is_open()) return of;
    const auto* const text = of.as<std::string>();
    const auto amount = text != nullptr ? parse_kube_quantity(*text) : std::nullopt;
    return amount ? Value{*amount} : Value{Failed()};
  }

  // `.name` of the device, of its attributes or of a domain.
  Value member(const Value& of, const std::string& name) const {
    if (of.is_open()) return of;
    const auto* const from = of.as<Member>();
    if (from == nullptr) return {Failed()};
    if (from->what != Member::What::kDevice) {
      return from->domain.empty() ? Value{Unknown()} : named(*from, name);
    }
    if (name == "driver") return {kind_.driver};
    if (name == "attributes") return {Member{Member::What::kAttributes, {}}};
    if (name == "capacity") return {Member{Member::What::kCapacity, {}}};
    return {Unknown()};
  }
  Value at(const Value& of, const Value& index) const {
    if (of.is_open() || index.is_open()) return worse(of, index);
    const auto* const from = of.as<Member>();
    const auto* const name = index.as<std::string>();
    if (from == nullptr || name == nullptr || from->what == Member::What::kDevice) {
      return {Unknown()};
    }
    return from->domain.empty() ? Value{Member{from->what, *name}} : named(*from, *name);
  }
  // The attribute or capacity `name` of the domain.
  Value named(const Member& from, const std::string& name) const {
    const std::string key = from.domain + "/" + name;
    if (from.what == Member::What::kCapacity) {
      const auto found = kind_.capacity.find(key);
      return found == kind_.capacity.end() ? Value{Failed()} : Value{found->second};
    }
    if (name == "uuid" && from.domain == kind_.driver) {
      if (uuid_ == nullptr) return {ByUuid()};
      return uuid_->empty() ? Value{Failed()} : Value{*uuid_};
    }
    if (identifies_device(name)) return {Unknown()};
    const auto found = kind_.attributes.find(key);
    if (found == kind_.attributes.end()) return {Failed()};
    return std::visit([](const auto& value) { return Value{value}; }, found->second);
  }
  static Value called(const Value& of, const std::string& name,
                      const std::vector<Value>& arguments) {
    if (of.is_open()) return of;
    const auto* const text = of.as<std::string>();
    if (text != nullptr && arguments.empty() && (name == "lowerAscii" || name == "upperAscii")) {
      return {in_case(*text, name == "lowerAscii")};
    }
    if (arguments.size() != 1) return {Unknown()};
    if (arguments[0].is_open()) return arguments[0];
    const auto* const other = arguments[0].as<std::string>();
    if (text != nullptr && other != nullptr) {
      if (name == "startsWith") return {text->starts_with(*other)};
      if (name == "endsWith") return {text->ends_with(*other)};
      if (name == "contains") return {text->find(*other) != std::string::npos};
    }
    const auto* const amount = of.as<KubeQuantity>();
    const auto* const than = arguments[0].as<KubeQuantity>();
    if (amount == nullptr || than == nullptr) return {Unknown()};
    if (name == "isGreaterThan") return {amount->nano > than->nano};
    if (name == "isLessThan") return {amount->nano < than->nano};
    if (name != "compareTo") return {Unknown()};
    const int order = amount->nano < than->nano ? -1 : amount->nano > than->nano ? 1 : 0;
    return {static_cast<std::int64_t>(order)};
  }
  static std::string in_case(std::string text, bool lower) {
    std::transform(text.begin(), text.end(), text.begin(), [&](unsigned char c) {
      if (c >= 0x80) return static_cast<char>(c);
      return static_cast<char>(lower ? std::tolower(c) : std::toupper(c));
    });
    return text;
  }

  std::string_view rest_;
  const DeviceKind& kind_;
  const std::string* const uuid_;
  int depth_ = 0;
  bool is_wrong_ = false;
};

}  // namespace

Selects evaluate_selector(std::string_view selector, const DeviceKind& kind,
                          const std::string* uuid) {
  if (selector.size() > limits::kMaxSelectorBytes) return Selects::kUnknown;
  return Evaluation(selector, kind, uuid).run();
}

}  // namespace subak
