#include "server/api/common/status.h"

#include <map>
#include <string>
#include <utility>

#include "core/error.h"
#include "google/rpc/error_details.pb.h"

namespace subak::api {
namespace {

constexpr int kRetrySeconds = 1;
constexpr char kDomain[] = "subak.gpu";

std::string_view reason_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "INVALID";
    case ErrorCode::kNotFound:
      return "NOT_FOUND";
    case ErrorCode::kExists:
      return "EXISTS";
    case ErrorCode::kConflict:
      return "CONFLICT";
    case ErrorCode::kPrecondition:
      return "PRECONDITION";
    case ErrorCode::kDenied:
      return "DENIED";
    case ErrorCode::kExhausted:
      return "EXHAUSTED";
  }
  return "INVALID";
}

void add_field_violation(const Error& error, google::rpc::Status& status) {
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field(error.field);
  Error without_field = error;
  without_field.field.clear();
  violation->set_description(without_field.message());
  status.add_details()->PackFrom(bad);
}

void add_precondition(const Error& error, const char* type, google::rpc::Status& status) {
  google::rpc::PreconditionFailure failure;
  auto* violation = failure.add_violations();
  violation->set_type(type);
  violation->set_subject(error.got.empty() ? error.field : error.got);
  violation->set_description(error.want);
  status.add_details()->PackFrom(failure);
}

void add_retry(google::rpc::Status& status) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(kRetrySeconds);
  status.add_details()->PackFrom(retry);
}

void add_info(const Error& error, google::rpc::Status& status) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(reason_of(error.code)));
  info.set_domain(kDomain);
  if (!error.field.empty()) (*info.mutable_metadata())["field"] = error.field;
  if (!error.got.empty()) (*info.mutable_metadata())["got"] = error.got;
  if (!error.want.empty()) (*info.mutable_metadata())["want"] = error.want;
  status.add_details()->PackFrom(info);
}

using Metadata = std::map<std::string, std::string>;

grpc::Status unavailable(std::string message, std::string reason, const Metadata& metadata,
                         bool retry) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::move(reason));
  info.set_domain(kDomain);
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  google::rpc::Status status;
  status.set_code(grpc::StatusCode::UNAVAILABLE);
  status.set_message(std::move(message));
  if (retry) add_retry(status);
  status.add_details()->PackFrom(info);
  return {grpc::StatusCode::UNAVAILABLE, status.message(), status.SerializeAsString()};
}

}  // namespace

grpc::StatusCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case ErrorCode::kConflict:
      return grpc::StatusCode::ABORTED;
    case ErrorCode::kPrecondition:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::kDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case ErrorCode::kExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
  }
  return grpc::StatusCode::INTERNAL;
}

// Shortens the whole status: clients accept trailers of 8 KiB, and the details repeat the message.
google::rpc::Status to_rpc(const Error& whole) {
  const Error error = cut_error(whole);
  google::rpc::Status status;
  status.set_code(code_of(error.code));
  status.set_message(error.message());
  if (error.code == ErrorCode::kInvalid) add_field_violation(error, status);
  if (error.code == ErrorCode::kConflict) add_precondition(error, "REVISION", status);
  if (error.code == ErrorCode::kPrecondition) add_precondition(error, "STATE", status);
  if (error.code == ErrorCode::kExhausted) add_retry(status);
  add_info(error, status);
  return status;
}

grpc::Status to_status(const Error& error) {
  const google::rpc::Status status = to_rpc(error);
  return {code_of(error.code), status.message(), status.SerializeAsString()};
}

Error busy(std::string_view what) {
  return {ErrorCode::kExhausted, "", "", std::string(what) + " is full; try again later"};
}

grpc::Status unauthenticated(std::string_view want) {
  return {grpc::StatusCode::UNAUTHENTICATED, std::string(want)};
}

grpc::Status shutting_down() {
  return {grpc::StatusCode::UNAVAILABLE, "the service is stopping; try again"};
}

grpc::Status not_leader(const Leadership& lead) {
  Metadata metadata{{"epoch", std::to_string(lead.epoch)}};
  if (!lead.address.empty()) metadata["leader"] = lead.address;
  const std::string who = lead.holder.empty()    ? "no replica leads just now"
                          : lead.address.empty() ? lead.holder + " leads"
                                                 : lead.holder + " at " + lead.address + " leads";
  return unavailable("this replica does not lead; " + who, "NOT_LEADER", metadata, false);
}

grpc::Status is_behind(std::uint64_t seen, std::uint64_t wanted) {
  return unavailable("this replica has facts up to " + std::to_string(seen) + ", and " +
                         std::to_string(wanted) + " was asked for; try again, or another one",
                     "BEHIND", {{"sequence", std::to_string(seen)}}, true);
}

grpc::Status database_away(DurationMs waits_ms) {
  return unavailable("the database has not answered for " + std::to_string(waits_ms / kSecondMs) +
                         " s; try again later",
                     "DATABASE_AWAY", {}, true);
}

}  // namespace subak::api
