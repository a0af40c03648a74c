#include "server/api/streams/health_probe.h"

#include <fcntl.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace subak::api {
namespace {

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";

}  // namespace

std::optional<std::string> ask_health(int fd, DurationMs patience) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);  // the channel closes its own
  if (copy < 0) return std::string("dup: ") + std::strerror(errno);
  ::fcntl(copy, F_SETFL, ::fcntl(copy, F_GETFL) | O_NONBLOCK);
  grpc::GenericStub stub(grpc::CreateInsecureChannelFromFd("probe", copy));
  grpc::ClientContext context;
  // clock: gRPC's deadlines use its own clock.
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(patience));
  grpc::CompletionQueue done;
  const grpc::ByteBuffer empty(nullptr, 0);  // no service named: the whole server
  const auto call = stub.PrepareUnaryCall(&context, kCheck, empty, &done);
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  done.Next(&tag, &ok);
  done.Shutdown();
  while (done.Next(&tag, &ok)) {
  }
  if (status.ok()) return std::nullopt;
  return "health check: " + status.error_message();
}

}  // namespace subak::api
