#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include "core/limits.h"
#include "net/probe.h"
#include "server/api/api.h"
#include "server/api/calls/account_service.h"
#include "server/api/calls/admin_service.h"
#include "server/api/calls/cluster_service.h"
#include "server/api/calls/job_service.h"
#include "server/api/calls/shared.h"
#include "server/api/streams/acceptor.h"
#include "server/api/streams/health_probe.h"
#include "server/api/usage/usage_service.h"
#include "server/api/whatif/policy_service.h"

namespace subak {
namespace {

constexpr int kMaxStreamsPerConnection = 1024;
constexpr unsigned kCertificateLookS = 1;  // how often the files are read again

Error option_error(std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), std::move(got), std::move(want)};
}

std::optional<Error> check_readable(const char* field, const std::string& path) {
  if (std::ifstream(path, std::ios::binary)) return std::nullopt;
  return option_error(field, path, "want a PEM file that can be read");
}

Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const ApiOptions& options) {
  if (options.tls_cert.empty() || options.token_file.empty()) {
    return grpc::InsecureServerCredentials();
  }
  if (auto error = check_readable("tlsCert", options.tls_cert)) return *error;
  if (auto error = check_readable("tlsKey", options.tls_key)) return *error;
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions watched(std::make_shared<tls::FileWatcherCertificateProvider>(
      options.tls_key, options.tls_cert, kCertificateLookS));
  watched.watch_identity_key_cert_pairs();
  watched.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(watched);
}

// Reads "127.x.y.z:port" and "[::1]:port". A name is not trusted to mean loopback.
bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("[::1]:");
}

struct HostAndPort {
  std::string host;  // IPv6 without brackets
  std::uint16_t port = 0;
};
std::optional<HostAndPort> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  HostAndPort out{address.substr(0, colon), 0};
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  const char* const end = address.data() + address.size();
  const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, out.port);
  if (error != std::errc() || stop != end) return std::nullopt;
  return out;
}

std::optional<Error> check_options(const ApiOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return option_error("tlsKey", options.tls_key, "want tlsCert and tlsKey, or neither");
  }
  if (is_loopback(options.address)) return std::nullopt;
  if (options.tls_cert.empty()) {
    return option_error("listenGrpc", options.address,
                        "want tlsCert and tlsKey: beyond loopback gRPC is served over TLS only");
  }
  if (options.token_file.empty()) {
    return option_error(
        "listenGrpc", options.address,
        "want a token file: beyond loopback only callers with a token may make changes");
  }
  return std::nullopt;
}

}  // namespace

struct ApiServer::Impl {
  Impl(ApiOptions options, const ApiDeps& deps)
      : shared(std::move(options), deps),
        accounts(shared),
        jobs(shared),
        clusters(shared),
        usage(shared),
        admin(shared),
        policy(shared),
        acceptor(shared.options.connections) {}

  std::optional<Error> build(std::shared_ptr<grpc::ServerCredentials> credentials);
  std::optional<Error> add_socket(std::unique_ptr<api::HandOver> guests);

  api::Shared shared;
  api::AccountService accounts;
  api::JobService jobs;
  api::ClusterService clusters;
  api::UsageService usage;
  api::AdminService admin;
  api::PolicyService policy;
  api::Acceptor acceptor;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> within;
  HostAndPort bound;
};

ApiServer::ApiServer(ApiOptions options, ApiDeps deps)
    : impl_(std::make_unique<Impl>(std::move(options), deps)) {}

ApiServer::~ApiServer() { shutdown(0); }

std::optional<Error> ApiServer::start() {
  Impl& s = *impl_;
  const ApiOptions& options = s.shared.options;
  if (auto error = check_options(options)) return error;
  if (auto error = s.shared.auth.load()) return error;
  const auto credentials = credentials_of(options);
  if (!credentials) return credentials.error();
  if (auto error = s.shared.reads.start(s.shared.store)) return error;
  s.shared.past.start(s.shared.store);
  if (auto error = s.build(*credentials)) {
    s.server.reset();
    s.shared.reads.stop();
    s.shared.past.stop();
    return error;
  }
  set_serving(true);
  return std::nullopt;
}

std::optional<Error> ApiServer::Impl::build(std::shared_ptr<grpc::ServerCredentials> credentials) {
  const auto address = split(shared.options.address);
  if (!address) {
    return option_error("listenGrpc", shared.options.address, "want an IP address and a port");
  }
  bound = *address;
  const Result<int> listening = api::listen_tcp(bound.host, bound.port);
  if (!listening) return listening.error();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(limits::kGrpcIdleMs));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(limits::kHttpReadMs));
  // Replicas check with pings that the leader is alive (server/replica/leader_copy.h).
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(limits::kFollowPingMs / 2));
  builder.SetMaxReceiveMessageSize(limits::kMaxGrpcMessageBytes);
  builder.SetMaxSendMessageSize(limits::kMaxGrpcMessageBytes);
  const auto hand_over = [&builder](std::shared_ptr<grpc::ServerCredentials> how) {
    return builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, std::move(how));
  };
  acceptor.add({*listening, hand_over(std::move(credentials)), nullptr});
  if (!shared.options.socket.empty()) {
    if (auto error = add_socket(hand_over(grpc::InsecureServerCredentials()))) return error;
  }
  // Only the service's own probes come from the expected port, so these connections need no TLS.
  acceptor.set_own(hand_over(grpc::InsecureServerCredentials()));
  for (grpc::Service* service : std::initializer_list<grpc::Service*>{&accounts, &jobs, &clusters,
                                                                      &usage, &admin, &policy}) {
    builder.RegisterService(service);
  }
  server = builder.BuildAndStart();
  if (server == nullptr) {
    return option_error("listenGrpc", shared.options.address, "want a gRPC server that starts");
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(limits::kMaxGrpcMessageBytes);
  arguments.SetMaxSendMessageSize(limits::kMaxGrpcMessageBytes);
  within = server->InProcessChannel(arguments);
  return acceptor.start();
}

std::optional<Error> ApiServer::Impl::add_socket(std::unique_ptr<api::HandOver> guests) {
  const Result<int> listening = api::listen_unix(shared.options.socket);
  if (!listening) return listening.error();
  std::set<uid_t> users{0, ::geteuid()};
  users.insert(shared.options.socket_users.begin(), shared.options.socket_users.end());
  acceptor.add(
      {*listening, std::move(guests), [users](int fd) { return api::is_one_of(fd, users); }});
  return std::nullopt;
}

ProbeResult ApiServer::probe(DurationMs patience) {
  Impl& s = *impl_;
  return subak::probe(s.acceptor.limiter(), s.bound.host, s.bound.port, patience,
                      [patience](int fd) { return api::ask_health(fd, patience); });
}

ConnectionStats ApiServer::connections() const {
  Impl& s = *impl_;
  const LimiterCounters& counters = s.acceptor.limiter().counters();
  return {s.acceptor.open(), s.acceptor.limiter().limits().all, counters.accepted, counters.refused,
          counters.evicted};
}

int ApiServer::port() const { return impl_->bound.port; }

void ApiServer::set_serving(bool serving) {
  impl_->shared.serving = serving;
  if (impl_->server == nullptr) return;
  if (auto* health = impl_->server->GetHealthCheckService()) health->SetServingStatus(serving);
}

std::optional<Error> ApiServer::reload_tokens() {
  if (auto error = impl_->shared.auth.load()) return error;
  impl_->shared.streams.check_rights();
  return std::nullopt;
}

std::shared_ptr<grpc::Channel> ApiServer::in_process() const { return impl_->within; }

api::Sessions& ApiServer::sessions() const { return impl_->shared.access.sessions; }

std::string ApiServer::token_warning() const { return impl_->shared.auth.warning(); }

void ApiServer::shutdown(DurationMs deadline) {
  Impl& s = *impl_;
  if (s.server == nullptr) return;
  set_serving(false);
  s.acceptor.stop();
  if (!s.shared.options.socket.empty()) ::unlink(s.shared.options.socket.c_str());
  s.shared.streams.close_all();
  s.shared.past.stop();  // a long fold ends here, and not at the deadline
  // clock: gRPC's deadlines use its own clock.
  s.server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline));
  s.server->Wait();
  s.server.reset();
  s.shared.reads.stop();
  s.shared.desks.backups.stop();
  s.shared.desks.what_ifs.stop();
}

std::map<std::string, std::size_t> ApiServer::observers() const {
  return impl_->clusters.observers();
}

std::uint64_t ApiServer::stale_events() const { return impl_->clusters.stale_events(); }

void ApiServer::on_durable(const Released& batch) {
  if (batch.commit_us > 0) impl_->shared.last.commit_us = batch.commit_us;
  impl_->shared.watch.on_durable(batch);
  impl_->shared.statics.on_durable(batch);
}

void ApiServer::on_pass(std::int64_t us) { impl_->shared.last.pass_us = us; }

}  // namespace subak
