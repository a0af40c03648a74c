// Identifies a mutation by its request id and a digest of the request message, so that the service
// recognises a repeated call. The digest is not that of the engine's input, since an input also has
// data from the state at the time of the call. Threads: any; pure functions.
#pragma once

#include <string>

#include "core/content_hash.h"

namespace subak::api {

// Identifies a request. If the engine gets a known request id again, it compares `content`, and
// refuses the request if the content differs.
struct RequestFingerprint {
  // The request id as the caller gave it. Empty: a repeated call counts as a new request.
  std::string request_id;
  // The digest of the request message; 0: there is no request id.
  std::uint64_t content = 0;
};

// Returns the fingerprint of `in`, which must have a field request_id. Request messages have no
// maps, so equal messages have equal bytes: their fields, in the order of the field numbers. The
// digest includes the full name of the message type, so requests of different methods have
// different digests. A field with its default value counts as absent.
template <class Request>
RequestFingerprint fingerprint_of(const Request& in) {
  if (in.request_id().empty()) return {};
  const std::string& name = in.GetDescriptor()->full_name();
  return {in.request_id(), content_hash(name + '\0' + in.SerializeAsString())};
}

}  // namespace subak::api
