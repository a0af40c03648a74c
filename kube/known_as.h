// Reads the user name by which the API server knows Subak, from its answer to a SelfSubjectReview
// (k8s.io/api authentication/v1, Kubernetes 1.28 and later). The webhook trusts requests of this
// user.
// Threads: any; a pure function.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

// The path and the body of the POST that asks the API server for this name.
inline constexpr const char* kSelfReviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
inline constexpr const char* kSelfReview =
    R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";

// Returns status.userInfo.username. Errors: no JSON, no name, a name of more than
// limits::kMaxTextBytes.
Result<std::string> read_known_as(std::string_view answer);

}  // namespace subak
