#include "admission/policy.h"

#include <algorithm>

#include "admission/policy_parts.h"

namespace subak {
namespace policy {

Decision untouched(Because because) {
  Decision d;
  d.because = because;
  return d;
}

Decision denied(Because because, int code, std::string message) {
  Decision d;
  d.verdict = Verdict::kDenied;
  d.because = because;
  d.code = code;
  d.message = std::move(message);
  return d;
}

Decision denied(Because because, const Error& error) {
  Error cut = error;
  cut.got = shown(error.got);
  return denied(because, 422, cut.message());
}

Decision bypassed(Bypass way, const Error& error) {
  Decision d = denied(Because::kBypass, error);
  d.code = 403;
  d.bypass = way;
  return d;
}

std::string shown(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// People come from an identity provider; everything of Kubernetes' own starts with "system:".
std::string person(const Review& review) {
  if (review.username.starts_with("system:")) return {};
  std::string name;
  for (const char c : review.username) {
    const bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-' || c == '@';
    name += keep ? c : '-';
  }
  return name;
}

bool is_trusted(const Context& c) {
  const Review& r = c.review;
  return r.username == c.config.own_user ||
         std::find(r.groups.begin(), r.groups.end(), c.config.break_glass_group) != r.groups.end();
}

}  // namespace policy

namespace {

using policy::Context;
using policy::untouched;

constexpr std::size_t kMaxWarningBytes = 256;  // kube-apiserver may cut what is longer

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

bool is_exempt(const AdmissionConfig& config, std::string_view ns) {
  return std::any_of(config.exempt_namespaces.begin(), config.exempt_namespaces.end(),
                     [&](const std::string& p) { return matches(p, ns); });
}

// A namespace is managed when an account names it, or when an operator gave it a mode of its own.
bool is_managed(const Context& c) {
  const auto& own = c.cluster.namespaces;
  return c.ns_account != nullptr ||
         std::any_of(own.begin(), own.end(), [&](auto& m) { return m.ns == c.review.ns; });
}

Decision evaluate(const Context& c) {
  const Review& r = c.review;
  const bool pod = r.group.empty() && r.kind == "Pod";
  if (r.operation == "UPDATE" && pod && c.endpoint == Endpoint::kValidate) {
    return policy::decide_update(c);
  }
  if (r.operation != "CREATE" || !r.object) return untouched(Because::kNotOurs);
  return pod ? policy::decide_pod(c, *r.object) : policy::decide_owner(c, *r.object);
}

// What enforce would do, as warnings; nothing is changed or refused.
Decision as_warnings(Decision d) {
  if (d.verdict == Verdict::kDenied) {
    d.warnings.insert(d.warnings.begin(), "in mode enforce this would be denied: " + d.message);
  } else if (d.verdict == Verdict::kPatched) {
    d.warnings.insert(d.warnings.begin(),
                      d.because == Because::kSuspended
                          ? "in mode enforce this would be suspended until its turn comes"
                          : "in mode enforce this pod would be queued until its turn comes");
  } else {
    return d;
  }
  d.verdict = Verdict::kUntouched;
  d.because = Because::kWarn;
  d.code = 0;
  d.message.clear();
  d.patch.clear();
  return d;
}

}  // namespace

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
  const bool pod = review.group.empty() && review.kind == "Pod";
  if (!review.sub_resource.empty() || !(pod || policy::is_suspendable(review.group, review.kind))) {
    return untouched(Because::kNotOurs);
  }
  if (is_exempt(config, review.ns)) return untouched(Because::kExemptNamespace);
  const ClusterView* cluster = view.cluster(cluster_name);
  if (cluster == nullptr) return untouched(Because::kUnknownCluster);
  Context c{view, config, *cluster, endpoint, review};
  if (view.accounts) c.ns_account = view.accounts->of_namespace(cluster->name, review.ns);
  if (!is_managed(c)) return untouched(Because::kUnmanaged);
  const Mode mode = cluster->mode_of(review.ns);
  if (mode == Mode::kObserve) return untouched(Because::kObserve);
  Decision d = evaluate(c);
  if (mode == Mode::kWarn) d = as_warnings(std::move(d));
  for (std::string& w : d.warnings) w = policy::shown(w, kMaxWarningBytes - 3);
  return d;
}

}  // namespace subak
