// The gRPC handlers for what-if questions: what other settings would have done. gRPC calls them on
// its own threads, maybe several at once. They return at once; the call finishes later.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/policy_service.grpc.pb.h"

namespace subak::api {

// The calls of PolicyService (proto/subak/v1).
class PolicyService final : public v1::PolicyService::CallbackService {
 public:
  // `shared` must outlive the service.
  explicit PolicyService(Shared& shared) : shared_(shared) {}

 private:
  // Role viewer. Any replica answers. One such call runs at a time; a second call gets
  // RESOURCE_EXHAUSTED with the name of the first caller. See WhatIfStream.
  grpc::ServerWriteReactor<v1::WhatIfResponse>* WhatIf(grpc::CallbackServerContext* context,
                                                       const v1::WhatIfRequest* in) override;

  Shared& shared_;
};

}  // namespace subak::api
