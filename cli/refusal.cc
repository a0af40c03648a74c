#include "cli/refusal.h"

#include <algorithm>
#include <optional>

#include "cli/servers.h"
#include "cli/text/table.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace subak::cli {
namespace {

template <class Detail>
std::optional<Detail> find_detail(const google::rpc::Status& status) {
  Detail detail;
  for (const auto& any : status.details()) {
    if (any.Is<Detail>() && any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

int exit_code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return kExitUnreachable;
    case grpc::StatusCode::NOT_FOUND:
      return kExitNotFound;
    default:
      return kExitRefused;
  }
}

// Returns a remedy for a status without advice of its own.
std::string advice(grpc::StatusCode code, const std::string& server) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "is subakd running there? name its address with --server HOST:PORT or SUBAK_SERVER "
             "(now " +
             server + ")";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "name a file with your token: --token-file or SUBAK_TOKEN_FILE";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "ask an admin, or use a token that may do this";
    case grpc::StatusCode::NOT_FOUND:
      return "check the spelling; account tree, job list and cluster list show what there is";
    case grpc::StatusCode::ABORTED:
      return "read it again and repeat the change with its present revision";
    case grpc::StatusCode::ALREADY_EXISTS:
      return "choose another name, or change the one that exists";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "try again in a moment";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "use a newer subakd, which knows this call";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "subak status and the get commands show the present state";
    default:
      return "the audit log and the server's log may say more";
  }
}

// Returns the flag for a field of the request, if it has one.
std::string field_advice(const std::string& field) {
  if (field == "cluster") return "name it: --cluster NAME (cluster list shows what there is)";
  return "correct that value; the command's --help says what it takes";
}

// Returns the command that lists the possible names.
std::string list_advice(const std::string& field) {
  if (field == "cluster") return "subak cluster list shows the clusters";
  if (field == "node") return "subak cluster nodes shows the nodes";
  if (field == "domain") return "subak cluster domains shows the domains, cluster nodes the nodes";
  if (field == "job" || field == "job_id") {
    return "subak job list shows the jobs, with --state done those that ended";
  }
  return "subak account tree shows the accounts";
}

// Extracts "Connection refused" from gRPC's text around it.
std::string without_layers(const std::string& what) {
  constexpr std::string_view kBefore = "remote host: ";
  const std::size_t at = what.rfind(kBefore);
  return at == std::string::npos ? what : what.substr(at + kBefore.size());
}

std::string noun_of(const std::string& field) {
  if (field == "job_id") return "job";
  return field == "path" || field == "parent" ? "account" : field;
}

// Rewords a refusal for the command line: unknown names, and requests that are too large.
void refine(grpc::StatusCode code, const std::string& want, Failure& failure) {
  if (code == grpc::StatusCode::FAILED_PRECONDITION && failure.field.starts_with("request")) {
    failure.todo = "ask for less, or have that account's limit raised";
  }
  constexpr std::string_view kUndamaged = "want an undamaged store: ";  // server/store
  if (want.starts_with(kUndamaged)) {
    failure.todo = want.substr(kUndamaged.size());
    failure.what.resize(std::min(failure.what.rfind(", " + want), failure.what.size()));
  }
  const std::string noun = noun_of(failure.field);
  if (code == grpc::StatusCode::FAILED_PRECONDITION && (noun == "job" || noun == "account") &&
      !failure.got.empty()) {
    failure.todo = "subak " + noun + " get " + printable(failure.got) + " shows how it is";
  }
  if (code != grpc::StatusCode::NOT_FOUND || failure.field.empty() || failure.got.empty()) return;
  failure.todo = list_advice(failure.field);
  if (want.starts_with("there is no such") || want == "want the path of an account") {
    failure.what = "there is no " + noun + " \"" + printable(failure.got) + "\"";
  }
}

}  // namespace

Failure refusal(const grpc::Status& status, const std::string& server) {
  Failure failure{exit_code_of(status.error_code()), printable(status.error_message()),
                  advice(status.error_code(), server), "", ""};
  google::rpc::Status details;
  const bool has_details =
      !status.error_details().empty() && details.ParseFromString(status.error_details());
  if (const auto leader = leader_named_in(status)) {
    failure.what = server + " does not lead, and neither does any other server of --server";
    failure.todo = leader->empty() ? "name all replicas: --server HOST:PORT,HOST:PORT"
                                   : printable(*leader) +
                                         " leads: name its address with --server or SUBAK_SERVER";
    return failure;
  }
  if (failure.exit_code == kExitUnreachable && has_details) {
    failure.what = server + ": " + failure.what;
    const std::size_t cut = failure.what.rfind("; ");
    failure.todo = cut == std::string::npos ? "" : failure.what.substr(cut + 2);
    failure.what.resize(std::min(cut, failure.what.size()));
    return failure;
  }
  if (failure.exit_code == kExitUnreachable) {
    failure.what = "cannot reach " + server + ": " + without_layers(failure.what);
    for (const char* sign : {"Ssl handshake", "Socket closed"}) {
      if (failure.what.find(sign) == std::string::npos) continue;
      failure.todo =
          "does the service use a certificate of another CA? name the CA with --tls-ca FILE or "
          "SUBAK_TLS_CA";
    }
    return failure;
  }
  if (!has_details) return failure;
  if (const auto info = find_detail<google::rpc::ErrorInfo>(details)) {
    const auto value = [&info](const char* key) {
      const auto it = info->metadata().find(key);
      return it == info->metadata().end() ? std::string() : it->second;
    };
    failure.field = value("field");
    failure.got = value("got");
    refine(status.error_code(), value("want"), failure);
  }
  if (const auto bad = find_detail<google::rpc::BadRequest>(details);
      bad && bad->field_violations_size() > 0) {
    const auto& violation = bad->field_violations(0);
    failure.what = printable((violation.field().empty() ? "" : violation.field() + ": ") +
                             violation.description());
    failure.todo = field_advice(violation.field());
    if (violation.field() == "cluster" && failure.got.empty()) {
      failure.what = "which cluster? the service has none or several";
    }
  }
  if (const std::size_t cut = failure.what.rfind("; "); cut != std::string::npos) {
    failure.todo = failure.what.substr(cut + 2);
    failure.what.resize(cut);
  }
  return failure;
}

}  // namespace subak::cli
