#include "server/edge/client/exec_credential.h"

#include "core/duration.h"
#include "core/error.h"
#include "kube/json.h"

namespace subak {

std::string exec_info(const KubeAccess& access, std::string_view authority) {
  std::string out = "{";
  append_json_member(out, "apiVersion", access.exec->api_version);
  append_json_member(out, "kind", "ExecCredential");
  out += R"(,"spec":{"interactive":false)";
  if (access.exec->wants_cluster) {
    out += R"(,"cluster":{)";
    append_json_member(out, "server", access.server);
    if (!access.tls_server_name.empty()) {
      append_json_member(out, "tls-server-name", access.tls_server_name);
    }
    if (access.insecure) out += R"(,"insecure-skip-tls-verify":true)";
    if (!authority.empty()) {
      out += R"(,"certificate-authority-data":)";
      append_json_bytes(out, authority);
    }
    out += '}';
  }
  return out + "}}";
}

Result<ExecCredential> read_exec_credential(std::string_view text, std::string_view version,
                                            std::string_view field) {
  const auto bad = [field](std::string_view part, std::string_view got, std::string want) {
    return Error{ErrorCode::kInvalid, std::string(field) + std::string(part), cut_text(got),
                 "want the plugin to print " + std::move(want)};
  };
  json::Parser parser;
  json::Value root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS || !json::is_object(root)) {
    return bad("", "", "an ExecCredential in JSON and nothing else");
  }
  if (json::text(root, "kind") != "ExecCredential") return bad(": kind", "", "an ExecCredential");
  if (json::text(root, "apiVersion") != version) {
    return bad(": apiVersion", json::text(root, "apiVersion"),
               "the apiVersion of the kubeconfig, " + std::string(version));
  }
  const auto status = json::member(root, "status");
  if (!status || !json::is_object(*status)) return bad(": status", "", "a status");
  ExecCredential out;
  out.credential = {std::string(json::text(*status, "token")),
                    std::string(json::text(*status, "clientCertificateData")),
                    std::string(json::text(*status, "clientKeyData"))};
  const Credential& c = out.credential;
  if (c.certificate.empty() != c.key.empty()) {
    return bad(c.key.empty() ? ": status.clientKeyData" : ": status.clientCertificateData", "",
               "both of a certificate and its key");
  }
  if (c == Credential{}) return bad(": status", "", "a token, or a certificate with its key");
  if (!is_one_word(c.token)) return bad(": status.token", "", "a token of one line");
  const std::string_view expires = json::text(*status, "expirationTimestamp");
  if (expires.empty()) return out;
  const auto at = parse_time(expires, "expirationTimestamp");
  if (!at.ok()) return bad(": status.expirationTimestamp", expires, "a time of RFC 3339");
  out.expires_ms = *at;
  return out;
}

}  // namespace subak
