#include "server/replica/leader_copy.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/limits.h"
#include "server/api/convert/admission_snapshot.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak {
namespace {

Result<std::string> read_file(const char* key, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in && (text << in.rdbuf())) return text.str();
  return Error{ErrorCode::kInvalid, key, path, "want a file that can be read"};
}

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments out;
  out.SetMaxReceiveMessageSize(limits::kMaxGrpcMessageBytes);
  out.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  out.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(limits::kFollowPingMs));
  out.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(limits::kFollowPongMs));
  out.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // without limit
  // Otherwise a new channel continues the back-off of the previous one.
  out.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return out;
}

Result<std::shared_ptr<grpc::Channel>> connect(const LeaderOptions& options) {
  if (options.plain) {
    return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(),
                                     arguments());
  }
  grpc::SslCredentialsOptions tls;
  if (!options.ca_file.empty()) {
    Result<std::string> roots = read_file("followCa", options.ca_file);
    if (!roots) return roots.error();
    tls.pem_root_certs = std::move(roots).value();
  }
  return grpc::CreateCustomChannel(options.address, grpc::SslCredentials(tls), arguments());
}

std::optional<Error> show_token(const LeaderOptions& options, grpc::ClientContext& context) {
  if (options.token_file.empty()) return std::nullopt;
  const Result<std::string> text = read_file("followToken", options.token_file);
  if (!text) return text.error();
  std::istringstream words(*text);
  std::string token;
  words >> token;
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty() || !plain || token.size() > limits::kMaxTokenBytes) {
    return Error{ErrorCode::kInvalid, "followToken", options.token_file,
                 "want a file with a token"};
  }
  context.AddMetadata("authorization", "Bearer " + token);
  return std::nullopt;
}

}  // namespace

LeaderCopy::LeaderCopy(LeaderOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      basis_{nullptr, std::make_shared<const AdmissionConfig>(options_.until_first_copy)},
      heard_ms_(now_ms()) {}

LeaderCopy::~LeaderCopy() { stop(); }

void LeaderCopy::start() {
  thread_ = std::thread([this] { run(); });
}

void LeaderCopy::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

AdmissionBasis LeaderCopy::basis() const {
  const MutexLock lock(mutex_);
  return basis_;
}

LeaderStats LeaderCopy::stats() const {
  const MutexLock lock(mutex_);
  return {basis_.view != nullptr, there_ ? 0 : now_ms() - heard_ms_, copies_, refused_};
}

void LeaderCopy::run() {
  name_thread("leader-copy");
  DurationMs pause_ms = limits::kFollowRetryMs;
  for (;;) {
    if (follow()) pause_ms = limits::kFollowRetryMs;
    MutexLock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::milliseconds(pause_ms),
                       [this]() SUBAK_REQUIRES(mutex_) { return stopping_; })) {
      return;
    }
    pause_ms = std::min(2 * pause_ms, limits::kMaxFollowRetryMs);
  }
}

bool LeaderCopy::follow() {
  grpc::ClientContext context;
  const Result<std::shared_ptr<grpc::Channel>> channel = connect(options_);
  std::optional<Error> error = show_token(options_, context);
  if (!channel) error = channel.error();
  if (error) {
    lost(error->message());
    return false;
  }
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    context_ = &context;
  }
  const bool took = read_stream(context, *channel);
  const MutexLock lock(mutex_);
  context_ = nullptr;
  if (std::exchange(there_, false)) heard_ms_ = now_ms();
  return took;
}

bool LeaderCopy::read_stream(grpc::ClientContext& context,
                             const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::ClusterService::NewStub(channel);
  const auto reader = stub->Static(&context, v1::StaticRequest());
  api::AdmissionSnapshotAssembler assembler;
  v1::StaticResponse part;
  bool took = false, refused = false;
  while (!refused && reader->Read(&part)) {
    Result<std::optional<AdmissionBasis>> copy = assembler.take(part);
    refused = !copy.ok();
    if (refused) {
      refuse(copy.error());
      context.TryCancel();
    } else if (copy->has_value()) {
      take(*std::move(copy).value());
      took = true;
    }
  }
  const grpc::Status status = reader->Finish();
  if (!refused) lost(status.ok() ? "the stream has ended" : status.error_message());
  return took && !refused;
}

void LeaderCopy::take(AdmissionBasis basis) {
  if (!told_.empty() || copies_ == 0) {
    log::info("leader followed", {{"leader", options_.address}, {"seq", basis.view->seq}});
    told_.clear();
  }
  const MutexLock lock(mutex_);
  basis_ = std::move(basis);
  there_ = true;
  ++copies_;
}

void LeaderCopy::refuse(const Error& error) {
  told_ = error.message();
  log::error("the leader's copy is refused, the last one stays",
             {{"leader", options_.address}, {"error", told_}});
  const MutexLock lock(mutex_);
  ++refused_;
}

// Logs each reason once; otherwise the log would fill while a leader is away.
void LeaderCopy::lost(const std::string& why) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
  }
  if (std::exchange(told_, why) == why) return;
  log::warn(copies_ == 0 ? "leader not followed, there is no copy yet: GPU pods are gated"
                         : "leader not followed, reviews are answered from the last copy",
            {{"leader", options_.address}, {"error", why}});
}

}  // namespace subak
