#include "admission/policy.h"

#include <algorithm>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/printable.h"
#include "kube/owners/maker.h"

namespace subak {
namespace policy {

Decision untouched(Because because) {
  Decision d;
  d.because = because;
  return d;
}

Decision denied(Because because, int code, std::string_view message) {
  Decision d;
  d.verdict = Verdict::kDenied;
  d.because = because;
  d.code = code;
  d.message = cut_text(printable(message), limits::kMaxMessageBytes);
  return d;
}

Decision denied(Because because, const Error& error) {
  return denied(because, 422, error.message());
}

Decision bypassed(Bypass way, const Error& error) {
  Decision d = denied(Because::kBypass, error);
  d.code = 403;
  d.bypass = way;
  return d;
}

std::string person(const Review& review) { return person_name(review.username); }

bool is_trusted(const Context& c) {
  const Review& r = c.review;
  const bool ours = !c.cluster.known_as.empty() && r.username == c.cluster.known_as;
  return ours || r.username == c.config.own_user ||
         std::find(r.groups.begin(), r.groups.end(), c.config.break_glass_group) != r.groups.end();
}

}  // namespace policy

namespace {

using policy::Context;
using policy::untouched;

// kube-apiserver may cut longer warnings.
constexpr std::size_t kMaxWarningBytes = 256;

bool is_pod(const Review& r) { return r.group.empty() && r.kind == "Pod"; }

// A namespace is managed if an account names it, or if an operator gave it a mode of its own.
bool is_managed(const Context& c) {
  const auto& own = c.cluster.namespaces;
  return c.ns_account != nullptr ||
         std::any_of(own.begin(), own.end(), [&](auto& m) { return m.ns == c.review.ns; });
}

Decision evaluate(const Context& c) {
  const Review& r = c.review;
  const bool pod = is_pod(r);
  if (!r.sub_resource.empty()) {
    return r.operation == "UPDATE" ? policy::decide_ephemeral(c) : untouched(Because::kNotOurs);
  }
  if (r.operation == "UPDATE" && pod && c.endpoint == Endpoint::kValidate) {
    return policy::decide_update(c);
  }
  if (r.operation != "CREATE" || !r.object) return untouched(Because::kNotOurs);
  return pod ? policy::decide_pod(c, *r.object) : policy::decide_owner(c, *r.object);
}

// The mode, accounts and namespaces of the cluster are unknown, so it judges only pods that would
// take GPUs.
Decision decide_unknown(const View& view, const AdmissionConfig& config, std::string_view name,
                        const Review& review) {
  if (!is_pod(review) || review.operation != "CREATE" || !review.object) {
    return untouched(Because::kUnknownCluster);
  }
  const Pod pod = read_pod(*review.object, config.extra_gpu_resources);
  if (!pod.asks_gpu() && pod.mistakes.empty() && pod.claims.device.empty()) {
    return untouched(Because::kUnknownCluster);
  }
  std::string known;
  for (std::size_t i = 0; view.clusters && i < view.clusters->size(); ++i) {
    known += (i == 0 ? "" : ", ") + (*view.clusters)[i].name;
  }
  const std::string text =
      "the webhook's address names " +
      (name.empty() ? std::string("no cluster") : "cluster \"" + cut_text(name) + "\"") +
      (known.empty() ? ", and Subak knows none" : ", Subak knows " + cut_text(known)) +
      ": this pod is not queued; have an operator correct the address or add the cluster";
  if (config.unknown_cluster == UnknownCluster::kDeny) {
    return policy::denied(Because::kUnknownCluster, 403, text);
  }
  Decision d = untouched(Because::kUnknownCluster);
  d.warn(text);
  return d;
}

// Turns the decision of mode enforce into warnings; nothing is changed or refused.
Decision as_warnings(Decision d) {
  Decision out;
  if (d.verdict == Verdict::kDenied) {
    out.warn("in mode enforce this would be denied: " + d.message);
  } else if (d.verdict == Verdict::kPatched) {
    out.warn(d.because == Because::kSuspended
                 ? "in mode enforce this would be suspended until its turn comes"
                 : "in mode enforce this pod would be queued until its turn comes");
  } else {
    return d;
  }
  out.because = Because::kWarn;
  out.bypass = d.bypass;
  out.more_warnings = d.more_warnings;
  for (const std::string& w : d.warnings) out.warn(w);
  return out;
}

}  // namespace

void Decision::warn(std::string_view text) {
  if (warnings.size() < limits::kMaxWarnings) {
    warnings.push_back(cut_text(printable(text), kMaxWarningBytes - kCutNoteBytes));
  } else {
    ++more_warnings;
  }
}

ReviewAnswer Decision::answer() && {
  ReviewAnswer a;
  a.allowed = verdict != Verdict::kDenied;
  a.code = code;
  a.reason = code == 422 ? "Invalid" : "Forbidden";
  a.message = std::move(message);
  a.patch = std::move(patch);
  a.warnings = std::move(warnings);
  return a;
}

Decision decide(const View& view, const AdmissionConfig& config, std::string_view cluster_name,
                Endpoint endpoint, const Review& review) {
  const bool pod = is_pod(review);
  const bool whole = review.sub_resource.empty();
  const bool ours = whole ? pod || policy::is_suspendable(review.group, review.kind)
                          : pod && review.sub_resource == "ephemeralcontainers";
  if (!ours) return untouched(Because::kNotOurs);
  if (is_system_namespace(view.policy, review.ns)) return untouched(Because::kExemptNamespace);
  const ClusterView* cluster = view.cluster(cluster_name);
  if (cluster == nullptr) return decide_unknown(view, config, cluster_name, review);
  Context c{view, config, *cluster, endpoint, review, cluster->mode_of(review.ns)};
  c.ns_account = view.account_of(*cluster, review.ns);
  if (!is_managed(c)) return untouched(Because::kUnmanaged);
  if (c.mode == Mode::kObserve) return untouched(Because::kObserve);
  Decision d = evaluate(c);
  if (c.mode == Mode::kWarn) d = as_warnings(std::move(d));
  if (d.more_warnings > 0) {
    d.warnings.back() = "and " + std::to_string(d.more_warnings + 1) + " more warnings";
  }
  return d;
}

}  // namespace subak
