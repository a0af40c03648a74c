// Readers of names, clusters and priority classes.
#include <algorithm>
#include <charconv>
#include <utility>

#include "server/config/settings.h"

namespace subak::config {

std::optional<Error> check_name(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !text.empty() && text.size() <= 63 && plain(text.front()) && plain(text.back());
  for (char c : text) good = good && (plain(c) || c == '-');
  if (good) return std::nullopt;
  return bad_value(text,
                   "a name of at most 63 of a-z, 0-9 and - that starts and ends with a-z or 0-9");
}

std::optional<Error> add_namespace(ClusterConfig& cluster, std::string_view ns,
                                   std::string_view mode) {
  if (auto error = check_name(ns)) return error;
  const Result<Mode> parsed = read_enum<Mode>(mode);
  if (!parsed) return parsed.error();
  const auto at =
      std::lower_bound(cluster.namespaces.begin(), cluster.namespaces.end(), ns,
                       [](const NamespaceMode& a, std::string_view b) { return a.ns < b; });
  if (at != cluster.namespaces.end() && at->ns == ns) return bad_value(ns, "each namespace once");
  cluster.namespaces.insert(at, NamespaceMode{std::string(ns), *parsed});
  return std::nullopt;
}

namespace {

// Returns the part of the text before `end`, and removes both from the text.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

}  // namespace

Result<std::int32_t> read_class_value(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return bad_value(text, "a whole number, higher first");
  return value;
}

Result<PriorityClass> read_class(std::string_view text) {
  PriorityClass one;
  one.name = take(text, '=');
  const Result<std::int32_t> value = read_class_value(take(text, ':'));
  if (!value) return bad_value(one.name, "NAME=VALUE, such as prod=1000");
  one.priority = *value;
  if (text == "preempts" || text.starts_with("preempts:")) {
    one.preempts = true;
    take(text, ':');
  }
  while (!text.empty()) one.accounts.emplace_back(take(text, ','));
  return one;
}

std::optional<Error> add_class(Config& config, PriorityClass one) {
  if (!is_class_name(one.name))
    return bad_value(one.name, "a name of a-z, 0-9 and - that starts with a letter");
  for (const PriorityClass& other : config.priority_classes) {
    if (other.name == one.name) return bad_value(one.name, "each class once");
    if (other.priority == one.priority) {
      return bad_value(std::to_string(one.priority),
                       "another value than that of class " + other.name);
    }
  }
  config.priority_classes.push_back(std::move(one));
  return std::nullopt;
}

Result<ClusterConfig> read_cluster(std::string_view text) {
  ClusterConfig cluster;
  cluster.name = take(text, ':');
  if (auto error = check_name(cluster.name)) return *error;
  const std::string_view mode = take(text, ':');
  if (!mode.empty()) {
    const Result<Mode> parsed = read_enum<Mode>(mode);
    if (!parsed) return parsed.error();
    cluster.mode = *parsed;
  }
  while (!text.empty()) {
    const std::string_view item = take(text, ',');
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return bad_value(item, "NAMESPACE=MODE");
    if (auto error = add_namespace(cluster, item.substr(0, equals), item.substr(equals + 1))) {
      return *error;
    }
  }
  return cluster;
}

}  // namespace subak::config
