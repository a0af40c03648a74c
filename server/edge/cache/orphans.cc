#include "server/edge/cache/orphans.h"

#include <utility>

namespace subak {

void Orphans::clear() {
  entries_.clear();
  awaited_.clear();
}

void Orphans::add(const std::string& uid, std::string text, std::int64_t since_ms,
                  const std::vector<std::string>& owners) {
  const auto [at, is_new] = entries_.try_emplace(uid);
  at->second.text = std::move(text);
  if (!is_new) return;
  at->second.since_ms = since_ms;
  for (const std::string& owner : owners) awaited_.emplace(owner, uid);
}

std::optional<Orphans::Orphan> Orphans::take(const std::string& uid) {
  auto found = entries_.extract(uid);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

std::vector<std::string> Orphans::awaiting(const std::string& owner) {
  std::vector<std::string> out;
  const auto [first, last] = awaited_.equal_range(owner);
  for (auto at = first; at != last; ++at) out.push_back(at->second);
  awaited_.erase(first, last);
  return out;
}

std::vector<std::string> Orphans::waiting_since(std::int64_t now_ms,
                                                std::int64_t at_least_ms) const {
  std::vector<std::string> out;
  for (const auto& [uid, orphan] : entries_) {
    if (now_ms - orphan.since_ms >= at_least_ms) out.push_back(uid);
  }
  return out;
}

void Orphans::forget_owners() {
  std::erase_if(awaited_, [this](const auto& one) { return !entries_.contains(one.second); });
}

}  // namespace subak
