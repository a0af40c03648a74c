// A Kubernetes API server for the fuzzers of commands that read a cluster.
#pragma once

#include <string>
#include <string_view>

#include "cli/setup/kube_caller.h"

namespace subak {

// Answers each call with this text. A second page of a list is empty. Threads: one at a time.
class OneAnswer final : public cli::KubeCaller {
 public:
  explicit OneAnswer(std::string_view text) : text_(text) {}
  Reply call(const KubeCall& call) override {
    Reply reply;
    reply.answer.outcome = Outcome::kDone;
    reply.body = call.path.find("&continue=") == std::string::npos ? text_ : "{}";
    return reply;
  }
  void wait(DurationMs) override {}

 private:
  const std::string text_;
};

}  // namespace subak
