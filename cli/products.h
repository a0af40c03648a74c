// Lets users write GPU products by short names: "H100" for "NVIDIA-H100-80GB-HBM3".
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {

// Returns the products of `fleet` that `name` may stand for; case does not matter. If a product has
// exactly this name, it is the only result. Otherwise the results are the products that contain
// `name` as whole words ("A10" does not match "A100"). If there is no such product, the results are
// the products that contain `name` anywhere.
std::vector<std::string> products_like(const std::string& name,
                                       const std::vector<std::string>& fleet);

// Resolves product names. It asks the service for its products once, when the first name needs
// them.
class Products {
 public:
  explicit Products(Session& session) : session_(session) {}

  // Replace each short name that stands for one product by the product's full name. If several
  // products match, throw Failure (usage) with their list. In a job, an unknown name is an error.
  // In an account, unknown names stay, because the products may be on order; the service warns
  // about such names. With an empty fleet, all names stay.
  void resolve(v1::JobSpec* job);
  void resolve(const std::string& where, v1::Account* account);

 private:
  // Returns the products of the service's clusters. The first call asks the service for them.
  const std::vector<std::string>& fleet();
  // Replaces one name. `must_exist`: an unknown name is a usage failure.
  void resolve_one(const std::string& where, bool must_exist, std::string* name);

  // Replaces the short names of products in a list of budgets. An unknown name stays.
  void resolve_budgets(const std::string& where, std::string* budgets);
  // Does the same for a list of limits: "H100=2,jobs=4".
  void resolve_limits(const std::string& where, std::string* limits);

  Session& session_;
  // The products of the service. nullopt: not asked for yet.
  std::optional<std::vector<std::string>> fleet_;
};

}  // namespace subak::cli
