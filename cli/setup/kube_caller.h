// Sequential calls to an API server, for interactive commands. Threads: one.
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

// The interface that the commands need of an API server; tests implement it too.
class KubeCaller {
 public:
  struct Reply {
    // The last attempt's.
    CallAnswer answer;
    // The body of a successful call; else empty.
    std::string body;
    // True if the API server has done what was asked for.
    bool done() const { return answer.outcome == Outcome::kDone; }
  };

  virtual ~KubeCaller() = default;
  // Calls and waits for the answer. It retries a call when the server asks for that, and a read
  // when no answer came; both a few times.
  virtual Reply call(const KubeCall& call) = 0;
  // Waits this long before a further attempt.
  virtual void wait(DurationMs ms) = 0;

  // Calls GET on a path.
  Reply get(const std::string& path);
  // Calls `each` for each object of a collection ("/api/v1/pods"), read in pages; with `query`, as
  // "labelSelector=x". Returns nothing if all were read. kNotFound: the server has no such kind.
  // kExhausted: more than limits::kMaxOperatorObjects. `each` must not keep the value.
  std::optional<Error> list(const std::string& collection, const std::string& query,
                            const std::function<void(json::Value)>& each);
};

// Opens the kubeconfig `path`; `context`: empty for its current one. An error names the field.
Result<std::unique_ptr<KubeCaller>> open_kube(const std::string& path, const std::string& context);

// Returns the error of an unsuccessful call, with the server's message. kDenied: refused by a rule;
// kNotFound; kPrecondition: no answer.
Error error_of(std::string_view what, const CallAnswer& answer);

}  // namespace subak::cli
