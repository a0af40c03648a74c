// An HTTP/1.1 client for the API server of one cluster, on libcurl's multi interface. Each watch
// has its own connection, and all calls share limits::kKubeCallConnections connections. Other code
// decides what to call, and what to do with an answer.
//
// Threads: turn() does all work and calls all callbacks, on its caller's thread. Callbacks may call
// every function here except turn(). Any thread may call wake().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "server/edge/client/answer.h"
#include "server/edge/client/kubeconfig.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// One request. Its answer may have at most limits::kMaxKubeAnswerBytes.
struct KubeCall {
  // GET, POST, PUT, PATCH or DELETE.
  std::string method = "GET";
  // The path after the server's address, with the query: "/api/v1/pods?limit=500".
  std::string path{};
  // Empty: the request has no body.
  std::string body{};
  // The type of the body. A patch names its kind here: "application/json-patch+json".
  std::string content_type = "application/json";
};

// Returns the path of a pod: "/api/v1/namespaces/NS/pods/NAME".
std::string pod_path(const std::string& ns, const std::string& name);

// The API server as the code that watches and writes uses it. Tests implement it too.
class KubeApi {
 public:
  // `body` is the body of a successful call. For a failed call, `answer` has the text. `body` is
  // valid only during the callback.
  using Answered = std::function<void(const CallAnswer& answer, std::string_view body)>;
  // kDone: the server ended the stream without an error; watch again from the last version.
  using Ended = std::function<void(const CallAnswer& answer)>;
  using WatchId = std::uint64_t;

  virtual ~KubeApi() = default;
  // Sends a call. Calls start in this order, but answers may come in any order. libcurl sends a
  // call again if a kept-alive connection breaks before the first byte of the answer. So a write
  // that arrives twice must have the same effect as once. False: limits::kMaxKubeCalls calls are
  // open.
  virtual bool call(KubeCall call, Answered answered) = 0;
  // Opens a stream of events and passes each event to `take`. The stream ends when the server ends
  // it, is silent for limits::kWatchSilentMs, or sends bytes that are no event. Then `ended` is
  // called once. The returned id is never 0 and is never used again.
  virtual WatchId watch(std::string path, WatchStream::Take take, Ended ended) = 0;
  // Ends a watch without calling `ended`. Does nothing if the watch has ended. If `take` calls
  // stop(), it still gets the events that arrived together with the present one.
  virtual void stop(WatchId watch) = 0;
  // Waits at most `most` ms for answers and events, and handles them.
  virtual void turn(DurationMs most) = 0;
  // Makes the present turn() return at once, or the next one if none runs. Threads: any.
  virtual void wake() = 0;
};

// The implementation. It owns its connections, calls and watches.
class KubeClient final : public KubeApi {
 public:
  explicit KubeClient(KubeAccess access);
  // Ends all calls and watches without their callbacks.
  ~KubeClient() override;
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;

  // Sets the bearer token for calls and watches that begin after this; empty: the certificate
  // identifies the client.
  void set_token(std::string token);
  // Sets a PEM certificate and its key for connections that begin after this; empty:
  // those of the kubeconfig.
  void set_certificate(std::string certificate, std::string key);
  // Returns the number of calls without an answer, both waiting and open.
  std::size_t calls() const;

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
