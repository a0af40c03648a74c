#include "cli/whatif/change_file.h"

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "core/decimal.h"
#include "server/yaml/document.h"

namespace subak::cli {
namespace {

const std::string kForm = "whatif --help shows the form of the file";

class ChangeReader {
 public:
  explicit ChangeReader(const std::string& name) : name_(name) {}

  v1::WhatIfRequest read(const std::string& text) {
    const YamlDocument document = read_yaml(text);
    if (document.mistake) fail_at(document.mistake->line, document.mistake->what);
    const YAML::Node& root = document.root;
    if (root.IsNull()) return out_;
    check_keys(root, {"accounts", "policy", "nodes", "load", "seed"});
    if (root["accounts"]) read_account_list(root["accounts"]);
    if (root["policy"]) read_policy(root["policy"]);
    for_each(root, "nodes", [this](const YAML::Node& line) { read_nodes(line); });
    for_each(root, "load", [this](const YAML::Node& line) { read_load(line); });
    if (root["seed"]) {
      const std::int64_t seed = whole(root["seed"], "seed");
      if (seed < 1) fail(root["seed"], "seed: was " + std::to_string(seed) + ", want 1 or more");
      out_.set_seed(static_cast<std::uint64_t>(seed));
    }
    return out_;
  }

 private:
  [[noreturn]] void fail_at(std::size_t line, const std::string& what) const {
    throw usage_failure(name_ + ":" + std::to_string(line) + ": " + what, kForm);
  }
  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    fail_at(line_of(node), what);
  }

  void check_keys(const YAML::Node& map, std::initializer_list<std::string_view> keys) const {
    std::string all;
    for (const std::string_view key : keys) all += (all.empty() ? "" : ", ") + std::string(key);
    if (!map.IsMap()) fail(map, "want some of the keys " + all);
    for (const auto& member : map) {
      bool is_known = false;
      for (const std::string_view key : keys) is_known = is_known || member.first.Scalar() == key;
      if (!is_known) fail(member.first, member.first.Scalar() + ": unknown key, want " + all);
    }
  }

  template <class Each>
  void for_each(const YAML::Node& root, const char* key, Each each) const {
    const YAML::Node list = root[key];
    if (!list) return;
    if (!list.IsSequence()) fail(list, std::string(key) + ": want a list");
    for (const YAML::Node& line : list) each(line);
  }

  std::string scalar(const YAML::Node& value, const std::string& key) const {
    if (!value.IsScalar()) fail(value, key + ": want one value");
    return value.Scalar();
  }
  std::string required(const YAML::Node& line, const char* key) const {
    if (!line[key]) fail(line, std::string(key) + ": missing");
    return scalar(line[key], key);
  }
  // Reads "8", "+8" and "-8".
  std::int64_t whole(const YAML::Node& value, const std::string& key) const {
    const std::string text = scalar(value, key);
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || text.starts_with("+-")) {
      fail(value, key + ": was \"" + text + "\", want a whole number such as +8");
    }
    return number;
  }

  void read_account_list(const YAML::Node& list) {
    for (const AccountWish& wish : read_accounts(list, name_, kForm)) {
      v1::UpdateAccountRequest update;
      put_wish(wish, name_ + ": accounts: " + wish.path + ": ", &update);
      v1::AccountChange* const change = out_.add_accounts();
      *change->mutable_account() = update.account();
      *change->mutable_update_mask() = update.update_mask();
    }
  }

  void read_policy(const YAML::Node& map) {
    if (!map.IsMap()) fail(map, "policy: want keys with values, such as halfLife: 3d");
    for (const auto& member : map) {
      v1::SetPolicyRequest::Change* const change = out_.add_policy();
      change->set_key(member.first.Scalar());
      change->set_value(scalar(member.second, "policy: " + change->key()));
    }
  }

  void read_nodes(const YAML::Node& line) {
    check_keys(line, {"like", "count", "remove", "cluster"});
    v1::WhatIfNodes* const nodes = out_.add_nodes();
    if (line["cluster"]) nodes->set_cluster(scalar(line["cluster"], "cluster"));
    if (line["remove"]) {
      if (line["like"] || line["count"]) fail(line, "remove: want it without like and count");
      nodes->set_remove(required(line, "remove"));
      if (nodes->remove().empty()) fail(line, "remove: was \"\", want the name of a node");
      return;
    }
    nodes->set_like(required(line, "like"));
    required(line, "count");
    nodes->set_count(whole(line["count"], "count"));
  }

  void read_load(const YAML::Node& line) {
    check_keys(line, {"like", "times"});
    v1::WhatIfLoad* const load = out_.add_load();
    load->set_like(required(line, "like"));
    const std::string times = required(line, "times");
    const auto milli = parse_milligpu(times, "times");
    if (!milli.ok() || *milli <= 0) {
      fail(line["times"], "times: was \"" + times + "\", want a number above 0 such as 0.5");
    }
    load->set_times_milli(*milli);
  }

  const std::string& name_;
  v1::WhatIfRequest out_;
};

}  // namespace

v1::WhatIfRequest parse_change_file(const std::string& text, const std::string& name) {
  return ChangeReader(name).read(text);
}

}  // namespace subak::cli
