#include "cli/servers.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <utility>

#include "cli/text/failure.h"
#include "core/limits.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace subak::cli {
namespace {

// True for a host and a port. False for any other form that gRPC would accept, such as "unix:".
bool is_host_and_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size()) return false;
  const std::string_view host = address.substr(0, colon), port = address.substr(colon + 1);
  const bool is_v6 = host.starts_with('[') && host.ends_with(']');
  const auto is_of_host = [is_v6](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' ||
           (is_v6 && (c == ':' || c == '[' || c == ']'));
  };
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return std::all_of(host.begin(), host.end(), is_of_host) &&
         std::all_of(port.begin(), port.end(), is_digit);
}

google::rpc::ErrorInfo info_in(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return info;
  if (!details.ParseFromString(status.error_details())) return info;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) break;
  }
  return info;
}

}  // namespace

std::vector<std::string> split_servers(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string one = list.substr(begin, end - begin);
    if (one.empty()) {
      throw usage_failure("--server: was \"" + list + "\", and one of its addresses is empty",
                          "want HOST:PORT, or several with commas between");
    }
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(std::move(one));
    begin = end + 1;
  }
  if (out.size() > limits::kMaxServers) {
    throw usage_failure("--server: names " + std::to_string(out.size()) + " servers",
                        "want at most " + std::to_string(limits::kMaxServers));
  }
  return out;
}

std::string reason_in(const grpc::Status& status) { return info_in(status).reason(); }

std::optional<std::string> leader_named_in(const grpc::Status& status) {
  const google::rpc::ErrorInfo info = info_in(status);
  if (info.reason() != "NOT_LEADER") return std::nullopt;
  const auto it = info.metadata().find("leader");
  return it == info.metadata().end() ? std::string() : it->second;
}

Servers::Servers(std::vector<std::string> given, bool verified)
    : given_(std::move(given)), verified_(verified), at_(given_.front()) {}

bool Servers::may_follow(const std::string& address) const {
  const bool is_given = std::find(given_.begin(), given_.end(), address) != given_.end();
  return is_given || (verified_ && is_host_and_port(address));
}

grpc::Status Servers::ask(const Ask& one, const std::function<void()>& pause) {
  grpc::Status last;
  for (int round = 0; round < limits::kServerRounds; ++round) {
    if (round > 0) pause();
    bool does_one_live = false, may_one_lead = false;
    std::deque<std::string> next(given_.begin(), given_.end());
    next.push_front(at_);
    std::vector<std::string> asked;
    while (!next.empty()) {
      const std::string server = next.front();
      next.pop_front();
      if (std::find(asked.begin(), asked.end(), server) != asked.end()) continue;
      asked.push_back(server);
      const Answer answer = one(server);
      const auto leader = leader_named_in(answer.status);
      if (leader || !answer.elsewhere) at_ = server;
      if (!leader && !answer.elsewhere) return answer.status;
      if (leader && may_follow(*leader)) next.push_front(*leader);
      if (leader || !does_one_live) last = answer.status;
      does_one_live = does_one_live || leader;
      may_one_lead = may_one_lead || (leader && (leader->empty() || may_follow(*leader)));
    }
    if (!may_one_lead) break;
  }
  return last;
}

}  // namespace subak::cli
