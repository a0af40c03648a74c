// One call after the other to an API server, for a command that somebody waits for. Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "kube/json.h"
#include "server/kube/answer.h"
#include "server/kube/client.h"

namespace subak::cli {

// What the commands need of an API server; tests bring their own.
class KubeCaller {
 public:
  struct Reply {
    CallAnswer answer;
    std::string body;  // of a call that was done
    bool done() const { return answer.outcome == Outcome::kDone; }
  };

  virtual ~KubeCaller() = default;
  // Waits for the answer. What the server asks to be sent later is sent later, and what is only read
  // is asked for again where no answer came; both a few times.
  virtual Reply call(const KubeCall& call) = 0;
  virtual void wait(DurationMs ms) = 0;

  Reply get(const std::string& path);
  // Each object of a collection ("/api/v1/pods"), read in pages; with `query`, as "labelSelector=x".
  // None: all were read. kNotFound: the server has no such kind. kExhausted: more than
  // limits::kMaxOperatorObjects. `each` must not keep the value.
  std::optional<Error> list(const std::string& collection, const std::string& query,
                            const std::function<void(json::Value)>& each);
};

// Of the kubeconfig `path`; `context`: empty for its current one. An error names the field.
Result<std::unique_ptr<KubeCaller>> open_kube(const std::string& path, const std::string& context);

// What became of a call that was not done: who refused it, and with which words. kDenied: by a
// rule; kNotFound; kPrecondition: no answer.
Error error_of(std::string_view what, const CallAnswer& answer);

}  // namespace subak::cli
