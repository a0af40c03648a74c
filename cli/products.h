// GPU products by short names: "H100" for "NVIDIA-H100-80GB-HBM3". Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {

// Returns the products of `fleet` that `name` may stand for, without regard to case. If a product
// has exactly this name, it is the only one. Else they are the products that contain it as whole
// words ("A100", not "A10"), else those that contain it anywhere.
std::vector<std::string> products_like(const std::string& name,
                                       const std::vector<std::string>& fleet);

// Resolves product names. It asks the service for its products at most once, when a name is to be
// resolved.
class Products {
 public:
  explicit Products(Session& session) : session_(session) {}

  // Replace short names of one product by its name. Throw Failure (usage) with the list if several
  // match. Unknown names are an error in a job. In an account they stay (the products may be on
  // order; the service warns). With an empty fleet all names stay.
  void resolve(v1::JobSpec* job);
  void resolve(const std::string& where, v1::Account* account);

 private:
  // Returns the products of the service's clusters. The first call asks for them.
  const std::vector<std::string>& fleet();
  // Replaces one name. `must_exist`: an unknown name is a usage failure.
  void resolve_one(const std::string& where, bool must_exist, std::string* name);

  Session& session_;
  // nullopt: not asked for yet.
  std::optional<std::vector<std::string>> fleet_;
};

}  // namespace subak::cli
