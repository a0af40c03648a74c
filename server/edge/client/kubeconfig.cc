#include "server/edge/client/kubeconfig.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/limits.h"
#include "server/yaml/document.h"

namespace subak {
namespace {

using MaybeError = std::optional<Error>;

Error bad(std::string field, std::string_view got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), cut_text(got), "want " + std::move(want)};
}

// "clusters[prod].cluster", and its value.
struct Entry {
  std::string path;
  YAML::Node node;
};

// The keys of client-go's tools/clientcmd/api/v1/types.go and those that Kubernetes 1.36 added.
// Without this check a mistyped key would count as absent.
constexpr std::array<std::string_view, 8> kRootKeys{"apiVersion",      "kind",      "preferences",
                                                    "clusters",        "users",     "contexts",
                                                    "current-context", "extensions"};
constexpr std::array<std::string_view, 8> kClusterKeys{"server",
                                                       "tls-server-name",
                                                       "insecure-skip-tls-verify",
                                                       "certificate-authority",
                                                       "certificate-authority-data",
                                                       "proxy-url",
                                                       "disable-compression",
                                                       "extensions"};
constexpr std::array<std::string_view, 4> kContextKeys{"cluster", "user", "namespace",
                                                       "extensions"};
constexpr std::array<std::string_view, 15> kUserKeys{"client-certificate",
                                                     "client-certificate-data",
                                                     "client-key",
                                                     "client-key-data",
                                                     "token",
                                                     "tokenFile",
                                                     "as",
                                                     "as-uid",
                                                     "as-groups",
                                                     "as-user-extra",
                                                     "username",
                                                     "password",
                                                     "auth-provider",
                                                     "exec",
                                                     "extensions"};
constexpr std::array<std::string_view, 7> kExecKeys{
    "command", "args", "env", "apiVersion", "installHint", "provideClusterInfo", "interactiveMode"};

MaybeError refuse_unknown(const Entry& entry, std::span<const std::string_view> known) {
  for (const auto& member : entry.node) {
    const std::string& key = member.first.Scalar();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return bad(entry.path + " line " + std::to_string(line_of(member.first)), key,
               "a key of a kubeconfig");
  }
  return std::nullopt;
}

// Reads a text of the entry. Absent and null count as empty.
MaybeError text_of(const Entry& entry, const std::string& key, std::string& out) {
  const YAML::Node node = entry.node[key];
  if (!node || node.IsNull()) return std::nullopt;
  if (!node.IsScalar()) return bad(entry.path + "." + key, "", "a text");
  out = node.Scalar();
  return std::nullopt;
}

MaybeError flag_of(const Entry& entry, const std::string& key, bool& out) {
  std::string text;
  if (auto error = text_of(entry, key, text)) return error;
  if (text != "true" && text != "false" && !text.empty()) {
    return bad(entry.path + "." + key, text, "true or false");
  }
  out = text == "true";
  return std::nullopt;
}

// Decodes RFC 4648 base64 with padding, as Go writes it; line breaks are skipped.
std::optional<std::string> decode_base64(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

std::string absolute(std::string_view folder, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  return std::string(folder) + "/" + path;
}

// `KEY-data` has precedence over `KEY`.
MaybeError read_pem(const Entry& entry, const std::string& key, std::string_view folder,
                    PemOrPath& out) {
  std::string data, path;
  if (auto error = text_of(entry, key + "-data", data)) return error;
  if (auto error = text_of(entry, key, path)) return error;
  if (data.empty()) {
    out.path = absolute(folder, path);
    return std::nullopt;
  }
  auto pem = decode_base64(std::move(data));
  if (!pem || pem->empty()) return bad(entry.path + "." + key + "-data", "", "PEM in base64");
  out.pem = *std::move(pem);
  return std::nullopt;
}

// Finds the map `inner` of the item of `list` with this name.
Result<Entry> find_named(const YAML::Node& root, const std::string& list, const std::string& inner,
                         const std::string& name) {
  const YAML::Node items = root[list];
  if (items && !items.IsSequence()) return bad(list, "", "a list");
  for (const auto& item : items) {
    if (!item.IsMap() || !item["name"] || !item["name"].IsScalar()) continue;
    if (item["name"].Scalar() != name) continue;
    Entry found{list + "[" + cut_text(name) + "]." + inner, item[inner]};
    if (!found.node || !found.node.IsMap()) return bad(found.path, "", "a map");
    return found;
  }
  return Error{ErrorCode::kNotFound, list, cut_text(name), "want an entry of that name"};
}

MaybeError refuse(const Entry& entry, const std::string& key, const std::string& instead) {
  const YAML::Node node = entry.node[key];
  if (!node || node.IsNull()) return std::nullopt;
  return bad(entry.path + "." + key, "", instead);
}

// "https://[::1]:6443/a" -> "[::1]".
std::string_view host_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find('/'));
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

MaybeError check_server(const std::string& field, const std::string& url) {
  const bool plain = url.starts_with("http://");
  const bool is_url = plain || url.starts_with("https://");
  if (!is_url || host_of(url).empty() || url.find_first_of("?#@\"\\") != std::string::npos ||
      !is_one_word(url) || url.size() > limits::kMaxTextBytes) {
    return bad(field, url, "https://HOST:PORT");
  }
  constexpr std::array<std::string_view, 3> kHere{"127.0.0.1", "localhost", "[::1]"};
  const bool here = std::find(kHere.begin(), kHere.end(), host_of(url)) != kHere.end();
  if (plain && !here) return bad(field, url, "https, since tokens are sent there");
  return std::nullopt;
}

MaybeError read_cluster(const Entry& entry, std::string_view folder, KubeAccess& out) {
  if (auto error = refuse_unknown(entry, kClusterKeys)) return error;
  if (auto error = refuse(entry, "proxy-url", "none: Subak does not support proxies")) return error;
  if (auto error = text_of(entry, "server", out.server)) return error;
  if (auto error = check_server(entry.path + ".server", out.server)) return error;
  while (out.server.ends_with('/')) out.server.pop_back();
  if (auto error = text_of(entry, "tls-server-name", out.tls_server_name)) return error;
  if (auto error = flag_of(entry, "insecure-skip-tls-verify", out.insecure)) return error;
  if (auto error = read_pem(entry, "certificate-authority", folder, out.authority)) return error;
  if (out.insecure && !out.authority.empty()) {
    return bad(entry.path + ".insecure-skip-tls-verify", "true",
               "false beside a certificate-authority");
  }
  return std::nullopt;
}

MaybeError read_exec(const Entry& entry, std::string_view folder, ExecPlugin& out) {
  if (auto error = refuse_unknown(entry, kExecKeys)) return error;
  if (auto error = text_of(entry, "command", out.command)) return error;
  if (out.command.empty()) return bad(entry.path + ".command", "", "a program");
  // A command with a slash is a path; a bare name is looked up.
  if (out.command.find('/') != std::string::npos) out.command = absolute(folder, out.command);
  if (auto error = text_of(entry, "apiVersion", out.api_version)) return error;
  if (out.api_version != "client.authentication.k8s.io/v1" &&
      out.api_version != "client.authentication.k8s.io/v1beta1") {
    return bad(entry.path + ".apiVersion", out.api_version,
               "client.authentication.k8s.io/v1 or v1beta1");
  }
  if (auto error = text_of(entry, "installHint", out.install_hint)) return error;
  if (auto error = flag_of(entry, "provideClusterInfo", out.wants_cluster)) return error;
  std::string mode;
  if (auto error = text_of(entry, "interactiveMode", mode)) return error;
  if (mode == "Always") return bad(entry.path + ".interactiveMode", mode, "Never or IfAvailable");
  const YAML::Node args = entry.node["args"], env = entry.node["env"];
  for (const auto& [key, list] : {std::pair("args", args), std::pair("env", env)}) {
    const bool absent = !list || list.IsNull();
    if (!absent && !list.IsSequence()) return bad(entry.path + "." + key, "", "a list");
  }
  for (const auto& arg : args) {
    if (!arg.IsScalar()) return bad(entry.path + ".args", "", "a list of texts");
    out.args.push_back(arg.Scalar());
  }
  for (const auto& pair : env) {
    const Entry one{entry.path + ".env", pair};
    if (!pair.IsMap()) return bad(one.path, "", "a list of names and values");
    auto& [name, value] = out.env.emplace_back();
    if (auto error = text_of(one, "name", name)) return error;
    if (auto error = text_of(one, "value", value)) return error;
  }
  return std::nullopt;
}

MaybeError read_user(const Entry& entry, std::string_view folder, KubeAccess& out) {
  out.user = entry.path;
  if (auto error = refuse_unknown(entry, kUserKeys)) return error;
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (auto error = refuse(entry, key, "none: Subak does not support impersonation")) return error;
  }
  for (const char* key : {"username", "password"}) {
    if (auto error = refuse(entry, key, "a token or a certificate")) return error;
  }
  if (auto error = refuse(entry, "auth-provider", "an exec plugin")) return error;
  if (auto error = read_pem(entry, "client-certificate", folder, out.certificate)) return error;
  if (auto error = read_pem(entry, "client-key", folder, out.key)) return error;
  if (out.certificate.empty() != out.key.empty()) {
    return bad(entry.path + (out.key.empty() ? ".client-key" : ".client-certificate"), "",
               "both of a certificate and its key");
  }
  if (auto error = text_of(entry, "token", out.token)) return error;
  if (auto error = text_of(entry, "tokenFile", out.token_path)) return error;
  out.token_path = absolute(folder, out.token_path);
  if (!out.token_path.empty()) out.token.clear();  // the file is the newer one
  if (!is_one_word(out.token)) {
    return bad(entry.path + ".token", "", "a token of one line");
  }
  const YAML::Node exec = entry.node["exec"];
  if (!exec || exec.IsNull()) return std::nullopt;
  if (!exec.IsMap()) return bad(entry.path + ".exec", "", "a map");
  return read_exec({entry.path + ".exec", exec}, folder, out.exec.emplace());
}

Result<KubeAccess> read_root(const YAML::Node& root, std::string_view folder,
                             std::string_view context) {
  if (!root.IsMap()) return bad("kubeconfig", "", "a map with clusters, users and contexts");
  if (auto error = refuse_unknown({"kubeconfig", root}, kRootKeys)) return *error;
  std::string name(context), cluster, user;
  if (name.empty()) {
    if (auto error = text_of({"kubeconfig", root}, "current-context", name)) return *error;
    if (name.empty()) return bad("current-context", "", "the name of a context");
  }
  const auto chosen = find_named(root, "contexts", "context", name);
  if (!chosen.ok()) return chosen.error();
  if (auto error = refuse_unknown(*chosen, kContextKeys)) return *error;
  if (auto error = text_of(*chosen, "cluster", cluster)) return *error;
  if (auto error = text_of(*chosen, "user", user)) return *error;
  const auto its_cluster = find_named(root, "clusters", "cluster", cluster);
  if (!its_cluster.ok()) return its_cluster.error();
  KubeAccess out;
  if (auto error = read_cluster(*its_cluster, folder, out)) return *error;
  if (user.empty()) return out;
  const auto its_user = find_named(root, "users", "user", user);
  if (!its_user.ok()) return its_user.error();
  if (auto error = read_user(*its_user, folder, out)) return *error;
  return out;
}

}  // namespace

bool is_one_word(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

Result<KubeAccess> read_kubeconfig(std::string_view text, std::string_view folder,
                                   std::string_view context) {
  if (text.size() > limits::kMaxKubeconfigBytes) {
    return bad("kubeconfig", std::to_string(text.size()) + " bytes",
               "at most " + std::to_string(limits::kMaxKubeconfigBytes));
  }
  const YamlDocument read = read_yaml(std::string(text));
  if (!read.mistake) return read_root(read.root, folder, context);
  return Error{ErrorCode::kInvalid, "kubeconfig line " + std::to_string(read.mistake->line), "",
               cut_text(read.mistake->what)};
}

Result<KubeAccess> in_cluster_access(std::string_view host, std::string_view port,
                                     std::string_view mount) {
  if (host.empty() || port.empty()) {
    return Error{ErrorCode::kPrecondition, "KUBERNETES_SERVICE_HOST", "",
                 "want a pod of the cluster, or a kubeconfig"};
  }
  KubeAccess out;
  const bool v6 = host.find(':') != std::string_view::npos;
  out.server = "https://" + (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" +
               std::string(port);
  if (auto error = check_server("KUBERNETES_SERVICE_HOST", out.server)) return *error;
  out.authority.path = std::string(mount) + "/ca.crt";
  out.token_path = std::string(mount) + "/token";
  out.user = "serviceaccount";
  return out;
}

}  // namespace subak
