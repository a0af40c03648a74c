// subak install. --print prints the manifests for a cluster. --keys writes the secrets that the
// pods of the service share.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

#include "admission/policy_config.h"
#include "cli/commands.h"
#include "cli/setup/manifests.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/words.h"
#include "core/printable.h"
#include "net/self_signed.h"

namespace subak::cli {
namespace {

// The name under which replicas reach the service. Each certificate that Subak makes also has the
// webhook's name.
constexpr const char* kLeaderName = "subak-leader.subak-system.svc";
constexpr const char* kReplicaNames = "*.subak-replicas.subak-system.svc";
constexpr std::size_t kTokenBytes = 32;

struct InstallCommand {
  bool print = false;
  std::string keys, ca_file, kubernetes = "1.30";
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
                      "kubectl version shows it");
}

void read_parts(const InstallCommand& o, std::vector<ManifestPart>& parts) {
  for (const std::string& name : o.only) {
    const auto part = enum_from<ManifestPart>(name);
    if (!part) {
      throw usage_failure(
          "--only: was \"" + name + "\", want access, service, webhooks or policies",
          "without --only, install prints all parts");
    }
    parts.push_back(*part);
  }
}

bool is_registered(const ManifestOptions& o) {
  return o.parts.empty() ||
         std::find(o.parts.begin(), o.parts.end(), ManifestPart::kWebhooks) != o.parts.end();
}

Failure not_written(const std::string& file) {
  return usage_failure("--keys: \"" + file + "\" cannot be written: " + std::strerror(errno),
                       "name a folder of yours");
}

void write_secret(const std::string& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) throw not_written(file);
  const ssize_t written = ::write(fd, text.data(), text.size());
  if (::close(fd) != 0 || written != static_cast<ssize_t>(text.size())) throw not_written(file);
}

std::string new_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw usage_failure("--keys: the system gave no random bytes", "try again");
  }
  return hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Leaves existing files as they are. A new CA or token would lock out the clients that use the old
// one. With `with_tls` false, cert-manager makes the certificate.
int make_keys(Session& s, const std::string& folder, bool with_tls) {
  const std::string tls = folder + "/tls", tokens = folder + "/tokens";
  std::error_code error;
  std::filesystem::create_directories(tokens, error);
  if (error || ::chmod(folder.c_str(), 0700) != 0) throw not_written(folder);
  if (with_tls) {
    const auto pair = keep_self_signed(tls, {kLeaderName, kReplicaNames}, now_ms());
    if (!pair) throw usage_failure("--keys: " + pair.error().message(), "name a folder of yours");
  }
  if (!std::filesystem::exists(tokens + "/tokens", error)) {
    const std::string token = new_token();
    write_secret(tokens + "/token", token + "\n");
    write_secret(tokens + "/tokens", token + " viewer replicas\n");
  }
  const auto from = [](const std::string& file) { return " --from-file=" + file; };
  if (with_tls) {
    s.out() << "kubectl create secret generic -n subak-system subak-tls" << from(tls + "/tls.crt")
            << from(tls + "/tls.key") << from(tls + "/ca.crt") << "\n";
  }
  s.out() << "kubectl create secret generic -n subak-system subak-tokens"
          << from(tokens + "/tokens") << from(tokens + "/token") << "\n";
  return kExitDone;
}

int install(Session& s, InstallCommand o) {
  if (o.print == !o.keys.empty()) {
    throw usage_failure("install: want --print or --keys DIR",
                        "subak install --print ... | kubectl apply -f -");
  }
  if (!o.keys.empty()) return make_keys(s, o.keys, !o.manifests.cert_manager);
  o.manifests.kubernetes_minor = minor_of(o.kubernetes);
  read_parts(o, o.manifests.parts);
  if (o.manifests.cert_manager && !o.ca_file.empty()) {
    throw usage_failure("--ca: want no CA with --cert-manager: cert-manager writes it",
                        "give one of the two options");
  }
  if (is_registered(o.manifests) && !o.manifests.cert_manager) {
    if (o.ca_file.empty()) {
      throw usage_failure("--ca: want the CA that signed the webhook's certificate",
                          "it is tls/ca.crt in the folder of --keys, or beside the state of a "
                          "service that made its own certificate; or use --cert-manager");
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
  Command c = root.add(
      "install",
      "print the manifests that install Subak in a Kubernetes cluster, for kubectl apply -f -");
  c.flag("--print", o->print, "print the manifests to standard output; do nothing else");
  c.option(
      "--keys", o->keys,
      "write a certificate and a token for a service in the cluster to this folder, and print how "
      "to install them; existing files stay",
      "DIR");
  c.option("--cluster", o->manifests.cluster, "the cluster's name in Subak; default main", "NAME");
  c.option("--url", o->manifests.url,
           "address at which kube-apiserver calls the webhook; default: the service in the cluster",
           "https://HOST:PORT");
  c.option("--ca", o->ca_file,
           "PEM file with the CA of the webhook's certificate; while you change the CA, a file "
           "with both CAs",
           "FILE");
  c.flag(
      "--cert-manager", o->manifests.cert_manager,
      "let cert-manager make the certificate of the service in the cluster: --keys makes only the "
      "token, and --print needs no --ca");
  c.option("--as", o->manifests.user, "the user name with which the service calls the API server",
           "USER");
  c.option("--break-glass-group", o->manifests.break_glass_group,
           "the group whose members may remove the gate by hand; the same as in the service's "
           "configuration",
           "GROUP");
  c.list_option(
      "--gpu-kinds", o->manifests.gpu_kinds,
      "resources beside nvidia.com/gpu that count as GPUs; the same as in the configuration",
      "RESOURCE,...");
  c.option("--image", o->manifests.image,
           "image of the service; with this option, the service runs in the cluster", "IMAGE");
  c.option("--state", o->manifests.state,
           "database of the service in the cluster; the service then has several pods, and one pod "
           "leads",
           "postgres://USER@HOST/DATABASE");
  c.option("--replicas", o->manifests.replicas,
           "number of pods of the service, with --state; default 2", "N");
  c.option("--kubernetes", o->kubernetes,
           "Kubernetes version of the oldest API server; default 1.30. From 1.36 on, the API "
           "server itself sets the gate",
           "VERSION");
  c.list_option("--only", o->only, "print only some parts: access, service, webhooks, policies",
                "PART,...");
  c.details(
      "The manifests change nothing for pods until a namespace has a label:\n"
      "subak.gpu/managed=warn (users get warnings) or =true (its GPU pods wait in the queue).");
  c.run([o](Session& s) { return install(s, *o); });
}

}  // namespace subak::cli
