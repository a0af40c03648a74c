// A client with a credential. It keeps the credential fresh and reads it again when an answer
// refuses it. Threads: as KubeClient.
#pragma once

#include <functional>
#include <string>

#include "core/quantity.h"
#include "server/edge/client/client.h"
#include "server/edge/client/credentials.h"

namespace subak {

// A KubeClient that gets the credential in each turn. Calls and watches wait for the first one.
class KnownClient final : public KubeApi {
 public:
  // `wall_ms`: the wall clock, by which credentials expire. `tell` gets each error of a credential
  // once. The errors contain no secret.
  KnownClient(KubeAccess access, std::function<TimeMs()> wall_ms,
              std::function<void(const Error&)> tell);

  // An answer kUnauthorized, also to a watch, makes the next turn renew the credential.
  bool call(KubeCall call, Answered answered) override;
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override;
  void stop(WatchId watch) override { client_.stop(watch); }
  // Refreshes the credential, then runs the client's turn. Until the first credential it only
  // sleeps, at most 50 ms. While a plugin runs a turn takes no longer than that.
  void turn(DurationMs most) override;
  void wake() override { client_.wake(); }

 private:
  // Remembers a refusal until the next turn.
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
