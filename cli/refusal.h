// Turns a gRPC status into a Failure with a text for people. Threads: any; a pure function.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "cli/text/failure.h"

namespace subak::cli {

// Reads the google.rpc details of a status that is not OK: the field, its value, the valid values.
// The exit code follows from the status code. If no service answered, the text names `server`.
Failure refusal(const grpc::Status& status, const std::string& server);

}  // namespace subak::cli
