#include "cli/setup/manifests.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "admission/policy_config.h"
#include "cli/setup/manifest_texts.h"
#include "core/limits.h"
#include "core/must.h"
#include "kube/json.h"
#include "server/store/postgres/database/address.h"

namespace subak::cli {
namespace {

constexpr std::string_view kAccountSubject =
    "{kind: ServiceAccount, name: subak, namespace: subak-system}";
constexpr std::string_view kFlowSubject =
    "{kind: ServiceAccount, serviceAccount: {name: subak, namespace: subak-system}}";

Error wrong(std::string_view option, std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, "--" + std::string(option), std::string(got),
          "want " + std::string(want)};
}

// True if the text cannot end a quoted text of CEL or YAML and contains no space.
bool is_plain(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || more.find(c) != std::string_view::npos;
  });
}

std::optional<Error> check_state(const ManifestOptions& o) {
  if (!o.state.empty()) {
    constexpr std::string_view kWant = "postgres://USER@HOST/DATABASE; a file needs no --state";
    if (!postgres::is_address(o.state) || !is_plain(o.state, "-._~:/?&=%@,[]+")) {
      return wrong("state", o.state, kWant);
    }
    if (const auto address = postgres::parse_address(o.state); !address) {
      return wrong("state", address.error().got, address.error().want.substr(std::strlen("want ")));
    }
    if (o.image.empty())
      return wrong("state", o.state, "--image too: --state is for a service in the cluster");
  }
  constexpr auto most = static_cast<std::int64_t>(limits::kMaxServers);
  if (o.replicas != 0 && o.state.empty()) {
    return wrong("replicas", std::to_string(o.replicas),
                 "--state postgres://... too: only one process can use a file");
  }
  if (o.replicas < 0 || o.replicas > most) {
    return wrong("replicas", std::to_string(o.replicas), "1 to " + std::to_string(most));
  }
  return std::nullopt;
}

std::optional<Error> check(const ManifestOptions& o) {
  if (!is_plain(o.cluster, "-._")) {
    return wrong("cluster", o.cluster, "the cluster's name in Subak, as `subak status` shows it");
  }
  if (!is_plain(o.user, "-._:@/")) {
    return wrong("as", o.user, "the user's name in Kubernetes, as `kubectl auth whoami` says it");
  }
  if (!is_plain(o.break_glass_group, "-._:@/")) {
    return wrong("break-glass-group", o.break_glass_group, "a group's name in Kubernetes");
  }
  for (const std::string& kind : o.gpu_kinds) {
    if (!is_plain(kind, "-._/") || kind.find('/') == std::string::npos) {
      return wrong("gpu-kinds", kind, "the name of a resource, such as amd.com/gpu");
    }
  }
  if (!o.url.empty() && (!o.url.starts_with("https://") || !is_plain(o.url, "-.:/[]%"))) {
    return wrong("url", o.url, "https://HOST:PORT, the webhook as kube-apiserver reaches it");
  }
  if (o.cert_manager && !o.url.empty()) {
    return wrong("cert-manager", "", "no --url: cert-manager is for a service in the cluster");
  }
  if (!o.image.empty() && !is_plain(o.image, "-._:/@")) {
    return wrong("image", o.image,
                 "an image of the service, such as registry.example.com/subak:0.1.0");
  }
  if (auto error = check_state(o)) return error;
  if (o.kubernetes_minor < kOldestMinor) {
    return wrong("kubernetes", "1." + std::to_string(o.kubernetes_minor),
                 "1." + std::to_string(kOldestMinor) + " or later");
  }
  return std::nullopt;
}

// Replaces every occurrence. Each of these texts occurs in each file that is filled in with it.
void fill_in(std::string& text, std::string_view what, std::string_view with) {
  std::size_t at = text.find(what);
  must(at != std::string::npos, "a file of deploy/kubernetes has what is filled in");
  for (; at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// Returns the texts in single quotes, for CEL.
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "'" : ", '") + name + "'";
  return "[" + out + "]";
}

class Manifests {
 public:
  explicit Manifests(const ManifestOptions& options) : o_(options) {}

  std::string all() {
    if (wants(ManifestPart::kAccess)) {
      add(access());
      add(flow());
      add(file("priority-class.yaml"));
      add(file("preflight.yaml"));
    }
    if (wants(ManifestPart::kService) && !o_.image.empty()) {
      if (o_.cert_manager) add(file("certificates.yaml"));
      if (o_.state.empty()) {
        add(service());
        add(replicas());
      } else {
        add(on_database());
      }
    }
    if (wants(ManifestPart::kWebhooks)) {
      add(webhooks());
      if (o_.kubernetes_minor < kPoliciesMinor) add(update_webhook());
    }
    if (wants(ManifestPart::kPolicies) && o_.kubernetes_minor >= kPoliciesMinor) {
      if (o_.kubernetes_minor >= kGateMinor) add(gate_policy());
      add(policies());
    }
    return std::move(out_);
  }

 private:
  bool wants(ManifestPart part) const {
    return o_.parts.empty() || std::find(o_.parts.begin(), o_.parts.end(), part) != o_.parts.end();
  }

  void add(const std::string& text) {
    if (!out_.empty()) out_ += "---\n";
    out_ += text;
  }

  static std::string file(std::string_view name) {
    const std::string_view text = manifest_text(name);
    must(!text.empty(), "deploy/kubernetes has the file");
    return std::string(text);
  }

  // Fills in the subject: a pod's service account, or the user that a certificate or token names.
  void fill_subject(std::string& text, std::string_view subject, bool flow) const {
    const AdmissionConfig defaults;
    if (o_.user == defaults.own_user) return;
    fill_in(text, subject,
            flow ? "{kind: User, user: {name: \"" + o_.user + "\"}}"
                 : "{kind: User, apiGroup: rbac.authorization.k8s.io, name: \"" + o_.user + "\"}");
  }

  void fill_trusted(std::string& text) const {
    const AdmissionConfig defaults;
    fill_in(text, "'" + defaults.own_user + "'", "'" + o_.user + "'");
    fill_in(text, "'" + defaults.break_glass_group + "'", "'" + o_.break_glass_group + "'");
  }

  void fill_kinds(std::string& text, std::string_view after) const {
    if (o_.gpu_kinds.empty()) return;
    fill_in(text, after, std::string(after) + " || k in " + listed(o_.gpu_kinds));
  }

  // Fills in the CA, or lets cert-manager fill it in. An empty caBundle in the manifest would remove
  // the CA that cert-manager wrote, each time that an operator applies the manifest.
  void fill_ca(std::string& text) const {
    if (o_.cert_manager) {
      fill_in(text, "      caBundle: \"\"\n", "");
      fill_in(text, "\nwebhooks:\n",
              "\n  annotations: {" + std::string(kInjectCa) + ": " + std::string(kCertificate) +
                  "}\nwebhooks:\n");
      return;
    }
    std::string bundle;
    append_json_bytes(bundle, o_.ca_pem);
    fill_in(text, "caBundle: \"\"", "caBundle: " + bundle);
  }

  void fill_webhook(std::string& text) const {
    fill_ca(text);
    for (const std::string_view path : {"mutate", "validate", "stamp"}) {
      const std::string as_file = "url: https://HOST:9443/" + std::string(path) + "/CLUSTER";
      if (text.find(as_file) == std::string::npos) continue;
      const std::string own = "/" + std::string(path) + "/" + o_.cluster;
      const std::string by_service =
          "service: {namespace: subak-system, name: subak, path: " + own + ", port: 443}";
      fill_in(text, as_file, o_.url.empty() ? by_service : "url: " + o_.url + own);
    }
  }

  std::string access() const {
    std::string text = file("rbac.yaml");
    fill_subject(text, kAccountSubject, false);
    return text;
  }

  std::string flow() const {
    std::string text = file("flow.yaml");
    fill_subject(text, kFlowSubject, true);
    return text;
  }

  void fill_image(std::string& text) const {
    fill_in(text, "image: IMAGE", "image: \"" + o_.image + "\"");
  }

  std::string service() const {
    std::string text = file("service.yaml");
    fill_service(text, "    state: /var/lib/subak/subak.db\n");
    return text;
  }

  std::string on_database() const {
    std::string text = file("service-database.yaml");
    fill_in(text, "state: STATE", "state: \"" + with_secret(o_.state) + "\"");
    fill_service(text, "    knownFolder: /var/lib/subak\n");
    if (o_.replicas != 0)
      fill_in(text, "replicas: 2\n", "replicas: " + std::to_string(o_.replicas) + "\n");
    return text;
  }

  void fill_service(std::string& text, const std::string& after) const {
    fill_image(text);
    fill_in(text, "name: CLUSTER", "name: \"" + o_.cluster + "\"");
    std::string more;
    const AdmissionConfig defaults;
    if (o_.break_glass_group != defaults.break_glass_group) {
      more += "    breakGlassGroup: \"" + o_.break_glass_group + "\"\n";
    }
    fill_in(text, after, after + more + own_kinds());
  }

  // Adds the parts that are in the secret subak-database and not in the address.
  static std::string with_secret(std::string state) {
    const auto says = [&](std::string_view key) { return state.find(key) != std::string::npos; };
    const auto add = [&](const std::string& parameter) {
      state += (state.find('?') == std::string::npos ? '?' : '&') + parameter;
    };
    if (!says("password_file=") && !says("passfile=") && !says("sslcert=")) {
      add("password_file=/etc/subak-database/password");
    }
    if (!says("sslrootcert=")) add("sslrootcert=/etc/subak-database/ca.crt");
    return state;
  }

  std::string replicas() const {
    std::string text = file("replicas.yaml");
    fill_image(text);
    const std::string token = "    followToken: /etc/subak-tokens/token\n";
    fill_in(text, token, token + own_kinds());
    return text;
  }

  std::string own_kinds() const {
    return o_.gpu_kinds.empty() ? "" : "    gpuKinds: " + listed(o_.gpu_kinds) + "\n";
  }

  std::string webhooks() const {
    std::string text = file("webhooks.yaml");
    fill_webhook(text);
    fill_kinds(text, "k.startsWith('nvidia.com/')");
    if (o_.kubernetes_minor >= kGateMinor) ignore_without_us(text);
    return text;
  }

  // Sets failurePolicy Ignore, for API servers that set the gate themselves. Containers for
  // debugging have no gate: Fail stays there.
  static void ignore_without_us(std::string& text) {
    for (const std::string_view name : {"- name: mutate.subak.gpu", "- name: validate.subak.gpu"}) {
      constexpr std::string_view kFail = "failurePolicy: Fail";
      const std::size_t at = text.find(kFail, text.find(name));
      must(at != std::string::npos, "webhooks.yaml has what is filled in");
      text.replace(at, kFail.size(), "failurePolicy: Ignore");
    }
  }

  std::string update_webhook() const {
    std::string text = file("webhook-update.yaml");
    fill_webhook(text);
    fill_trusted(text);
    return text;
  }

  std::string gate_policy() const {
    std::string text = file("gate-policy.yaml");
    fill_kinds(text, "k.startsWith('nvidia.com/mig-')");
    return text;
  }

  std::string policies() const {
    std::string text = file("policies.yaml");
    fill_trusted(text);
    fill_kinds(text, "k.startsWith('nvidia.com/mig-')");
    return text;
  }

  const ManifestOptions& o_;
  std::string out_;
};

}  // namespace

Result<std::string> manifests(const ManifestOptions& options) {
  if (auto error = check(options)) return *error;
  return Manifests(options).all();
}

}  // namespace subak::cli
