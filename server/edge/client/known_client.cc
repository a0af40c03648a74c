#include "server/edge/client/known_client.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace subak {

KnownClient::KnownClient(KubeAccess access, std::function<TimeMs()> wall_ms,
                         std::function<void(const Error&)> tell)
    : wall_ms_(std::move(wall_ms)),
      tell_(std::move(tell)),
      credentials_(access),
      client_(std::move(access)) {}

bool KnownClient::call(KubeCall call, Answered answered) {
  return client_.call(std::move(call), [this, answered = std::move(answered)](
                                           const CallAnswer& answer, std::string_view body) {
    note(answer);
    answered(answer, body);
  });
}

KubeApi::WatchId KnownClient::watch(std::string path, WatchStream::Take take, Ended ended) {
  return client_.watch(std::move(path), std::move(take),
                       [this, ended = std::move(ended)](const CallAnswer& answer) {
                         note(answer);
                         ended(answer);
                       });
}

void KnownClient::turn(DurationMs most) {
  constexpr DurationMs kPluginLookMs = 50;
  auto credential = credentials_.refresh(wall_ms_(), std::exchange(refused_, false));
  if (!credential) {
    tell_(credential.error());
  } else if (*credential) {
    client_.set_token((*credential)->token);
    client_.set_certificate((*credential)->certificate, (*credential)->key);
  }
  if (!credentials_.known()) {  // without a credential no call can succeed
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(most, kPluginLookMs)));
    return;
  }
  client_.turn(credentials_.running() ? std::min(most, kPluginLookMs) : most);
}

}  // namespace subak
