#include "engine/view.h"

namespace subak {

const AccountsView::Row* AccountsView::of_namespace(std::string_view cluster,
                                                    std::string_view ns) const {
  auto it = by_namespace.find(std::string(cluster) + "/" + std::string(ns));
  if (it == by_namespace.end()) it = by_namespace.find(std::string(ns));
  return it == by_namespace.end() ? nullptr : &rows[it->second];
}

const AccountsView::Row* AccountsView::of_path(std::string_view path) const {
  const auto it = by_path.find(std::string(path));
  return it == by_path.end() ? nullptr : &rows[it->second];
}

bool AccountsView::is_within(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty() || path == ancestor) return true;
  return path.size() > ancestor.size() && path.substr(0, ancestor.size()) == ancestor &&
         (path[ancestor.size()] == '.' || path[ancestor.size()] == '/');
}

Mode ClusterView::mode_of(std::string_view ns) const {
  for (const NamespaceMode& m : namespaces) {
    if (m.ns == ns) return m.mode;
  }
  return mode;
}

const ClusterView* View::cluster(std::string_view name) const {
  if (!clusters) return nullptr;
  if (name.empty()) return clusters->size() == 1 ? &clusters->front() : nullptr;
  for (const ClusterView& c : *clusters) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

}  // namespace subak
