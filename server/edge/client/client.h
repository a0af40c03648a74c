// An HTTP/1.1 client for the API server of one cluster, on libcurl's multi interface. Each watch
// has its own connection, and all calls share limits::kKubeCallConnections connections. The client
// does not decide what to call or what to do with an answer; its callers do.
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

// One request. The answer to the request may have at most limits::kMaxKubeAnswerBytes.
struct KubeCall {
  // GET, POST, PUT, PATCH or DELETE.
  std::string method = "GET";
  // The path and the query of the URL, such as "/api/v1/pods?limit=500".
  std::string path{};
  // Empty: the request has no body.
  std::string body{};
  // The type of the body. For a patch, this is the kind of patch, such as
  // "application/json-patch+json".
  std::string content_type = "application/json";
};

// Returns the path of a pod, "/api/v1/namespaces/NS/pods/NAME".
std::string pod_path(const std::string& ns, const std::string& name);

// The interface through which other code calls and watches the API server. Tests have their own
// implementation.
class KubeApi {
 public:
  // `body` is the body of the answer to a successful call, and is valid only during the callback.
  // For a failed call, `answer` has the message.
  using Answered = std::function<void(const CallAnswer& answer, std::string_view body)>;
  // Gets the end of a watch. kDone: the server ended the stream without an error, so watch again
  // from the last version.
  using Ended = std::function<void(const CallAnswer& answer)>;
  using WatchId = std::uint64_t;

  virtual ~KubeApi() = default;
  // Sends one request to the API server. Requests begin in the order in which call() was called,
  // but their answers may come in any order. If a kept-alive connection breaks before the first
  // byte of an answer, libcurl sends the request again. So a write that arrives twice must have the
  // same effect as one that arrives once. False: limits::kMaxKubeCalls requests have no answer yet,
  // so the client does not send this one, and never calls `answered`.
  virtual bool call(KubeCall call, Answered answered) = 0;
  // Opens a stream of events and passes each event to `take`. The stream ends if the server ends
  // it, is silent for limits::kWatchSilentMs, or sends bytes that are no event. `ended` is then
  // called once. The returned id is never 0, and no other watch ever gets the same id.
  virtual WatchId watch(std::string path, WatchStream::Take take, Ended ended) = 0;
  // Ends a watch without calling its `ended`. Does nothing if the watch has ended. If `take` itself
  // calls stop(), `take` still gets the events that arrived together with the present event.
  virtual void stop(WatchId watch) = 0;
  // Waits at most `most` ms for answers and events, and handles them.
  virtual void turn(DurationMs most) = 0;
  // Makes the present call of turn() return at once. If none is in progress, it makes the next call
  // return at once. Threads: any.
  virtual void wake() = 0;
};

// The implementation for a real API server. The client owns its connections, calls and watches.
class KubeClient final : public KubeApi {
 public:
  explicit KubeClient(KubeAccess access);
  // Ends all calls and watches without calling their callbacks.
  ~KubeClient() override;
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;

  // Sets the bearer token for calls and watches that begin later. Empty: there is no token, so only
  // the certificate identifies the client.
  void set_token(std::string token);
  // Sets a PEM certificate and its key for connections that begin later. Empty: the client uses
  // those of the kubeconfig.
  void set_certificate(std::string certificate, std::string key);
  // Returns the number of calls without an answer. Calls that wait for a connection count too.
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
