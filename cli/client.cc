#include "cli/client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "cli/refusal.h"
#include "cli/servers.h"
#include "cli/text/failure.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

constexpr std::chrono::milliseconds kDeadline{60'000};
constexpr std::chrono::minutes kPastDeadline{30};  // for the facts up to an earlier moment
constexpr std::chrono::hours kLongDeadline{6};     // for reading a whole ledger
constexpr int kMaxAnswerBytes = 256 << 20;

std::string read_file(const std::string& path, const char* flag) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    throw usage_failure(std::string(flag) + ": cannot read \"" + path + "\"",
                        "name a file that you may read");
  }
  return text.str();
}

std::string first_word(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  in >> word;
  return word;
}

grpc::ByteBuffer to_bytes(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  const grpc::Status status =
      grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes,
                                                                                 &own);
  assert(status.ok());
  return bytes;
}

void from_bytes(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(&bytes,
                                                                                    &message)
           .ok()) {
    throw Failure{kExitRefused, "the server's answer cannot be read",
                  "use a subak of the server's version"};
  }
}

// True if another server may succeed: the connection broke, no server answered, or this one has not
// seen the facts of another yet.
bool is_lost(const grpc::Status& status) {
  const std::string reason = reason_in(status);
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         (reason.empty() || reason == "BEHIND");
}

std::string joined(const std::vector<std::string>& servers) {
  std::string out;
  for (const std::string& server : servers) out += (out.empty() ? "" : ",") + server;
  return out;
}

std::string full_path(std::string_view method) { return "/subak.v1." + std::string(method); }

// A wrong type here is a bug of subak, not the user's mistake.
void check_types(std::string_view method, const google::protobuf::Message& request,
                 const google::protobuf::Message& answer) {
  std::string name = "subak.v1." + std::string(method);
  name.replace(name.find('/'), 1, ".");
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  assert(found != nullptr);
  assert(found->input_type() == request.GetDescriptor());
  assert(found->output_type() == answer.GetDescriptor());
  static_cast<void>(found);
  static_cast<void>(request);
  static_cast<void>(answer);
}

}  // namespace

// A name such as "127.example.com" is not an address: no token may go there unencrypted.
bool is_loopback(std::string_view server) {
  if (server.starts_with("unix:")) return true;
  const std::size_t colon = server.rfind(':');
  const std::string_view host = server.substr(0, colon);
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool may_repeat(std::string_view method, const google::protobuf::Message& request) {
  const std::string_view name = method.substr(method.find('/') + 1);
  for (const char* verb : {"Get", "List", "Explain", "Watch", "Report", "Verify", "Backup"}) {
    if (name.starts_with(verb)) return true;
  }
  const auto* id = request.GetDescriptor()->FindFieldByName("request_id");
  return id != nullptr && !request.GetReflection()->GetString(request, id).empty();
}

struct Client::Impl {
  struct Line {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<grpc::GenericStub> stub;
  };
  Servers servers;
  std::string token, roots;
  std::chrono::milliseconds deadline = kDeadline;
  std::map<std::string, Line> lines{};
  std::string
      sequence{};  // the last answer rests on it; a later read of another server must include it
  std::string moment{};       // the calls are about it; empty: the present
  std::int64_t shown_ms = 0;  // the moment of the last answer

  bool is_plain(const std::string& server) const { return is_loopback(server) && roots.empty(); }
  Line& line(const std::string& server);
  bool connects(Line& line) const;
  void prepare(grpc::ClientContext& context, std::chrono::system_clock::duration patience) const {
    context.set_deadline(std::chrono::system_clock::now() + patience);
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    if (!moment.empty()) {
      context.AddMetadata("subak-at", moment);
    } else if (!sequence.empty() && servers.given().size() > 1) {
      context.AddMetadata("subak-min-sequence", sequence);
    }
  }
  void saw(const grpc::ClientContext& context) {
    const auto& trailer = context.GetServerTrailingMetadata();
    const auto it = trailer.find("subak-sequence");
    if (it != trailer.end()) sequence.assign(it->second.data(), it->second.size());
    const auto time = trailer.find("subak-time");
    if (time == trailer.end()) return;
    std::from_chars(time->second.data(), time->second.data() + time->second.size(), shown_ms);
  }
  // Runs `one` with a connected channel of one of the servers.
  void ask(const std::function<Servers::Answer(Line&)>& one);
  // Waits for one step of the call.
  static bool step(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  }
};

Client::Impl::Line& Client::Impl::line(const std::string& server) {
  const auto [it, is_new] = lines.try_emplace(server);
  if (!is_new) return it->second;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (is_plain(server)) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    credentials = grpc::InsecureChannelCredentials();
  } else {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = roots;
    credentials = grpc::SslCredentials(tls);
  }
  it->second.channel = grpc::CreateCustomChannel(server, credentials, arguments);
  it->second.stub = std::make_unique<grpc::GenericStub>(it->second.channel);
  return it->second;
}

// Connects before anything is sent, so that a failure has certainly done nothing.
bool Client::Impl::connects(Line& line) const {
  const auto patience = std::min<std::chrono::milliseconds>(
      deadline, std::chrono::milliseconds(limits::kServerConnectMs));
  const auto until = std::chrono::system_clock::now() + patience;
  while (true) {
    const grpc_connectivity_state state = line.channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!line.channel->WaitForStateChange(state, until)) return false;
  }
}

void Client::Impl::ask(const std::function<Servers::Answer(Line&)>& one) {
  const bool is_alone = servers.given().size() == 1;
  const grpc::Status status = servers.ask(
      [&](const std::string& server) -> Servers::Answer {
        Line& to = line(server);
        // A single server is called directly: then gRPC reports what is wrong with it.
        if (is_alone && server == servers.given().front()) return {one(to).status, false};
        if (!connects(to)) {
          return {{grpc::StatusCode::UNAVAILABLE, "no connection"}, true};
        }
        return one(to);
      },
      [] { std::this_thread::sleep_for(std::chrono::milliseconds(limits::kServerRoundMs)); });
  if (status.ok()) return;
  throw refusal(status, is_lost(status) && !is_alone ? joined(servers.given()) : servers.asked());
}

Client::Client(const ServerOptions& options) {
  std::vector<std::string> given = split_servers(options.server);
  const bool verified = std::none_of(given.begin(), given.end(), [&](const std::string& server) {
    return is_loopback(server) && options.tls_ca.empty();
  });
  impl_ = std::make_unique<Impl>(Impl{Servers(std::move(given), verified), "", ""});
  if (!options.token_file.empty()) {
    impl_->token = first_word(read_file(options.token_file, "--token-file"));
  }
  if (!options.tls_ca.empty()) impl_->roots = read_file(options.tls_ca, "--tls-ca");
}

Client::~Client() = default;

void Client::be_patient_for(std::int64_t ms) { impl_->deadline = std::chrono::milliseconds(ms); }

void Client::go_to(const std::string& moment) {
  impl_->moment = moment;
  impl_->deadline = kPastDeadline;
}

Client::Shown Client::shown() const { return {impl_->shown_ms, impl_->sequence}; }

void Client::call(std::string_view method, const Message& request, Message& answer) {
  check_types(method, request, answer);
  const bool is_long = method == "UsageService/VerifyUsage";
  const bool repeats = may_repeat(method, request);
  impl_->ask([&](Impl::Line& line) -> Servers::Answer {
    grpc::ClientContext context;
    impl_->prepare(context, is_long ? kLongDeadline : impl_->deadline);
    grpc::CompletionQueue queue;
    const auto call =
        line.stub->PrepareUnaryCall(&context, full_path(method), to_bytes(request), &queue);
    call->StartCall();
    grpc::ByteBuffer bytes;
    grpc::Status status;
    call->Finish(&bytes, &status, nullptr);
    Impl::step(queue);
    if (status.ok()) {
      from_bytes(bytes, answer);
      impl_->saw(context);
    }
    return {status, is_lost(status) && repeats};
  });
}

void Client::stream(std::string_view method, const Message& request, Message& answer,
                    const std::function<bool()>& each) {
  check_types(method, request, answer);
  const bool repeats = may_repeat(method, request);
  impl_->ask([&](Impl::Line& line) -> Servers::Answer {
    grpc::ClientContext context;
    impl_->prepare(context, std::chrono::hours(24 * 365));
    grpc::CompletionQueue queue;
    const auto call = line.stub->PrepareCall(&context, full_path(method), &queue);
    call->StartCall(nullptr);
    bool open = Impl::step(queue);
    if (open) {
      call->WriteLast(to_bytes(request), grpc::WriteOptions(), nullptr);
      open = Impl::step(queue);
    }
    bool wanted = true, has_begun = false;
    while (open && wanted) {
      grpc::ByteBuffer bytes;
      call->Read(&bytes, nullptr);
      open = Impl::step(queue);
      if (!open) break;
      has_begun = true;
      from_bytes(bytes, answer);
      wanted = each();
    }
    if (!wanted) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    Impl::step(queue);
    if (!wanted) status = grpc::Status::OK;
    return {status, is_lost(status) && repeats && !has_begun};
  });
}

}  // namespace subak::cli
