#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <utility>

#include "core/limits.h"
#include "server/api/account_service.h"
#include "server/api/admin_service.h"
#include "server/api/api.h"
#include "server/api/cluster_service.h"
#include "server/api/job_service.h"
#include "server/api/shared.h"
#include "server/api/usage_service.h"

namespace subak {
namespace {

constexpr int kMaxStreamsPerConnection = 1024;
constexpr unsigned kCertificateLookS = 1;  // how often its files are read again

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

// "127.x.y.z:port", "[::1]:port". Names are not trusted to mean loopback.
bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("[::1]:");
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
    return option_error("listenGrpc", options.address,
                        "want a token file: beyond loopback nobody changes anything anonymously");
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
        admin(shared) {}

  api::Shared shared;
  api::AccountService accounts;
  api::JobService jobs;
  api::ClusterService clusters;
  api::UsageService usage;
  api::AdminService admin;
  api::PolicyService policy;
  api::LeaseService leases;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
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
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Without this a second process would share the port in silence.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.SetMaxReceiveMessageSize(limits::kMaxGrpcMessageBytes);
  builder.SetMaxSendMessageSize(limits::kMaxGrpcMessageBytes);
  builder.AddListeningPort(options.address, *credentials, &s.port);
  for (grpc::Service* service : std::initializer_list<grpc::Service*>{
           &s.accounts, &s.jobs, &s.clusters, &s.usage, &s.admin, &s.policy, &s.leases}) {
    builder.RegisterService(service);
  }
  s.server = builder.BuildAndStart();
  if (s.server == nullptr || s.port == 0) {
    s.server.reset();
    s.shared.reads.stop();
    return option_error("listenGrpc", options.address, "want an address and port that are free");
  }
  set_serving(true);
  return std::nullopt;
}

int ApiServer::port() const { return impl_->port; }

void ApiServer::set_serving(bool serving) {
  impl_->shared.serving = serving;
  if (impl_->server == nullptr) return;
  if (auto* health = impl_->server->GetHealthCheckService()) health->SetServingStatus(serving);
}

std::optional<Error> ApiServer::reload_tokens() { return impl_->shared.auth.load(); }

void ApiServer::shutdown(DurationMs deadline) {
  Impl& s = *impl_;
  if (s.server == nullptr) return;
  set_serving(false);
  s.shared.streams.close_all();
  // clock: gRPC's deadlines are given in its own.
  s.server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline));
  s.server->Wait();
  s.server.reset();
  s.shared.reads.stop();
  s.shared.backups.stop();
}

std::map<std::string, std::size_t> ApiServer::observers() const {
  return impl_->clusters.observers();
}

void ApiServer::on_durable(const Released& batch) {
  if (batch.commit_us > 0) impl_->shared.last_commit_us = batch.commit_us;
  impl_->shared.watch.on_durable(batch);
  impl_->shared.statics.on_durable(batch);
}

void ApiServer::on_pass(std::int64_t us) { impl_->shared.last_pass_us = us; }

}  // namespace subak
