// subak install --print: what is applied to a cluster.
#include <algorithm>
#include <charconv>
#include <memory>

#include "admission/policy_config.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/setup/manifests.h"

namespace subak::cli {
namespace {

struct InstallCommand {
  bool print = false;
  std::string ca_file, kubernetes = "1.30";
  std::vector<std::string> only;
  ManifestOptions manifests;
};

int minor_of(const std::string& version) {
  int minor = 0;
  const std::string_view text(version);
  const std::size_t at = text.starts_with("v1.") ? 3 : text.starts_with("1.") ? 2 : 0;
  const auto [end, ec] = std::from_chars(text.data() + at, text.data() + text.size(), minor);
  const bool ends = end == text.data() + text.size() || *end == '.';
  if (at != 0 && ec == std::errc() && ends) return minor;
  throw usage_failure("--kubernetes: was \"" + version + "\", want a version such as 1.36",
                      "kubectl version says it");
}

void read_parts(const InstallCommand& o, std::vector<ManifestPart>& parts) {
  for (const std::string& name : o.only) {
    const auto part = enum_from<ManifestPart>(name);
    if (!part) {
      throw usage_failure(
          "--only: was \"" + name + "\", want access, service, webhooks or policies",
          "without it all are printed");
    }
    parts.push_back(*part);
  }
}

bool is_registered(const ManifestOptions& o) {
  return o.parts.empty() ||
         std::find(o.parts.begin(), o.parts.end(), ManifestPart::kWebhooks) != o.parts.end();
}

int install(Session& s, InstallCommand o) {
  if (!o.print) {
    throw usage_failure("install: want --print", "subak install --print ... | kubectl apply -f -");
  }
  o.manifests.kubernetes_minor = minor_of(o.kubernetes);
  read_parts(o, o.manifests.parts);
  if (is_registered(o.manifests)) {
    if (o.ca_file.empty()) {
      throw usage_failure("--ca: want who vouches for the webhook's certificate",
                          "the service makes tls/ca.crt beside its state at its first start; "
                          "before that --only access,service");
    }
    o.manifests.ca_pem = read_input(o.ca_file);
    if (o.manifests.ca_pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
      throw usage_failure("--ca: " + o.ca_file + " has no certificate, want PEM",
                          "tls/ca.crt beside the service's state");
    }
  }
  const auto text = manifests(o.manifests);
  if (!text) throw usage_failure(text.error().message(), "subak install --help");
  s.out() << *text;
  return kExitDone;
}

}  // namespace

void add_install(Command root) {
  auto o = std::make_shared<InstallCommand>();
  const AdmissionConfig defaults;
  o->manifests.cluster = "main";
  o->manifests.user = defaults.own_user;
  o->manifests.break_glass_group = defaults.break_glass_group;
  Command c = root.add("install", "manifests for a Kubernetes cluster, for kubectl apply -f -");
  c.flag("--print", o->print, "onto standard output; nothing else is done");
  c.option("--cluster", o->manifests.cluster, "its name in Subak; default main", "NAME");
  c.option("--url", o->manifests.url,
           "the webhook as kube-apiserver reaches it; default the service in the cluster",
           "https://HOST:PORT");
  c.option("--ca", o->ca_file, "who vouches for its certificate, PEM; several at a change", "FILE");
  c.option("--as", o->manifests.user, "the user as whom the service is known there", "USER");
  c.option("--break-glass-group", o->manifests.break_glass_group,
           "who may take the gate away by hand, as in the configuration", "GROUP");
  c.list_option("--gpu-kinds", o->manifests.gpu_kinds,
                "resources that count as GPUs, as in the configuration", "RESOURCE,...");
  c.option("--image", o->manifests.image, "of the service, to run it in the cluster", "IMAGE");
  c.option(
      "--kubernetes", o->kubernetes,
      "oldest version of the API server; default 1.30. From 1.36 on it sets the gate by itself",
      "VERSION");
  c.list_option("--only", o->only, "of access, service, webhooks, policies", "PART,...");
  c.details(
      "Nothing is held up by what is printed until a namespace has the label\n"
      "subak.gpu/managed=warn (warnings) or =true (its GPU pods queue).");
  c.run([o](Session& s) { return install(s, *o); });
}

}  // namespace subak::cli
