// What a mutation's request id stands for: the id, and a digest of all that the caller said. Of the
// message and not of the input that an edge makes of it, since that also holds what was there then.
#pragma once

#include <string>

#include "core/content_hash.h"

namespace subak::api {

struct Asked {
  std::string request_id;
  std::uint64_t content = 0;  // 0: no request id
};

// The messages have no maps, so their bytes are their fields in the order of their numbers.
template <class Request>
Asked asked(const Request& in) {
  if (in.request_id().empty()) return {};
  const std::string& name = in.GetDescriptor()->full_name();
  return {in.request_id(), content_hash(name + '\0' + in.SerializeAsString())};
}

}  // namespace subak::api
