// A client of the Kubernetes API that keeps its credential valid. It renews the credential before
// it expires, and after the server has refused it (HTTP 401). Threads: one thread calls turn(),
// which runs all callbacks; they may call every function except turn(). Any thread may call wake().
#pragma once

#include <functional>
#include <string>

#include "core/quantity.h"
#include "server/edge/client/client.h"
#include "server/edge/client/credentials.h"

namespace subak {

// A KubeClient and its Credentials. In each turn(), it checks whether the credential has changed,
// and if so, gives the new one to the KubeClient. Until the first credential has come, calls and
// watches wait.
class KnownClient final : public KubeApi {
 public:
  // `wall_ms`: the wall clock, by which credentials expire. The client calls `tell` once for each
  // error of a credential. No error contains a secret.
  KnownClient(KubeAccess access, std::function<TimeMs()> wall_ms,
              std::function<void(const Error&)> tell);

  // call() and watch() do the same as those of KubeClient. If an answer is kUnauthorized, the next
  // turn reports this to Credentials::refresh(), which renews the credential.
  bool call(KubeCall call, Answered answered) override;
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override;
  void stop(WatchId watch) override { client_.stop(watch); }
  // Gets or renews the credential if that is due, and then does the turn of the KubeClient. While
  // there is no credential yet, it sleeps instead of that turn. It waits at most `most`. While
  // there is no credential yet, or while a credential plugin runs, it waits at most 50 ms.
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
