// A client with a credential. The client renews the credential before the credential expires, and
// when the server refuses the credential. Threads: as KubeClient.
#pragma once

#include <functional>
#include <string>

#include "core/quantity.h"
#include "server/edge/client/client.h"
#include "server/edge/client/credentials.h"

namespace subak {

// A KubeClient that gets the present credential in each turn. Calls and watches are sent only after
// the first credential has come.
class KnownClient final : public KubeApi {
 public:
  // `wall_ms`: the wall clock, by which credentials expire. `tell` gets each error of a credential
  // once; no error contains a secret.
  KnownClient(KubeAccess access, std::function<TimeMs()> wall_ms,
              std::function<void(const Error&)> tell);

  // If the answer to a call or watch is kUnauthorized, the next turn renews the credential.
  bool call(KubeCall call, Answered answered) override;
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override;
  void stop(WatchId watch) override { client_.stop(watch); }
  // Refreshes the credential, then runs the client's turn. Before the first credential has come, it
  // sleeps instead of running the client's turn. In that case, and while a plugin runs, it waits at
  // most 50 ms, even if `most` is longer.
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
