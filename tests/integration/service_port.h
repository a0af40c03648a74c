// The whole service in this process (gRPC, runtime, SQLite, a clock that only the test sets), behind
// the port of the simulator's driver. Set-up goes in by the runtime, since its edits carry reasons
// of their own over the API. Every job and pod event goes over gRPC.
// Threads: one at a time.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/api/api.h"
#include "server/runtime/clock/clock.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"
#include "sim/driver.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "subak/v1/job_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak {

class ManualClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return wall_; }
  std::int64_t monotonic_us() const override { return 0; }
  std::int64_t boot_ms() const override { return wall_; }
  void set(TimeMs t) { wall_ = t; }

 private:
  std::atomic<TimeMs> wall_{0};
};

// The streams of an edge: reports with their acknowledgements, and effects.
class EdgeStreams {
 public:
  explicit EdgeStreams(v1::ClusterService::Stub& clusters);
  ~EdgeStreams();
  // Sends a report.
  void write(v1::ObserveRequest request);
  // Waits until each report is acknowledged.
  void await_acknowledgement();
  // Waits for so many effects.
  std::vector<Effect> read(std::size_t count);

 private:
  grpc::ClientContext observe_context_, effects_context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>> observe_;
  std::unique_ptr<grpc::ClientReader<v1::EffectsResponse>> effects_;
  std::uint64_t sent_ = 0, acknowledged_ = 0;
};

// What has become durable.
class Durable {
 public:
  void add(const std::vector<Fact>& facts);
  std::vector<std::string> facts() const;
  std::optional<TimeMs> next_deadline() const;
  // Returns how many attempts began since the last call.
  std::size_t take_started();

 private:
  mutable Mutex mutex_;
  Engine mirror_ SUBAK_GUARDED_BY(mutex_);  // the driver needs the next deadline at once
  std::vector<std::string> facts_ SUBAK_GUARDED_BY(mutex_);
  std::size_t started_ SUBAK_GUARDED_BY(mutex_) = 0;
};

class ServicePort final : public sim::Port {
 public:
  // `file`: the new SQLite file.
  explicit ServicePort(const std::string& file);
  ~ServicePort() override;
  // Starts at the time of the first input.
  void start(TimeMs t);
  // Connects the edge. The cluster must be there.
  void connect_edge();

  Reply send(TimeMs t, in::Body body) override;
  std::vector<Effect> pass(TimeMs t) override;
  void tick(TimeMs t) override;
  std::optional<TimeMs> next_deadline() const override { return durable_.next_deadline(); }

  // The facts that the service made, as text.
  std::vector<std::string> facts() const { return durable_.facts(); }
  // The facts of the store, read back.
  std::vector<std::string> stored();
  // The channel of the API, after start().
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  void turn_clock(TimeMs t);
  Reply post(in::Body body);
  Reply submit(const in::SubmitJob& job);

  ManualClock clock_;
  Durable durable_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<ApiServer> api_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::ClusterService::Stub> clusters_;
  std::unique_ptr<EdgeStreams> edge_;
};

}  // namespace subak
