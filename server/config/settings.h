// Functions that read single values of the configuration file and of the flags from text. Unless a
// comment says otherwise, the field of an error is empty; the caller sets it to the key or the
// flag. Threads: any; each call changes only its argument. Private to server/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "model/input.h"
#include "server/config/config.h"

namespace subak::config {

// Returns the error for a bad value (kInvalid). `want`: the text of the error after "want ". The
// caller sets the field of the error: the key of the file, or the flag.
inline Error bad_value(std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, "", std::string(got), "want " + std::string(want)};
}

// Returns the names of the enum's values, such as "observe, warn or enforce".
template <class E>
std::string choices() {
  std::string out;
  const auto& names = EnumText<E>::names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

// Reads the name of an enum's value. The text must equal the name in EnumText exactly, including
// the case.
template <class E>
Result<E> read_enum(std::string_view text) {
  if (const auto value = enum_from<E>(text)) return *value;
  return bad_value(text, choices<E>());
}

// Reads one value of a setting into `config`. For a list, each call adds a value. It refuses text
// that is not printable. After an error, `config` is unchanged. The field of the error is empty.
std::optional<Error> set(const Setting& setting, Config& config, std::string_view value);
// Returns an error unless the text is printable (is_printable() in core/text.h).
std::optional<Error> check_text(std::string_view text);

// Read the CPUs and the memory that a node reserves for each free GPU (GpuHeadroom).
std::optional<Error> set_cpu_per_gpu(Config& config, std::string_view text);
std::optional<Error> set_memory_per_gpu(Config& config, std::string_view text);

// Checks the name of a cluster or namespace, which must be a Kubernetes DNS label. Such a label has
// 1 to 63 characters of a-z, 0-9 and "-", with a letter or digit at both ends (RFC 1123).
std::optional<Error> check_name(std::string_view text);

// Reads "NAME[:MODE[:NAMESPACE=MODE,...]]", which is the form of one cluster in a flag. An empty
// MODE leaves ClusterConfig::mode unset.
Result<ClusterConfig> read_cluster(std::string_view text);
// Reads "NAME=VALUE[:preempts][:ACCOUNT,...]", which is the form of one priority class in a flag.
Result<PriorityClass> read_class(std::string_view text);
// Adds the class. Refuses a second class with this name or value.
std::optional<Error> add_class(Config& config, PriorityClass one);
// Sets one field of a pool. A list gets one more entry.
std::optional<Error> set_pool_field(NodePool& pool, std::string_view key, std::string_view text);
// Adds the pool, whose nodes get the pool's label. Refuses a pool that is not complete, and a
// second pool of this name.
std::optional<Error> add_pool(Config& config, NodePool pool);
// Reads "NAME:KEY=VALUE,...", which is the form of one pool in a flag, and adds the pool.
std::optional<Error> read_pool(Config& config, std::string_view text);
// Returns the pools. Their nodes get the racks, blocks and fabric that the pool's labels name.
std::vector<NodePool> placed_pools(const Config& config);
// Reads a constant of the order target-share. It is a number with at most three decimals, from
// 0.001 to `most` thousandths. Sets `out` to thousandths, or to 0 if the number is `usual`, the
// default.
std::optional<Error> read_constant(std::string_view text, std::uint32_t most, double usual,
                                   std::optional<std::uint32_t>& out);
// Sets Config::prometheus. Refuses a text that is not the URL of a server.
std::optional<Error> set_prometheus(Config& config, std::string_view text);
// Adds a condition to Config::fatal_conditions. Refuses more than limits::kMaxNodeListItems
// conditions.
std::optional<Error> add_fatal_condition(Config& config, std::string_view text);
// Reads a class's value, a whole number.
Result<std::int32_t> read_class_value(std::string_view text);
// Adds the mode of one namespace to the cluster's sorted list. Refuses a second mode for the same
// namespace.
std::optional<Error> add_namespace(ClusterConfig& cluster, std::string_view ns,
                                   std::string_view mode);

// Checks "HOST:PORT", where the port is not 0.
std::optional<Error> check_host(std::string_view text);
// Checks the URL of a Prometheus server, without a query.
std::optional<Error> check_url(std::string_view text);
// Sets the time zone of budgets, which the system must have. "UTC" becomes the empty text.
std::optional<Error> set_budget_zone(Config& config, std::string_view name);
std::optional<Error> set_month_open_days(Config& config, std::string_view number);
// Checks "NAMESPACE/NAME" of a pod.
std::optional<Error> check_pod(std::string_view text);
// Checks the key of a node label: letters, digits and "-_./", at most 253 bytes.
std::optional<Error> check_label_key(std::string_view text);
// Reads "namespace=NAME:PRODUCT" or "class=NAME:PRODUCT" (a priority class); a namespace may end
// with *. `product_end`: the suffix that PRODUCT must have; empty: PRODUCT must be of MIG slices.
Result<GpuRoute> read_route(std::string_view text, std::string_view product_end);
// Adds a name to Config::http_hosts. Refuses a text that is not the name of a host.
std::optional<Error> add_http_host(Config& config, std::string_view text);
// Sets WebhookConfig::pod_priority_class. Refuses a name that no PriorityClass may have.
std::optional<Error> set_pod_class(Config& config, std::string_view text);
// Adds to WebhookConfig::queue_accounts: "QUEUE=ACCOUNT" or "NAMESPACE/QUEUE=ACCOUNT". Refuses a
// second account for a queue, and too many queues.
std::optional<Error> add_queue_account(Config& config, std::string_view text);
// Reads "NAMESPACE=off|warn|deny", where a * may end the name.
Result<NamespaceAlignment> read_alignment(std::string_view text);

}  // namespace subak::config
