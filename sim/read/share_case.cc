#include "sim/read/share_case.h"

#include <boost/json.hpp>
#include <cmath>

#include "core/limits.h"
#include "sim/read/json_file.h"

namespace subak::sim {
namespace {

namespace json = boost::json;

// Returns a number, however JSON wrote it; NaN if it is not a number.
double number(const json::value* v) {
  if (!v || !v->is_number()) return std::nan("");
  return v->to_number<double>();
}

bool text_or_null(const json::value* v, std::string& out) {
  if (!v || v->is_null()) return true;
  if (!v->is_string()) return false;
  out = std::string(v->get_string());
  return true;
}

std::optional<Error> read_row(const json::value& value, const std::string& where, ShareRow& row) {
  const auto bad = [&where](const char* field, const char* want) {
    return Error{ErrorCode::kInvalid, where + "." + field, "", want};
  };
  const json::object* const o = value.if_object();
  if (!o) return Error{ErrorCode::kInvalid, where, "", "an object"};
  if (!text_or_null(o->if_contains("account"), row.account) || row.account.empty()) {
    return bad("account", "a name");
  }
  if (!text_or_null(o->if_contains("user"), row.user)) return bad("user", "a name or null");
  if (!text_or_null(o->if_contains("parent"), row.parent)) return bad("parent", "a name or null");
  const json::value* const shares = o->if_contains("shares");
  if (shares && shares->is_string() && shares->get_string() == "parent") {
    row.parent_shares = true;
  } else {
    const double n = number(shares);
    if (!(n >= 0 && n <= 1e15 && n == std::floor(n)))
      return bad("shares", "an integer or \"parent\"");
    row.shares = static_cast<std::int64_t>(n);
  }
  row.raw_usage = number(o->if_contains("raw_usage"));
  if (!(row.raw_usage >= 0)) return bad("raw_usage", "a number >= 0");
  const double order = o->contains("order") ? number(o->if_contains("order")) : 0;
  if (!(std::abs(order) <= 1e15)) return bad("order", "an integer");
  row.order = static_cast<std::int64_t>(order);
  return std::nullopt;
}

}  // namespace

Result<ShareCase> read_share_case(const std::string& path) {
  const std::string want = "a JSON object with a list \"tree\"";
  const Result<json::value> root = read_json_file(path, limits::kMaxCaseBytes, want);
  if (!root.ok()) return root.error();
  const json::object* const o = root->if_object();
  const json::value* const tree = o ? o->if_contains("tree") : nullptr;
  if (!tree || !tree->is_array()) {
    return Error{ErrorCode::kInvalid, path, "", want};
  }
  ShareCase result;
  for (const json::value& value : tree->get_array()) {
    const std::string where = path + ": tree[" + std::to_string(result.rows.size()) + "]";
    if (const auto error = read_row(value, where, result.rows.emplace_back())) return *error;
  }
  if (const json::value* const d = o->if_contains("dampening"); d && !d->is_null()) {
    result.dampening = number(d);
    if (!(result.dampening > 0)) {
      return Error{ErrorCode::kInvalid, path + ": dampening", "", "a number > 0"};
    }
  }
  return result;
}

}  // namespace subak::sim
