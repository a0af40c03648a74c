// Calls to a Kubernetes API server, one after the other, for commands that work on a cluster
// directly, such as `subak preflight`. Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "kube/json.h"
#include "server/edge/client/answer.h"
#include "server/edge/client/client.h"

namespace subak::cli {

// The calls to an API server that commands need. Tests have an implementation of their own.
class KubeCaller {
 public:
  struct Reply {
    // The answer to the last attempt.
    CallAnswer answer;
    // The body of a successful call. It is empty if the call failed.
    std::string body;
    // True if the API server has carried out the call.
    bool done() const { return answer.outcome == Outcome::kDone; }
  };

  virtual ~KubeCaller() = default;
  // Makes the call and waits for the answer. Retries a call if the server asks for a retry, and
  // retries a read if no answer came. Gives up after a few attempts.
  virtual Reply call(const KubeCall& call) = 0;
  // Waits this long before a further attempt.
  virtual void wait(DurationMs ms) = 0;

  // Calls GET on a path.
  Reply get(const std::string& path);
  // Reads a collection ("/api/v1/pods") in pages and calls `each` for each object. `query` is added
  // to the URL, for example "labelSelector=x". Returns nullopt if list() has read all objects.
  // kNotFound: the server has no such kind. kExhausted: there are more than
  // limits::kMaxOperatorObjects objects. The value is valid only during the call of `each`.
  std::optional<Error> list(const std::string& collection, const std::string& query,
                            const std::function<void(json::Value)>& each);
};

// Returns a caller with the credentials of the kubeconfig `path`. `context`: the context to use;
// empty: the file's current context. kNotFound: the file does not exist. Other errors name the
// wrong field of the kubeconfig.
Result<std::unique_ptr<KubeCaller>> open_kube(const std::string& path, const std::string& context);

// Returns the error of an unsuccessful call, with the server's message. kNotFound: there is no such
// object. kPrecondition: no answer came, or the API server failed. kDenied: every other failure,
// such as a refusal by a rule.
Error error_of(std::string_view what, const CallAnswer& answer);

}  // namespace subak::cli
