// Identifies a mutation by its request id and a digest of the request message, so that a retry is
// recognised. The digest does not cover the engine input, which also holds parts of the state at
// that time.
#pragma once

#include <string>

#include "core/content_hash.h"

namespace subak::api {

// The engine compares `content`: it refuses a known id whose content differs.
struct RequestFingerprint {
  // The request id as the caller gave it. Empty: a repetition counts as a new request.
  std::string request_id;
  // The digest of the request message; 0: there is no request id.
  std::uint64_t content = 0;
};

// Computes the fingerprint of `in`. Request messages have no maps, so equal messages have equal
// bytes: their fields in the order of the field numbers.
// The digest includes the full name of the message, so requests of different methods differ. A
// field at its default counts as absent. `Request` has a field request_id.
template <class Request>
RequestFingerprint fingerprint_of(const Request& in) {
  if (in.request_id().empty()) return {};
  const std::string& name = in.GetDescriptor()->full_name();
  return {in.request_id(), content_hash(name + '\0' + in.SerializeAsString())};
}

}  // namespace subak::api
