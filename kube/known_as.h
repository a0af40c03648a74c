// Who the API server takes us for: its answer to a SelfSubjectReview (k8s.io/api authentication/v1,
// Kubernetes 1.28 and later). Threads: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

inline constexpr const char* kSelfReviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
inline constexpr const char* kSelfReview =
    R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";

// status.userInfo.username. Errors: no JSON, no name, one of more than limits::kMaxTextBytes.
Result<std::string> read_known_as(std::string_view answer);

}  // namespace subak
