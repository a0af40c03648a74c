// The identity of a mutation for retries: its request id and a digest of the request message. The
// digest covers the message, not the engine input made from it, since the input also holds parts of
// the state at that time.
#pragma once

#include <string>

#include "core/content_hash.h"

namespace subak::api {

// The engine compares the content: the same id with another content is refused.
struct RequestFingerprint {
  // As the caller gave it; empty: a repetition counts as a new request.
  std::string request_id;
  // The digest of the message; 0: there is no request id.
  std::uint64_t content = 0;
};

// Computes the identity of `in`. The messages have no maps, so their bytes are their fields in the
// order of the field numbers.
// Requests of different methods differ, since the message's full name counts too. A field at its
// default counts as absent. `Request` has a field request_id.
template <class Request>
RequestFingerprint fingerprint_of(const Request& in) {
  if (in.request_id().empty()) return {};
  const std::string& name = in.GetDescriptor()->full_name();
  return {in.request_id(), content_hash(name + '\0' + in.SerializeAsString())};
}

}  // namespace subak::api
