#include "server/browser/connect.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <openssl/evp.h>

#include <boost/json.hpp>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "core/printable.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/api/common/browser_limits.h"
#include "server/api/common/status.h"
#include "server/browser/reads.h"

namespace subak::browser {
namespace {

namespace json = boost::json;
using google::protobuf::Message;
using grpc::StatusCode;

constexpr std::string_view kPrefix = "/subak.v1.";
constexpr std::string_view kJson = "application/json";

// Returns base64 without padding, as the protocol has it.
std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  while (out.ends_with('=')) out.pop_back();
  return out;
}

// Returns the detail's message as JSON; null: its type is not known here.
json::value debug_of(const google::protobuf::Any& detail) {
  const std::string& url = detail.type_url();
  const auto* const type =
      google::rpc::ErrorInfo::descriptor()->file()->pool()->FindMessageTypeByName(
          url.substr(url.rfind('/') + 1));
  if (type == nullptr) return nullptr;
  const std::unique_ptr<Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  std::string text;
  if (!message->ParseFromString(detail.value()) ||
      !google::protobuf::util::MessageToJsonString(*message, &text).ok()) {
    return nullptr;
  }
  boost::system::error_code ec;
  json::value value = json::parse(text, ec);
  return ec ? json::value(nullptr) : value;
}

json::array details_of(const std::string& bytes) {
  json::array out;
  google::rpc::Status status;
  if (!status.ParseFromString(bytes)) return out;
  for (const google::protobuf::Any& detail : status.details()) {
    const std::string& url = detail.type_url();
    json::object one{{"type", url.substr(url.rfind('/') + 1)}, {"value", base64(detail.value())}};
    if (json::value debug = debug_of(detail); !debug.is_null()) one["debug"] = std::move(debug);
    out.push_back(std::move(one));
  }
  return out;
}

std::string shown(std::string_view text) { return printable(cut_text(text)); }

// True for application/json, with any parameters but another charset.
bool is_json(std::string_view type) {
  const std::string_view name = type.substr(0, type.find(';'));
  if (name.substr(0, name.find_last_not_of(' ') + 1) != kJson) return false;
  if (name.size() == type.size()) return true;
  std::string rest;
  for (const char c : type.substr(name.size() + 1)) {
    if (c != ' ' && c != '"') rest += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return !rest.starts_with("charset=") || rest == "charset=utf-8";
}

// Checks everything but the message. nullopt: all is well.
std::optional<HttpResponse> refuse_headers(const HttpRequest& request) {
  if (request.method != "POST") {
    HttpResponse out = connect_refusal(
        StatusCode::UNIMPLEMENTED,
        {ErrorCode::kInvalid, "method", shown(request.method), "want POST: calls are not cached"},
        405);
    out.headers += "\r\nAllow: POST";
    return out;
  }
  if (const std::string_view type = request.header("Content-Type"); !is_json(type)) {
    HttpResponse out = connect_refusal(
        StatusCode::INVALID_ARGUMENT,
        {ErrorCode::kInvalid, "Content-Type", shown(type), "want application/json"}, 415);
    out.headers += "\r\nAccept-Post: application/json";
    return out;
  }
  const std::string_view coding = request.header("Content-Encoding");
  if (!coding.empty() && coding != "identity") {
    return connect_refusal(
        StatusCode::UNIMPLEMENTED,
        {ErrorCode::kInvalid, "Content-Encoding", shown(coding), "want a body that is not packed"});
  }
  const std::string_view version = request.header("Connect-Protocol-Version");
  if (!version.empty() && version != "1") {
    return connect_refusal(
        StatusCode::INVALID_ARGUMENT,
        {ErrorCode::kInvalid, "Connect-Protocol-Version", shown(version), "want 1"});
  }
  if (request.too_large || request.body.size() > limits::kMaxBrowserBodyBytes) {
    return connect_refusal(
        StatusCode::RESOURCE_EXHAUSTED,
        {ErrorCode::kExhausted, "body", "",
         "want at most " + std::to_string(limits::kMaxBrowserBodyBytes) + " bytes"});
  }
  return std::nullopt;
}

// Returns the time that the caller gives the call; nullopt: the header is no number of ms.
std::optional<DurationMs> timeout_of(std::string_view text) {
  if (text.empty()) return limits::kBrowserCallMs;
  DurationMs ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || end != text.data() + text.size() || ms <= 0) return std::nullopt;
  return std::min(ms, limits::kBrowserCallMs);
}

}  // namespace

bool is_call(std::string_view path) { return path.starts_with(kPrefix); }

ConnectCode connect_code(StatusCode code) {
  switch (code) {
    case StatusCode::CANCELLED:
      return {499, "canceled"};
    case StatusCode::INVALID_ARGUMENT:
      return {400, "invalid_argument"};
    case StatusCode::DEADLINE_EXCEEDED:
      return {504, "deadline_exceeded"};
    case StatusCode::NOT_FOUND:
      return {404, "not_found"};
    case StatusCode::ALREADY_EXISTS:
      return {409, "already_exists"};
    case StatusCode::PERMISSION_DENIED:
      return {403, "permission_denied"};
    case StatusCode::RESOURCE_EXHAUSTED:
      return {429, "resource_exhausted"};
    case StatusCode::FAILED_PRECONDITION:
      return {400, "failed_precondition"};
    case StatusCode::ABORTED:
      return {409, "aborted"};
    case StatusCode::OUT_OF_RANGE:
      return {400, "out_of_range"};
    case StatusCode::UNIMPLEMENTED:
      return {501, "unimplemented"};
    case StatusCode::INTERNAL:
      return {500, "internal"};
    case StatusCode::UNAVAILABLE:
      return {503, "unavailable"};
    case StatusCode::DATA_LOSS:
      return {500, "data_loss"};
    case StatusCode::UNAUTHENTICATED:
      return {401, "unauthenticated"};
    default:
      return {500, "unknown"};
  }
}

HttpResponse connect_error(const grpc::Status& status, int http) {
  const ConnectCode code = connect_code(status.error_code());
  json::object body{{"code", code.name}, {"message", status.error_message()}};
  if (json::array details = details_of(status.error_details()); !details.empty()) {
    body["details"] = std::move(details);
  }
  return {http != 0 ? http : code.http, std::string(kJson), json::serialize(body),
          "\r\nCache-Control: no-store"};
}

HttpResponse connect_refusal(StatusCode code, const Error& error, int http) {
  google::rpc::Status status = api::to_rpc(error);
  status.set_code(code);
  return connect_error({code, status.message(), status.SerializeAsString()}, http);
}

HttpResponse connect_answer(Answered answered) {
  HttpResponse out = answered.status.ok()
                         ? HttpResponse{200, std::string(kJson), std::move(answered.json),
                                        "\r\nCache-Control: no-store"}
                         : connect_error(answered.status);
  const std::pair<const char*, const std::string&> trailers[] = {
      {"Subak-Sequence: ", answered.sequence},
      {"Subak-Time: ", answered.time},
      {"Subak-Leads: ", answered.leads},
      {"Subak-Epoch: ", answered.epoch},
      {"Subak-Behind-Ms: ", answered.behind_ms}};
  for (const auto& [name, value] : trailers) {
    if (value.empty()) continue;
    // The second header is the Connect form of a trailer.
    out.headers.append("\r\n").append(name).append(value);
    out.headers.append("\r\nTrailer-").append(name).append(value);
  }
  return out;
}

Result<std::string> message_of(const google::protobuf::MethodDescriptor& method,
                               std::string_view text) {
  const google::protobuf::Descriptor& type = *method.input_type();
  const std::unique_ptr<Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  const auto read =
      google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, message.get());
  std::string bytes;
  if (read.ok() && message->SerializeToString(&bytes)) return bytes;
  return Error{ErrorCode::kInvalid, "body", shown(text),
               "want the JSON of a " + type.full_name() + ": " +
                   shown({read.message().data(), read.message().size()})};
}

std::variant<Asked, HttpResponse> parse_call(const HttpRequest& request) {
  const std::string_view path = path_of(request.target);
  Asked out;
  out.method = find_read(path);
  if (out.method == nullptr) {
    return connect_refusal(StatusCode::UNIMPLEMENTED,
                           {ErrorCode::kNotFound, "method", shown(path),
                            "want a read of the API, such as /subak.v1.JobService/ListQueue; "
                            "changes are made with subak or gRPC"});
  }
  if (auto refused = refuse_headers(request)) return *std::move(refused);
  const std::string_view timeout = request.header("Connect-Timeout-Ms");
  const auto timeout_ms = timeout_of(timeout);
  if (!timeout_ms) {
    return connect_refusal(StatusCode::INVALID_ARGUMENT,
                           {ErrorCode::kInvalid, "Connect-Timeout-Ms", shown(timeout),
                            "want a number of milliseconds above 0"});
  }
  out.timeout_ms = *timeout_ms;
  out.min_sequence = shown(request.header("Subak-Min-Sequence"));
  out.at = shown(request.header("Subak-At"));
  auto message = message_of(*out.method, {request.body.data(), request.body.size()});
  if (!message) return connect_refusal(StatusCode::INVALID_ARGUMENT, message.error());
  out.message = *std::move(message);
  return out;
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string parameter_of(std::string_view target, std::string_view name) {
  const std::size_t begin = target.find('?');
  if (begin == std::string_view::npos) return {};
  std::string_view rest = target.substr(begin + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) == name) {
      return equals == std::string_view::npos ? std::string() : decoded(pair.substr(equals + 1));
    }
  }
  return {};
}

}  // namespace subak::browser
