#include "cli/client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <cassert>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/failure.h"
#include "cli/refusal.h"

namespace subak::cli {
namespace {

constexpr std::chrono::milliseconds kDeadline{60'000};
constexpr std::chrono::hours kLongDeadline{6};  // reading a whole ledger
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

std::string full_path(std::string_view method) { return "/subak.v1." + std::string(method); }

// A wrong type here is a mistake of ours, not of the user.
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

// A name such as "127.example.com" is no address: a token must not go there in plain text.
bool is_loopback(std::string_view server) {
  if (server.starts_with("unix:")) return true;
  const std::size_t colon = server.rfind(':');
  const std::string_view host = server.substr(0, colon);
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct Client::Impl {
  std::string server;
  std::string token;
  std::chrono::milliseconds deadline = kDeadline;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;

  void prepare(grpc::ClientContext& context, std::chrono::system_clock::duration patience) const {
    context.set_deadline(std::chrono::system_clock::now() + patience);
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  }
  // Waits for one step of the call.
  static bool step(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  }
};

Client::Client(const ServerOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->server = options.server;
  if (!options.token_file.empty()) {
    impl_->token = first_word(read_file(options.token_file, "--token-file"));
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (is_loopback(options.server) && options.tls_ca.empty()) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    credentials = grpc::InsecureChannelCredentials();
  } else {
    grpc::SslCredentialsOptions tls;
    if (!options.tls_ca.empty()) tls.pem_root_certs = read_file(options.tls_ca, "--tls-ca");
    credentials = grpc::SslCredentials(tls);
  }
  impl_->channel = grpc::CreateCustomChannel(options.server, credentials, arguments);
  impl_->stub = std::make_unique<grpc::GenericStub>(impl_->channel);
}

Client::~Client() = default;

void Client::be_patient_for(std::int64_t ms) { impl_->deadline = std::chrono::milliseconds(ms); }

void Client::call(std::string_view method, const Message& request, Message& answer) {
  check_types(method, request, answer);
  const bool is_long = method == "UsageService/VerifyUsage";
  grpc::ClientContext context;
  impl_->prepare(context, is_long ? kLongDeadline : impl_->deadline);
  grpc::CompletionQueue queue;
  const auto call =
      impl_->stub->PrepareUnaryCall(&context, full_path(method), to_bytes(request), &queue);
  call->StartCall();
  grpc::ByteBuffer bytes;
  grpc::Status status;
  call->Finish(&bytes, &status, nullptr);
  Impl::step(queue);
  if (!status.ok()) throw refusal(status, impl_->server);
  from_bytes(bytes, answer);
}

void Client::stream(std::string_view method, const Message& request, Message& answer,
                    const std::function<bool()>& each) {
  check_types(method, request, answer);
  grpc::ClientContext context;
  impl_->prepare(context, std::chrono::hours(24 * 365));
  grpc::CompletionQueue queue;
  const auto call = impl_->stub->PrepareCall(&context, full_path(method), &queue);
  call->StartCall(nullptr);
  bool open = Impl::step(queue);
  if (open) {
    call->WriteLast(to_bytes(request), grpc::WriteOptions(), nullptr);
    open = Impl::step(queue);
  }
  bool wanted = true;
  while (open && wanted) {
    grpc::ByteBuffer bytes;
    call->Read(&bytes, nullptr);
    open = Impl::step(queue);
    if (!open) break;
    from_bytes(bytes, answer);
    wanted = each();
  }
  if (!wanted) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  Impl::step(queue);
  if (wanted && !status.ok()) throw refusal(status, impl_->server);
}

}  // namespace subak::cli
