#include "server/api/whatif/policy_service.h"

#include <memory>

#include "server/api/whatif/what_if.h"

namespace subak::api {

grpc::ServerWriteReactor<v1::WhatIfResponse>* PolicyService::WhatIf(
    grpc::CallbackServerContext* context, const v1::WhatIfRequest* in) {
  const Admission admission = admit_stream(shared_, *context, Role::kViewer);
  auto stream =
      std::make_shared<WhatIfStream>(shared_.streams, shared_.desks.what_ifs, shared_.store);
  if (!stream->begin(StreamKind::kWhatIf, admission)) return stream.get();
  stream->start(*in, shared_.runtime.view()->seq, admission.caller->actor);
  return stream.get();
}

}  // namespace subak::api
