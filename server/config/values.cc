// Readers of values that have parts: clusters, namespaces, priority classes, keys of labels, zones.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "core/decimal.h"
#include "core/limits.h"
#include "core/printable.h"
#include "kube/quantity.h"
#include "model/policy.h"
#include "model/product.h"
#include "server/config/settings.h"
#include "server/zone/civil_ends.h"

namespace subak::config {

std::optional<Error> check_text(std::string_view text) {
  if (is_printable(text)) return std::nullopt;
  return Error{ErrorCode::kInvalid, "", printable(text), std::string(kWantPrintable)};
}

std::optional<Error> check_url(std::string_view text) {
  const bool url = text.starts_with("http://") || text.starts_with("https://");
  const bool plain = text.find_first_of(" ?#@") == std::string_view::npos;
  const bool good = url && plain && !text.ends_with("//") && text.size() <= limits::kMaxTextBytes;
  if (good) return std::nullopt;
  return bad_value(text, "a URL such as http://prometheus.monitoring.svc:9090");
}

std::optional<Error> set_budget_zone(Config& config, std::string_view name) {
  Result<std::string> zone = read_zone(std::string(name));
  if (!zone) {
    return bad_value(name, "UTC, or a zone of this system (package tzdata), such as Europe/Berlin");
  }
  config.books.budget_zone = *std::move(zone);
  return std::nullopt;
}

std::optional<Error> set_month_open_days(Config& config, std::string_view v) {
  std::uint32_t days = 0;
  const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), days);
  const bool is_number = error == std::errc() && end == v.data() + v.size();
  if (!is_number || days < 1 || days > kMostMonthOpenDays) {
    return bad_value(v, "a number of days from 1 to " + std::to_string(kMostMonthOpenDays));
  }
  config.books.month_open_days = days;
  return std::nullopt;
}

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

constexpr std::size_t kMaxLabelValueBytes = 63;  // Kubernetes

// True for the name of a Kubernetes object: a-z, 0-9, "-" and ".", at most 253 bytes.
bool is_object_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

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

std::optional<Error> check_label_key(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  const bool good = !text.empty() && text.size() <= limits::kMaxNameBytes &&
                    std::all_of(text.begin(), text.end(), plain);
  if (good) return std::nullopt;
  return bad_value(text, "the key of a node label such as topology.example.com/rack");
}

Result<NamespaceAlignment> read_alignment(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  NamespaceAlignment entry{std::string(text.substr(0, equals)), Alignment::kWarn};
  const bool is_pattern = entry.ns.ends_with('*');
  std::string name = entry.ns;
  if (is_pattern) name.back() = '0';  // the text before a * may be empty, or end in "-"
  const auto alignment = enum_from<Alignment>(text.substr(std::min(equals + 1, text.size())));
  if (check_name(name) || !alignment) {
    return bad_value(text, "NAMESPACE=off|warn|deny, such as team-a=deny; a * may end the name");
  }
  entry.alignment = *alignment;
  return entry;
}

Result<GpuRoute> read_route(std::string_view text, std::string_view product_end) {
  GpuRoute route;
  std::string_view rest = text;
  const std::string_view who = take(rest, '=');
  std::string name(take(rest, ':'));
  route.product = rest;
  const bool of_class = who == "class";
  (of_class ? route.priority_class : route.ns) = name;
  if (!of_class && name.ends_with('*')) name.back() = '0';
  const bool slices = product_end.empty();
  const bool good_name = of_class ? is_class_name(name) : who == "namespace" && !check_name(name);
  const bool good_product =
      slices ? !product_profile(route.product).empty()
             : route.product.ends_with(product_end) && product_profile(route.product).empty();
  const bool fits = route.product.size() <= kMaxLabelValueBytes && !check_label_key(route.product);
  if (good_name && good_product && fits) return route;
  return bad_value(
      text, "namespace=NAME:PRODUCT or class=PRIORITYCLASS:PRODUCT, such as namespace=notebooks:" +
                std::string(slices ? "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb" : "NVIDIA-A10-SHARED"));
}

std::optional<Error> add_http_host(Config& config, std::string_view text) {
  bool good = !text.empty() && text.size() <= limits::kMaxNameBytes;
  for (const char ch : text) {
    good = good && (std::isalnum(static_cast<unsigned char>(ch)) || ch == '-' || ch == '.');
  }
  if (!good) return bad_value(text, "a host name without a port, such as subak.example.com");
  config.http_hosts.emplace_back(text);
  return std::nullopt;
}

std::optional<Error> set_pod_class(Config& config, std::string_view text) {
  if (!is_object_name(text) || text.starts_with("system-")) {
    return bad_value(text, "the name of a PriorityClass of yours, such as subak-gpu");
  }
  config.webhook.pod_priority_class = text;
  return std::nullopt;
}

std::optional<Error> add_queue_account(Config& config, std::string_view text) {
  std::vector<QueueAccount>& all = config.webhook.queue_accounts;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view left = text.substr(0, equals);
  const std::size_t slash = left.find('/');
  QueueAccount entry;
  if (slash != std::string_view::npos) entry.ns = left.substr(0, slash);
  entry.queue = slash == std::string_view::npos ? left : left.substr(slash + 1);
  entry.account = text.substr(std::min(equals + 1, text.size()));
  const bool good_ns = slash == std::string_view::npos || !check_name(entry.ns);
  const bool good_account = !entry.account.empty() && is_printable(entry.account) &&
                            entry.account.size() <= limits::kMaxNameBytes;
  if (!good_ns || !is_object_name(entry.queue) || !good_account) {
    return bad_value(text,
                     "QUEUE=ACCOUNT or NAMESPACE/QUEUE=ACCOUNT, such as team-a/main=ml.vision");
  }
  if (all.size() >= limits::kMaxNamespaceModes) {
    return bad_value(text, "at most " + std::to_string(limits::kMaxNamespaceModes) + " queues");
  }
  for (const QueueAccount& other : all) {
    if (other.ns == entry.ns && other.queue == entry.queue)
      return bad_value(text, "each queue once");
  }
  all.push_back(std::move(entry));
  return std::nullopt;
}

std::optional<Error> check_host(std::string_view v) {
  const std::size_t colon = std::min(v.rfind(':'), v.size());
  const std::string_view host = v.substr(0, colon), port = v.substr(std::min(colon + 1, v.size()));
  bool good = !host.empty() && v.size() <= limits::kMaxNameBytes;
  for (const char ch : host) {
    good = good && (std::isalnum(static_cast<unsigned char>(ch)) ||
                    std::string_view("-.:[]").find(ch) != std::string_view::npos);
  }
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (!good || number == 0 || error != std::errc() || end != port.data() + port.size()) {
    return bad_value(v, "HOST:PORT, such as subak-leader.subak-system.svc:9444");
  }
  return std::nullopt;
}

// The name of a pod consists of labels with dots between them.
std::optional<Error> check_pod(std::string_view v) {
  const std::size_t slash = std::min(v.find('/'), v.size());
  std::string_view name = v.substr(std::min(slash + 1, v.size()));
  bool good = !check_name(v.substr(0, slash)) && name.size() <= limits::kMaxNameBytes;
  for (std::size_t dot = 0; good && dot != std::string_view::npos;) {
    dot = name.find('.');
    good = !check_name(name.substr(0, dot));
    name.remove_prefix(dot == std::string_view::npos ? name.size() : dot + 1);
  }
  if (!good) return bad_value(v, "NAMESPACE/NAME of a pod, such as subak-system/subak-0");
  return std::nullopt;
}

std::optional<Error> read_constant(std::string_view text, std::uint32_t most, double usual,
                                   std::optional<std::uint32_t>& out) {
  const Result<MilliGpu> parsed = parse_milligpu(text, "");
  if (!parsed || *parsed < 1 || *parsed > most) {
    return bad_value(
        text, "a number from 0.001 to " + format_milligpu(most) + " with at most three decimals");
  }
  const bool is_usual = static_cast<double>(*parsed) == usual * 1000;
  out = is_usual ? 0 : static_cast<std::uint32_t>(*parsed);
  return std::nullopt;
}

std::optional<Error> set_prometheus(Config& config, std::string_view text) {
  auto error = check_url(text);
  if (!error) config.prometheus = text;
  return error;
}

std::optional<Error> add_fatal_condition(Config& config, std::string_view text) {
  if (text.empty() || text.size() > limits::kMaxNameBytes) {
    return bad_value(text, "the type of a node condition such as GpuNvlinkWatch");
  }
  if (!config.fatal_conditions) config.fatal_conditions.emplace();
  if (config.fatal_conditions->size() >= limits::kMaxNodeListItems) {
    return bad_value(text, "at most " + std::to_string(limits::kMaxNodeListItems) + " conditions");
  }
  config.fatal_conditions->emplace_back(text);
  return std::nullopt;
}

std::optional<Error> set_cpu_per_gpu(Config& c, std::string_view v) {
  const auto cpu = parse_kube_quantity(v);
  if (!cpu || cpu->nano < 0 || cpu->milli() > limits::kMaxCpuMilli) {
    return bad_value(v, "CPUs such as 8 or 7500m; 0 is none");
  }
  c.headroom.cpu_milli = cpu->milli();
  return std::nullopt;
}

std::optional<Error> set_memory_per_gpu(Config& c, std::string_view v) {
  const auto memory = parse_kube_quantity(v);
  if (!memory || memory->nano < 0 || memory->units() > limits::kMaxMemoryBytes) {
    return bad_value(v, "memory such as 64Gi; 0 is none");
  }
  c.headroom.memory_bytes = memory->units();
  return std::nullopt;
}

}  // namespace subak::config
