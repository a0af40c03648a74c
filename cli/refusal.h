// Turns the gRPC status of a failed call into a Failure (cli/text/failure.h): a text for people and
// an exit code. Threads: any; a pure function.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "cli/text/failure.h"

namespace subak::cli {

// Reads the google.rpc details of a status that is not OK: the field, its value, the valid values.
// The exit code follows from the status code. If no service answered, the text names `server`.
Failure refusal(const grpc::Status& status, const std::string& server);

}  // namespace subak::cli
