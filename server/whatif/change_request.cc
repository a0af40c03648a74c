#include "server/whatif/change_request.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/must.h"
#include "server/api/convert/check.h"
#include "server/api/convert/convert.h"
#include "server/config/policy_keys.h"
#include "sim/history/history_limits.h"

namespace subak::whatif {
namespace {

using api::Check;

void check_count(Check& check, const char* name, int lines) {
  check.number(name, lines, 0, static_cast<std::int64_t>(limits::kMaxChangeLines));
}

void read_accounts(Check& check, const v1::WhatIfRequest& in, sim::Change& out) {
  check_count(check, "accounts", in.accounts_size());
  std::set<std::string> paths;
  for (int i = 0; i < in.accounts_size() && check.ok(); ++i) {
    const auto scope = check.in("accounts", i);
    const v1::AccountChange& line = in.accounts(i);
    if (line.delete_()) check.fail("delete", "true", "want settings of the account");
    in::AccountChange change;
    change.unchanged = api::get_unchanged(check, line.account(), line.update_mask());
    const auto account = check.in("account");
    change.spec = api::get(check, line.account(), change.unchanged);
    if (!paths.insert(change.spec.path).second) {
      check.fail("path", change.spec.path, "want each account once");
    }
    out.accounts.push_back(std::move(change));
  }
}

using PolicyValues = std::vector<std::pair<std::string, std::string>>;

std::optional<Error> read_policy(Check& check, const v1::WhatIfRequest& in, sim::Change& out) {
  check_count(check, "policy", in.policy_size());
  PolicyValues values;
  for (const v1::SetPolicyRequest::Change& line : in.policy()) {
    values.emplace_back(line.key(), line.value());
  }
  if (values.empty() || !check.ok()) return std::nullopt;
  const auto read = policy_with(Config(), Policy(), values);
  if (!read.ok()) {
    Error error = read.error();
    error.field = "policy." + error.field;
    return error;
  }
  out.policy = [values = std::move(values)](const Policy& policy) {
    auto changed = policy_with(Config(), policy, values);
    must(changed.ok(), "values that could be read can be read again");
    return *std::move(changed);
  };
  return std::nullopt;
}

void read_nodes(Check& check, const v1::WhatIfRequest& in, sim::Change& out) {
  check_count(check, "nodes", in.nodes_size());
  for (int i = 0; i < in.nodes_size() && check.ok(); ++i) {
    const auto scope = check.in("nodes", i);
    const v1::WhatIfNodes& line = in.nodes(i);
    sim::NodeChange change;
    if (!line.cluster().empty()) change.cluster = check.name("cluster", line.cluster(), true);
    if (line.remove().empty()) {
      change.like = check.name("like", line.like(), true);
      change.count =
          check.number("count", line.count(), -limits::kMaxChangedNodes, limits::kMaxChangedNodes);
      if (change.count == 0) check.fail("count", "0", "want how many nodes come or go, such as 8");
    } else {
      change.remove = check.name("remove", line.remove(), true);
      if (!line.like().empty()) check.fail("like", line.like(), "want like or remove, not both");
    }
    out.nodes.push_back(std::move(change));
  }
}

void read_load(Check& check, const v1::WhatIfRequest& in, sim::Change& out) {
  check_count(check, "load", in.load_size());
  for (int i = 0; i < in.load_size() && check.ok(); ++i) {
    const auto scope = check.in("load", i);
    const v1::WhatIfLoad& line = in.load(i);
    sim::LoadChange change;
    if (!line.like().empty()) change.account = check.name("like", line.like(), true);
    change.times_milli = check.number("times_milli", line.times_milli(), 1, limits::kMaxLoadMilli);
    out.load.push_back(std::move(change));
  }
}

}  // namespace

Result<sim::Change> read_change(const v1::WhatIfRequest& request) {
  sim::Change out;
  Check check;
  read_accounts(check, request, out);
  read_nodes(check, request, out);
  read_load(check, request, out);
  auto error = read_policy(check, request, out);
  if (!check.ok()) return check.error();
  if (error) return *std::move(error);
  if (request.seed() != 0) out.seed = request.seed();
  return out;
}

}  // namespace subak::whatif
