#include "cli/refusal.h"

#include <optional>

#include "cli/table.h"
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

// What the caller can do about a status that carries no advice of its own.
std::string advice(grpc::StatusCode code, const std::string& server) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "is subakd running there? --server HOST:PORT or SUBAK_SERVER names it (now " + server +
             ")";
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
      return "use a server that has it";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "look at its present state first: get and history show it";
    default:
      return "the audit log and the server's log may say more";
  }
}

// Fields of a request that have a flag of their own.
std::string field_advice(const std::string& field) {
  if (field == "cluster") return "name it: --cluster NAME (cluster list shows what there is)";
  return "correct that value; the command's --help says what it takes";
}

}  // namespace

Failure refusal(const grpc::Status& status, const std::string& server) {
  Failure failure{exit_code_of(status.error_code()), printable(status.error_message()),
                  advice(status.error_code(), server)};
  if (failure.exit_code == kExitUnreachable) {
    failure.what = "cannot reach " + server + ": " + failure.what;
    for (const char* sign : {"Ssl handshake", "Socket closed"}) {
      if (failure.what.find(sign) == std::string::npos) continue;
      failure.todo = "does it speak TLS with another CA? --tls-ca FILE or SUBAK_TLS_CA names it";
    }
    return failure;
  }
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return failure;
  if (const auto bad = find_detail<google::rpc::BadRequest>(details);
      bad && bad->field_violations_size() > 0) {
    const auto& violation = bad->field_violations(0);
    failure.what = printable((violation.field().empty() ? "" : violation.field() + ": ") +
                             violation.description());
    failure.todo = field_advice(violation.field());
  }
  return failure;
}

}  // namespace subak::cli
