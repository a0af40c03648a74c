// Turns a gRPC status into a failure for people. Threads: none.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "cli/text/failure.h"

namespace subak::cli {

// Reads the google.rpc details of a status that is not OK: the field, its value, the valid values.
// The exit code follows from the status code. `server` is named where no service answered.
Failure refusal(const grpc::Status& status, const std::string& server);

}  // namespace subak::cli
