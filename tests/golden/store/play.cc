// Plays a text against a running subakd: how the stores here were made (README.md).
//
//   call AccountService/CreateAccount {"account":{"path":"ml"},"reason":"new"}
//   refused AccountService/DeleteAccount {"path":"ml","reason":"it has children"}
//   observe CLUSTER {"listBegin":{}}
//
// Usage: golden_store_play HOST:PORT FILE. Stops where the service answers otherwise.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "cli/client.h"
#include "cli/text/failure.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/admin_service.pb.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak {
namespace {

using google::protobuf::Message;

void read_json(const std::string& json, Message& message) {
  const auto status = google::protobuf::util::JsonStringToMessage(json, &message);
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

std::unique_ptr<Message> make(const google::protobuf::Descriptor* type) {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<Message>(factory->GetPrototype(type)->New());
}

class Player {
 public:
  explicit Player(const std::string& server)
      : client_({server, "", ""}),
        clusters_(v1::ClusterService::NewStub(
            grpc::CreateChannel(server, grpc::InsecureChannelCredentials()))) {}

  void call(const std::string& method, const std::string& json) {
    std::string name = "subak.v1." + method;
    name[name.find('/')] = '.';
    const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
    if (found == nullptr) throw std::runtime_error("there is no method " + name);
    const auto request = make(found->input_type());
    const auto answer = make(found->output_type());
    read_json(json, *request);
    client_.call(method, *request, *answer);
  }

  // Sends one event and waits for its acknowledgement.
  void observe(const std::string& cluster, const std::string& json) {
    Stream& stream = stream_of(cluster);
    v1::ObserveRequest event;
    read_json(json, event);
    event.set_cluster(cluster);
    event.set_sequence(++stream.sequence);
    stream.calls->Write(event);
    v1::ObserveResponse ack;
    while (ack.acknowledged_sequence() < stream.sequence) {
      if (!stream.calls->Read(&ack)) {
        throw std::runtime_error(stream.calls->Finish().error_message());
      }
      if (ack.errors_size() > 0) throw std::runtime_error(ack.errors(0).status().message());
    }
  }

 private:
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>> calls;
    std::uint64_t sequence = 0;
  };

  Stream& stream_of(const std::string& cluster) {
    Stream& stream = streams_[cluster];
    if (stream.calls == nullptr) stream.calls = clusters_->Observe(&stream.context);
    return stream;
  }

  cli::Client client_;
  std::unique_ptr<v1::ClusterService::Stub> clusters_;
  std::map<std::string, Stream> streams_;
};

void expect_refusal(Player& player, const std::string& method, const std::string& json) {
  try {
    player.call(method, json);
  } catch (const cli::Failure&) {
    return;
  }
  throw std::runtime_error("this should have been refused");
}

void play(Player& player, const std::string& line) {
  std::istringstream in(line);
  std::string verb, what, json;
  in >> verb >> what;
  std::getline(in, json);
  if (verb == "call") player.call(what, json);
  if (verb == "refused") expect_refusal(player, what, json);
  if (verb == "observe") player.observe(what, json);
}

int run(const char* server, const char* file) {
  std::ifstream in(file);
  std::string line;
  int number = 0;
  Player player(server);
  while (std::getline(in, line)) {
    ++number;
    try {
      play(player, line);
    } catch (const cli::Failure& failure) {
      std::cerr << file << ":" << number << ": " << failure.what << " " << failure.todo << '\n';
      return 1;
    } catch (const std::exception& error) {
      std::cerr << file << ":" << number << ": " << error.what() << '\n';
      return 1;
    }
  }
  return number > 0 ? 0 : 1;
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc == 3) return subak::run(argv[1], argv[2]);
  std::cerr << "usage: golden_store_play HOST:PORT FILE\n";
  return 2;
}
