#include "server/activity/prometheus_client.h"

#include <fstream>
#include <utility>

#include "core/edge_limits.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/printable.h"
#include "server/curl/post.h"

namespace subak {
namespace {

// A token has one line. A token with other characters would change the request.
Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token) || token.empty() || token.size() > limits::kMaxMessageBytes ||
      !is_printable(token)) {
    return Error{ErrorCode::kPrecondition, "prometheusToken", path,
                 "want a readable file with a token in its first line"};
  }
  return token;
}

}  // namespace

Result<std::string> PrometheusClient::ask(const std::string& query) {
  const bool slash = access_.url.ends_with('/');
  curl::Post post(access_.url + (slash ? "" : "/") + "api/v1/query", access_.ca_file,
                  {limits::kMaxActivityBytes, limits::kKubeConnectMs, limits::kActivityCallMs},
                  stopping_);
  if (!access_.token_file.empty()) {
    const Result<std::string> token = read_token(access_.token_file);
    if (!token) return token.error();
    post.add_header("Authorization: Bearer " + *token);
  }
  post.set(CURLOPT_ACCEPT_ENCODING, "gzip");
  const auto why = post.send("query=" + post.escaped(query));
  const auto refuse = [&](const std::string& got) {
    return Error{ErrorCode::kPrecondition, "prometheus",
                 access_.url + ": " + cut_text(printable(got)),
                 "want a Prometheus server that answers"};
  };
  if (why) return refuse(*why);
  const int status = post.status();
  // With 400, 422 and 503, the body says what is wrong (read_samples()).
  const bool answered = status == 200 || status == 400 || status == 422 || status == 503;
  if (!answered || post.body().empty()) return refuse("HTTP status " + std::to_string(status));
  return std::move(post.body());
}

}  // namespace subak
