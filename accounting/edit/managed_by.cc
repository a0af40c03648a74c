#include "accounting/edit/managed_by.h"

#include "core/account_path.h"

namespace subak {

const AccountNode* managed_account(const AccountTree& tree, std::string_view path) {
  AccountId id = tree.find(path);
  while (!id && !path.empty()) {
    path = parent_path(path);
    id = tree.find(path);
  }
  for (; id; id = tree.node(id).parent) {
    const AccountNode& node = tree.node(id);
    if (!node.spec.managed_by.empty()) return node.spec.managed_by == kAnyone ? nullptr : &node;
  }
  return nullptr;
}

bool is_manager(std::string_view mark, std::string_view actor) {
  constexpr std::string_view kToken = "token:";
  return actor == mark || (actor.starts_with(kToken) && actor.substr(kToken.size()) == mark);
}

}  // namespace subak
