#include "accounting/edit/managed_by.h"

namespace subak {

namespace {

// Returns the path of the account above. The name of a user may have dots.
std::string_view above(std::string_view path) {
  const auto slash = path.find('/');
  const auto end = slash != std::string_view::npos ? slash : path.rfind('.');
  return path.substr(0, end == std::string_view::npos ? 0 : end);
}

}  // namespace

const AccountNode* managed_account(const AccountTree& tree, std::string_view path) {
  AccountId id = tree.find(path);
  while (!id && !path.empty()) {
    path = above(path);
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
