// A client of the Kubernetes API that keeps its credential valid. It renews the credential before
// the credential expires, and after the server has refused the credential (HTTP 401). Threads: as
// KubeClient.
#pragma once

#include <functional>
#include <string>

#include "core/quantity.h"
#include "server/edge/client/client.h"
#include "server/edge/client/credentials.h"

namespace subak {

// A KubeClient and its Credentials. Each turn() gives the present credential to the KubeClient.
// Before the first credential has come, calls and watches are stored, and none is sent.
class KnownClient final : public KubeApi {
 public:
  // `wall_ms`: the wall clock, by which credentials expire. The client calls `tell` once for each
  // error of a credential. No error contains a secret.
  KnownClient(KubeAccess access, std::function<TimeMs()> wall_ms,
              std::function<void(const Error&)> tell);

  // If the answer to a call or watch is kUnauthorized, the next turn renews the credential.
  bool call(KubeCall call, Answered answered) override;
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override;
  void stop(WatchId watch) override { client_.stop(watch); }
  // Renews the credential if that is due, then runs the turn of the KubeClient. Before the first
  // credential has come, it only sleeps. It waits at most `most`, or at most 50 ms if `most` is
  // longer and there is no credential yet, or if a credential plugin runs.
  void turn(DurationMs most) override;
  void wake() override { client_.wake(); }

 private:
  // Remembers until the next turn whether an answer was kUnauthorized.
  void note(const CallAnswer& answer) {
    refused_ = refused_ || answer.outcome == Outcome::kUnauthorized;
  }

  // The wall clock, UTC.
  const std::function<TimeMs()> wall_ms_;
  const std::function<void(const Error&)> tell_;
  Credentials credentials_;
  KubeClient client_;
  bool refused_ = false;
};

}  // namespace subak
