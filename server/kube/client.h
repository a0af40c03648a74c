// HTTP/1.1 to the API server of one cluster, on libcurl's multi interface: a connection for each
// watch, limits::kKubeCallConnections for calls. What to call, and what to make of it, is not
// decided here.
//
// Threads: everything happens in turn(), on the thread that calls it, and so do all callbacks; they
// may call everything here but turn(). wake() may come from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "server/kube/answer.h"
#include "server/kube/kubeconfig.h"
#include "server/kube/watch_stream.h"

namespace subak {

struct KubeCall {
  std::string method = "GET";  // GET, POST, PUT, PATCH, DELETE
  std::string path{};          // "/api/v1/pods?limit=500"
  std::string body{};
  std::string content_type = "application/json";
};

// Path of a pod.
std::string pod_path(const std::string& ns, const std::string& name);

// What those who follow and write need of an API server; tests bring their own.
class KubeApi {
 public:
  // `body` is that of a call that was done; of others it is in the answer. Lives during the
  // callback.
  using Answered = std::function<void(const CallAnswer& answer, std::string_view body)>;
  // kDone: the server ended the stream in order; go on from the last version.
  using Ended = std::function<void(const CallAnswer& answer)>;
  using WatchId = std::uint64_t;

  virtual ~KubeApi() = default;
  // Made in the order of asking, and answered in any. Where a kept connection is cut before a word of
  // an answer, libcurl makes the call again on a new one: a write is such that the second changes
  // nothing. False: limits::kMaxKubeCalls are under way.
  virtual bool call(KubeCall call, Answered answered) = 0;
  // Reads the stream until it ends, is silent for limits::kWatchSilentMs, or says what is no event.
  virtual WatchId watch(std::string path, WatchStream::Take take, Ended ended) = 0;
  // Nobody is told of its end. Nothing if it has ended.
  virtual void stop(WatchId watch) = 0;
  // Waits for something to happen, `most` at the longest, and does what there is to do.
  virtual void turn(DurationMs most) = 0;
  virtual void wake() = 0;  // turn() returns at once; any thread
};

class KubeClient final : public KubeApi {
 public:
  explicit KubeClient(KubeAccess access);
  // Cuts everything; nobody is told.
  ~KubeClient() override;
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;

  // Who we are in calls and watches that begin from now on; empty: who the certificate says.
  void set_token(std::string token);
  // PEM, for connections that begin from now on; empty: those of the kubeconfig.
  void set_certificate(std::string certificate, std::string key);
  std::size_t calls() const;  // waiting and under way

  bool call(KubeCall call, Answered answered) override;
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override;
  void stop(WatchId watch) override;
  void turn(DurationMs most) override;
  void wake() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
