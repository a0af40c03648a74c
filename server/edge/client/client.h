// An HTTP/1.1 client for the API server of one cluster, on libcurl's multi interface. Each watch
// has a connection, and calls share limits::kKubeCallConnections. The client does not decide what
// to call or what an answer means.
//
// Threads: everything happens in turn(), on the thread that calls it, including all callbacks.
// Callbacks may call every function here but turn(). Any thread may call wake().
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

// One request. Its answer may have limits::kMaxKubeAnswerBytes.
struct KubeCall {
  // GET, POST, PUT, PATCH or DELETE.
  std::string method = "GET";
  // With the query, from the server's address on: "/api/v1/pods?limit=500".
  std::string path{};
  // Empty: the request has none.
  std::string body{};
  // Of the body. A patch names its kind here: "application/json-patch+json".
  std::string content_type = "application/json";
};

// Returns the path of a pod: "/api/v1/namespaces/NS/pods/NAME".
std::string pod_path(const std::string& ns, const std::string& name);

// The interface that watching and writing code needs of an API server. Tests implement it too.
class KubeApi {
 public:
  // `body` is the body of a successful call; otherwise the answer has it. It lives during the
  // callback.
  using Answered = std::function<void(const CallAnswer& answer, std::string_view body)>;
  // kDone: the server ended the stream in order; go on from the last version.
  using Ended = std::function<void(const CallAnswer& answer)>;
  using WatchId = std::uint64_t;

  virtual ~KubeApi() = default;
  // Sends a call. Calls start in the order of these requests, and answers come in any order.
  // libcurl repeats a call if a kept-alive connection breaks before any byte of the answer came. So
  // every write must have no further effect when it is sent twice. False: limits::kMaxKubeCalls are
  // open.
  virtual bool call(KubeCall call, Answered answered) = 0;
  // Opens a stream of events and passes each to `take`. It lasts until the server ends it, is
  // silent for limits::kWatchSilentMs, or sends something that is not an event. Then `ended` is
  // called once. The id is never 0 and is not used again.
  virtual WatchId watch(std::string path, WatchStream::Take take, Ended ended) = 0;
  // Ends a watch without calling `ended`. Does nothing if it has ended. If `take` calls this, it
  // still gets the events that came in the same bytes.
  virtual void stop(WatchId watch) = 0;
  // Waits for events, `most` ms at the longest, and handles them.
  virtual void turn(DurationMs most) = 0;
  // Lets turn() return at once, also the next one. Threads: any.
  virtual void wake() = 0;
};

// The client itself. It owns its connections, calls and watches.
class KubeClient final : public KubeApi {
 public:
  explicit KubeClient(KubeAccess access);
  // Ends all calls and watches without their callbacks.
  ~KubeClient() override;
  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;

  // Sets the bearer token for calls and watches that begin from now on; empty: the certificate
  // identifies the client.
  void set_token(std::string token);
  // Sets a PEM certificate for connections that begin from now on; empty: the kubeconfig's.
  void set_certificate(std::string certificate, std::string key);
  // Returns the number of calls that wait or are open.
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
