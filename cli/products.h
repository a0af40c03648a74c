// GPU products as people say them: "H100" for "NVIDIA-H100-80GB-HBM3". Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {

// The products of `fleet` that `name` may stand for, upper and lower case alike: the one that is
// called so, else those that have it as whole words ("A100", not "A10"), else as a part.
std::vector<std::string> products_like(const std::string& name,
                                       const std::vector<std::string>& fleet);

// Asks the service for its products when one is to be resolved, once.
class Products {
 public:
  explicit Products(Session& session) : session_(session) {}

  // In place. Short names of one product become its name. Throws Failure (usage) with the list
  // where several have it. Unknown ones: an error in a job, unchanged in an account (they may be on
  // order; the service warns). An empty fleet knows nothing: all names stay.
  void resolve(v1::JobSpec* job);
  void resolve(const std::string& where, v1::Account* account);

 private:
  const std::vector<std::string>& fleet();
  void resolve_one(const std::string& where, bool must_exist, std::string* name);

  Session& session_;
  std::optional<std::vector<std::string>> fleet_;
};

}  // namespace subak::cli
