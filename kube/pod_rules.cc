// The rules of a pod about other pods: affinity, anti-affinity and topology spread constraints.
#include <algorithm>
#include <initializer_list>

#include "core/content_hash.h"
#include "core/limits.h"
#include "kube/pod.h"

namespace subak {
namespace {

constexpr Text kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr Text kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

// Returns the number of the group of pods that a selector selects. Equal selectors have one number,
// in whatever order and form their labels are.
std::int64_t group_of(const Pod& pod, const LabelSelector& selector) {
  std::vector<std::string> parts;
  for (const Requirement& r : selector) {
    std::vector<std::string> values = r.values;
    std::sort(values.begin(), values.end());
    std::string& part = parts.emplace_back(r.key + " " + r.op);
    for (const std::string& value : values) part += " " + value;
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  std::string text(pod.ns);
  for (const std::string& part : parts) text += "/" + part;
  return static_cast<std::int64_t>(content_hash(text) >> 1);
}

// True if the object has no other members than these.
bool has_only(json::Value object, std::initializer_list<Text> names) {
  bool only = true;
  json::each_member(object, [&](Text key, json::Value) {
    only = only && std::find(names.begin(), names.end(), key) != names.end();
  });
  return only;
}

// Reads a label selector. Returns nullopt if it is longer than the limits allow.
std::optional<LabelSelector> read_selector(json::Value value) {
  LabelSelector out;
  bool fits = true;
  if (const auto labels = json::member(value, "matchLabels")) {
    json::each_member(*labels, [&](Text key, json::Value v) {
      fits = fits && out.size() < limits::kMaxSelectorTerms;
      if (fits) out.push_back({std::string(key), "In", {std::string(json::text(v))}});
    });
  }
  if (const auto expressions = json::member(value, "matchExpressions")) {
    json::each_item(*expressions, [&](std::size_t, json::Value e) {
      fits = fits && out.size() < limits::kMaxSelectorTerms;
      if (!fits) return;
      Requirement& r = out.emplace_back();
      r.key = json::text(e, "key");
      r.op = json::text(e, "operator");
      const auto values = json::member(e, "values");
      if (!values) return;
      json::each_item(*values, [&](std::size_t, json::Value one) {
        fits = fits && r.values.size() < limits::kMaxTermValues;
        if (fits) r.values.emplace_back(json::text(one));
      });
    });
  }
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

// Adds to the selector the labels of the pod whose keys the rule lists as matchLabelKeys.
void add_match_label_keys(json::Value rule, const Pod& pod, LabelSelector& selector) {
  const auto keys = json::member(rule, "matchLabelKeys");
  if (!keys) return;
  json::each_item(*keys, [&](std::size_t, json::Value item) {
    const Text key = json::text(item);
    if (!has_key(pod.labels, key) || selector.size() >= limits::kMaxSelectorTerms) return;
    selector.push_back({std::string(key), "In", {std::string(find_text(pod.labels, key))}});
  });
}

// True if a term selects pods of the pod's own namespace alone.
bool is_of_own_namespace(json::Value term, const Pod& pod) {
  if (json::member(term, "namespaceSelector")) return false;
  bool own = true;
  if (const auto names = json::member(term, "namespaces")) {
    json::each_item(*names, [&](std::size_t, json::Value ns) {
      own = own && (pod.ns.empty() || json::text(ns) == pod.ns);
    });
  }
  return own;
}

// Reads a required term of pod anti-affinity. Pods of a term that selects themselves never share a
// node, as if they wanted the same port of it. Returns false for any other term.
bool read_apart(json::Value term, Pod& pod) {
  const auto selector = json::member(term, "labelSelector");
  if (!selector || json::text(term, "topologyKey") != kHostname) return false;
  const auto read = read_selector(*selector);
  if (!read || !is_of_own_namespace(term, pod) || !selects(*read, pod.labels)) return false;
  if (pod.shape.host_ports.size() > limits::kMaxSelectorTerms)
    return true;  // refused for its ports
  const std::string rule = std::string(pod.ns) + "/" + simdjson::minify(*selector);
  pod.shape.host_ports.push_back(
      {1, std::string(HostPort::kApart) + std::to_string(content_hash(rule)), {}});
  return true;
}

// Reads a required term of pod affinity into `near`. Returns false if Subak does not read the term.
bool read_near(json::Value term, const Pod& pod, NearPods& near) {
  if (!has_only(term, {"labelSelector", "topologyKey", "namespaces", "matchLabelKeys"}))
    return false;
  const auto selector = json::member(term, "labelSelector");
  const Text key = json::text(term, "topologyKey");
  if (!selector || key.empty() || near.terms.size() == limits::kMaxPodRules) return false;
  auto read = read_selector(*selector);
  if (!read || !is_of_own_namespace(term, pod)) return false;
  add_match_label_keys(term, pod, *read);
  near.own = near.own && selects(*read, pod.labels);
  const std::int64_t group = group_of(pod, *read);
  near.terms.push_back({std::string(key), std::move(*read), group});
  return true;
}

// Returns nullopt if Subak does not read some term. A pod counts for a term only if all terms select
// it, so the other terms alone say nothing.
std::optional<NearPods> read_near_terms(json::Value terms, const Pod& pod) {
  NearPods out;
  bool all_read = true;
  json::each_item(terms, [&](std::size_t, json::Value term) {
    all_read = all_read && read_near(term, pod, out);
  });
  return all_read ? std::optional(std::move(out)) : std::nullopt;
}

// Reads a topology spread constraint. Returns false if Subak does not read it.
bool read_spread(json::Value rule, Pod& pod) {
  if (!has_only(rule, {"labelSelector", "topologyKey", "maxSkew", "minDomains", "matchLabelKeys",
                       "nodeAffinityPolicy", "nodeTaintsPolicy", "whenUnsatisfiable"}))
    return false;
  const auto selector = json::member(rule, "labelSelector");
  if (!selector || pod.shape.spread.size() == limits::kMaxPodRules) return false;
  auto read = read_selector(*selector);
  if (!read) return false;
  add_match_label_keys(rule, pod, *read);
  if (!selects(*read, pod.labels)) return false;
  TopologySpread out;
  out.key = json::text(rule, "topologyKey");
  const auto skew = json::member(rule, "maxSkew"), domains = json::member(rule, "minDomains");
  out.max_skew = skew ? json::integer(*skew) : 0;
  out.min_domains = domains ? json::integer(*domains) : 0;
  if (out.key.empty() || out.max_skew < 1 || out.max_skew > INT32_MAX) return false;
  if (out.min_domains < 0 || out.min_domains > INT32_MAX) return false;
  out.any_node = json::text(rule, "nodeAffinityPolicy") == "Ignore";
  out.only_tolerated = json::text(rule, "nodeTaintsPolicy") == "Honor";
  out.group = group_of(pod, *read);
  // The scheduler checks such a constraint pod by pod over all nodes. With two of them, no order of
  // the pods may suit both.
  const auto any_node = [](const TopologySpread& other) { return other.any_node; };
  const std::vector<TopologySpread>& others = pod.shape.spread;
  if (out.any_node && std::any_of(others.begin(), others.end(), any_node)) return false;
  pod.shape.spread.push_back(std::move(out));
  return true;
}

std::optional<json::Value> terms_of(json::Value affinity, Text kind, Text list) {
  const auto found = json::member(affinity, kind);
  return found ? json::member(*found, list) : std::nullopt;
}

bool has_items(const std::optional<json::Value>& list) {
  bool any = false;
  if (list) json::each_item(*list, [&](std::size_t, json::Value) { any = true; });
  return any;
}

void read_affinity(json::Value affinity, Pod& pod) {
  if (const auto near = terms_of(affinity, "podAffinity", kRequired)) {
    const std::optional<NearPods> read = read_near_terms(*near, pod);
    if (!read) pod.not_read.constraints.emplace_back("spec.affinity.podAffinity");
    for (std::size_t i = 0; read && read->own && i < read->terms.size(); ++i)
      pod.shape.near.push_back({read->terms[i].key, read->terms[i].group});
  }
  bool all_read = true;
  if (const auto apart = terms_of(affinity, "podAntiAffinity", kRequired)) {
    json::each_item(*apart, [&](std::size_t, json::Value term) {
      all_read = read_apart(term, pod) && all_read;
    });
  }
  if (!all_read) pod.not_read.constraints.emplace_back("spec.affinity.podAntiAffinity");
  for (const Text kind : {Text("podAffinity"), Text("podAntiAffinity")}) {
    if (has_items(terms_of(affinity, kind, kPreferred)))
      pod.not_read.preferences.push_back("spec.affinity." + std::string(kind));
  }
}

}  // namespace

bool selects(const LabelSelector& selector, const TextPairs& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const Requirement& r) {
    const bool has = has_key(labels, r.key);
    if (r.op == "Exists") return has;
    if (r.op == "DoesNotExist") return !has;
    const bool listed = has && std::find(r.values.begin(), r.values.end(),
                                         find_text(labels, r.key)) != r.values.end();
    return r.op == "NotIn" ? !listed : listed;
  });
}

NearPods read_near_pods(json::Value object, const Pod& pod) {
  // As read_pod(): of several members with this name, the last object counts.
  std::optional<json::Value> spec;
  json::each_member(object, [&](std::string_view key, json::Value part) {
    if (key == "spec" && json::is_object(part)) spec = part;
  });
  const auto affinity = spec ? json::member(*spec, "affinity") : std::nullopt;
  const auto terms = affinity ? terms_of(*affinity, "podAffinity", kRequired) : std::nullopt;
  return terms ? read_near_terms(*terms, pod).value_or(NearPods()) : NearPods();
}

void read_pod_rules(json::Value spec, Pod& pod) {
  if (const auto affinity = json::member(spec, "affinity")) read_affinity(*affinity, pod);
  const auto constraints = json::member(spec, "topologySpreadConstraints");
  if (!constraints) return;
  json::each_item(*constraints, [&](std::size_t i, json::Value one) {
    const std::string field = "spec.topologySpreadConstraints[" + std::to_string(i) + "]";
    const bool preferred = json::text(one, "whenUnsatisfiable") == "ScheduleAnyway";
    const std::size_t rules = pod.shape.spread.size() + pod.shape.near.size();
    std::vector<std::string>& not_read =
        preferred ? pod.not_read.preferences : pod.not_read.constraints;
    if (preferred || rules >= limits::kMaxPodRules || !read_spread(one, pod)) {
      if (not_read.size() < limits::kMaxPodRules) not_read.push_back(field);
    }
  });
}

void leave_out_spread(Pod& pod) {
  if (!wants_own_domains(pod.terms) || pod.shape.spread.empty()) return;
  pod.shape.spread.clear();
  pod.not_read.constraints.emplace_back("spec.topologySpreadConstraints");
}

}  // namespace subak
