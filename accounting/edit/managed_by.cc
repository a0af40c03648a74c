#include "accounting/edit/managed_by.h"

namespace subak {

const AccountNode* managed_account(const AccountTree& tree, std::string_view path) {
  for (;;) {
    const AccountId id = tree.find(path);
    if (id && !tree.node(id).spec.managed_by.empty()) {
      const AccountNode& node = tree.node(id);
      return node.spec.managed_by == kAnyone ? nullptr : &node;
    }
    if (path.empty()) return nullptr;
    const auto end = path.find_last_of("./");
    // The name of a user may have dots.
    const auto slash = path.find('/');
    path = path.substr(0, slash != std::string_view::npos ? slash
                          : end != std::string_view::npos ? end
                                                          : 0);
  }
}

bool is_manager(std::string_view mark, std::string_view actor) {
  constexpr std::string_view kToken = "token:";
  return actor == mark || (actor.starts_with(kToken) && actor.substr(kToken.size()) == mark);
}

}  // namespace subak
