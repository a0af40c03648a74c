#include "server/service/sockets.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/limits.h"

namespace subak {
namespace {

constexpr std::size_t kListeners = 3;

}  // namespace

std::size_t raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t was = limit.rlim_cur;
  if (was >= limits::kWantedFiles) return was;
  limit.rlim_cur = std::min<rlim_t>(limits::kWantedFiles, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : was;
}

Result<ConnectionLimits> share_files(std::size_t files) {
  constexpr std::size_t kOwn = limits::kOwnFiles + kListeners * (limits::kReservedConnections +
                                                                 limits::kMaxLeavingConnections);
  constexpr std::size_t kWanted = 2 * limits::kMaxHttpConnections + limits::kMaxGrpcConnections;
  const std::size_t room = std::min(files > kOwn ? files - kOwn : 0, kWanted);
  const auto part = [room](std::size_t wanted) { return wanted * room / kWanted; };
  const auto limiter = [&part](std::size_t all, std::size_t per_peer) {
    return ListenerLimits{part(all),
                          std::min(part(all), std::max(part(per_peer), limits::kMinConnections))};
  };
  const ListenerLimits http =
      limiter(limits::kMaxHttpConnections, limits::kMaxHttpConnectionsPerPeer);
  const ListenerLimits grpc =
      limiter(limits::kMaxGrpcConnections, limits::kMaxGrpcConnectionsPerPeer);
  if (std::min(http.all, grpc.all) < limits::kMinConnections) {
    return Error{ErrorCode::kPrecondition, "open files", std::to_string(files),
                 "want a limit of at least " +
                     std::to_string(kOwn + kListeners * limits::kMinConnections) +
                     " (LimitNOFILE, ulimit -n)"};
  }
  return ConnectionLimits{http, grpc, http};
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace subak
