#include "server/browser/calls.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "server/api/common/browser_limits.h"
#include "server/api/common/status.h"
#include "server/log/thread_name.h"

namespace subak::browser {
namespace {

using google::protobuf::Message;
namespace util = google::protobuf::util;

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

// Writes the response as JSON, with the fields that have their default too, as the commands do.
grpc::Status to_json(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                     std::string& json) {
  grpc::Slice slice;
  const std::unique_ptr<Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  if (!bytes.DumpToSingleSlice(&slice).ok() ||
      !message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    return {grpc::StatusCode::INTERNAL, "the answer is no " + type.full_name()};
  }
  util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  const auto written = util::MessageToJsonString(*message, &json, options);
  if (written.ok()) return grpc::Status::OK;
  return {grpc::StatusCode::INTERNAL, "the answer has no JSON form: " + written.ToString()};
}

}  // namespace

struct Calls::Flight {
  Asked asked;
  Done done;
  grpc::ClientContext context;
  grpc::ByteBuffer request, response;
  Answered answer;
};

Calls::Calls() : answers_(limits::kMaxBrowserCalls, limits::kMaxBrowserCallsPerCaller) {}

Calls::~Calls() { stop(); }

void Calls::start(std::shared_ptr<grpc::Channel> channel) {
  {
    const MutexLock lock(mutex_);
    channel_ = std::move(channel);
    running_ = true;
  }
  thread_ = std::thread([this] { work(); });
}

void Calls::stop() {
  {
    MutexLock lock(mutex_);
    running_ = false;
    const std::set<std::shared_ptr<Flight>> flights = flights_;
    lock.unlock();
    for (const auto& flight : flights) flight->context.TryCancel();
    lock.lock();
    landed_.wait(lock, [this]() SUBAK_REQUIRES(mutex_) { return flights_.empty(); });
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

grpc::Status Calls::enter(const std::shared_ptr<Flight>& flight) {
  const MutexLock lock(mutex_);
  if (!running_) return {grpc::StatusCode::UNAVAILABLE, "the service starts or stops; try again"};
  const auto own = callers_.find(flight->asked.caller);
  if (own != callers_.end() && own->second >= limits::kMaxBrowserCallsPerCaller) {
    return api::to_status(api::busy("the list of " +
                                    std::to_string(limits::kMaxBrowserCallsPerCaller) +
                                    " calls of one browser"));
  }
  if (flights_.size() >= limits::kMaxBrowserCalls) {
    return api::to_status(api::busy("the list of " + std::to_string(limits::kMaxBrowserCalls) +
                                    " calls of browsers"));
  }
  ++callers_[flight->asked.caller];
  flights_.insert(flight);
  return grpc::Status::OK;
}

void Calls::ask(Asked asked, Done done) {
  auto flight = std::make_shared<Flight>();
  flight->asked = std::move(asked);
  flight->done = std::move(done);
  const Asked& call = flight->asked;
  if (const grpc::Status refused = enter(flight); !refused.ok()) {
    return flight->done({refused, "", "", ""});
  }
  if (!call.authorization.empty()) flight->context.AddMetadata("authorization", call.authorization);
  flight->context.AddMetadata("subak-inside", call.peer);
  if (!call.min_sequence.empty()) {
    flight->context.AddMetadata("subak-min-sequence", call.min_sequence);
  }
  if (!call.at.empty()) flight->context.AddMetadata("subak-at", call.at);
  // clock: gRPC's deadlines use its own clock.
  flight->context.set_deadline(std::chrono::system_clock::now() +
                               std::chrono::milliseconds(call.timeout_ms));
  flight->request = buffer_of(call.message);
  grpc::GenericStub(channel_).UnaryCall(
      &flight->context, "/" + call.method->service()->full_name() + "/" + call.method->name(),
      grpc::StubOptions(), &flight->request, &flight->response,
      [this, flight](const grpc::Status& status) { arrived(flight, status); });
}

void Calls::arrived(const std::shared_ptr<Flight>& flight, const grpc::Status& status) {
  flight->answer.status = status;
  const auto& trailer = flight->context.GetServerTrailingMetadata();
  const auto copy = [&trailer](const char* name, std::string& to) {
    const auto it = trailer.find(name);
    if (it != trailer.end()) to.assign(it->second.data(), it->second.size());
  };
  copy("subak-sequence", flight->answer.sequence);
  copy("subak-time", flight->answer.time);
  copy("subak-leads", flight->answer.leads);
  copy("subak-epoch", flight->answer.epoch);
  copy("subak-behind-ms", flight->answer.behind_ms);
  {
    const MutexLock lock(mutex_);
    const std::size_t bytes = flight->response.Length();
    if (answer_bytes_ + bytes > limits::kMaxBrowserAnswerBytes) {
      flight->response.Clear();
      flight->answer.status = api::to_status(api::busy("the list of answers to browsers"));
    } else {
      answer_bytes_ += bytes;
    }
    answers_.push(flight->asked.caller, flight);  // enter() has the same limits
  }
  wake_.notify_one();
}

void Calls::finish(Flight& flight) {
  Answered& answer = flight.answer;
  if (answer.status.ok()) {
    answer.status = to_json(flight.response, *flight.asked.method->output_type(), answer.json);
  }
  flight.done(std::move(answer));
}

void Calls::work() {
  name_thread("browser calls");
  MutexLock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this]() SUBAK_REQUIRES(mutex_) {
      return !answers_.empty() || (!running_ && flights_.empty());
    });
    auto next = answers_.take();
    if (!next) return;
    lock.unlock();
    const std::shared_ptr<Flight> flight = std::move(next->second);
    finish(*flight);
    lock.lock();
    answers_.done(next->first);
    answer_bytes_ -= flight->response.Length();
    const auto own = callers_.find(flight->asked.caller);
    if (--own->second == 0) callers_.erase(own);
    flights_.erase(flight);
    if (flights_.empty()) landed_.notify_all();
  }
}

}  // namespace subak::browser
