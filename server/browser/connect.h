// The unary calls of the Connect protocol with JSON (https://connectrpc.com/docs/protocol), as
// plain functions. Threads: any.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "net/listener.h"
#include "server/browser/calls.h"

namespace subak::browser {

// True if the path begins like the path of a call. The method need not exist.
bool is_call(std::string_view path);
// Reads a request as a call of a method on the list of reads (reads.h). The caller fills in
// Asked::authorization, peer and caller. A refusal is an answer with a Connect error, which names
// the field, its value and what to send instead.
std::variant<Asked, HttpResponse> parse_call(const HttpRequest& request);

// Converts the request of a method from JSON to protobuf bytes. The error has the field `body` and
// the parser's message.
Result<std::string> message_of(const google::protobuf::MethodDescriptor& method,
                               std::string_view json);

// The HTTP status and the name of a gRPC code in the Connect protocol, such as 404 and "not_found".
struct ConnectCode {
  int http = 500;
  std::string_view name;
};
ConnectCode connect_code(grpc::StatusCode code);

// Returns the answer for an error: {"code", "message", "details"}. Each detail has a type, the
// protobuf bytes in base64, and the same detail as JSON (`debug`). `http`: the HTTP status; 0: that
// of the code.
HttpResponse connect_error(const grpc::Status& status, int http = 0);
// Returns the answer for an error of the request itself, with the code `code`.
HttpResponse connect_refusal(grpc::StatusCode code, const Error& error, int http = 0);
// Returns the answer to a call: the message, or the error. The header Subak-Sequence has the number
// of the last fact that the message includes. For a call with Subak-At, the header Subak-Time has
// the moment in ms since 1970. Subak-Leads, Subak-Epoch and Subak-Behind-Ms name the replica, if
// several processes share the store.
HttpResponse connect_answer(Answered answered);

// Returns the part of a request target before its query.
std::string_view path_of(std::string_view target);
// Returns the value of a parameter in the query of a target, decoded (%xx and +). Empty: the query
// has no such parameter, or the parameter has no value.
std::string parameter_of(std::string_view target, std::string_view name);
// Returns the text of a field of a form or a query, decoded.
std::string decoded(std::string_view text);

}  // namespace subak::browser
