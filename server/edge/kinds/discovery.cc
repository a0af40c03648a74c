#include "server/edge/kinds/discovery.h"

#include <algorithm>
#include <utility>

#include "core/edge_limits.h"
#include "core/limits.h"

namespace subak {

KindDiscovery::KindDiscovery(KubeApi& api, std::function<std::int64_t()> now)
    : api_(api), now_(std::move(now)) {
  for (const OwnerKindRow& row : owner_kinds()) {
    if (row.watch == OwnerWatch::kAlways) continue;
    for (const std::string_view version : row.versions) {
      if (version.empty() || find(row.group, version) != nullptr) continue;
      Version& of = versions_.emplace_back();
      of.group = row.group;
      of.version = version;
    }
  }
}

const KindDiscovery::Version* KindDiscovery::find(std::string_view group,
                                                  std::string_view version) const {
  const auto at = std::find_if(versions_.begin(), versions_.end(), [&](const Version& v) {
    return v.group == group && v.version == version;
  });
  return at == versions_.end() ? nullptr : &*at;
}

void KindDiscovery::turn() {
  for (std::size_t i = 0; i < versions_.size(); ++i) {
    const bool is_due = !versions_[i].under_way && versions_[i].due_ms <= now_();
    if (is_due && pace_.due_in(now_()) == 0) ask(i);
  }
}

void KindDiscovery::ask(std::size_t index) {
  pace_.note(now_());
  KubeCall call;
  call.path = std::string("/apis/").append(versions_[index].group).append("/");
  call.path.append(versions_[index].version);
  versions_[index].under_way = true;
  const bool asked =
      api_.call(std::move(call), [this, index](const CallAnswer& answer, std::string_view body) {
        take(versions_[index], answer, body);
      });
  if (asked) return;
  versions_[index].under_way = false;
  versions_[index].due_ms = now_() + limits::kEdgeRetryMs;
}

void KindDiscovery::take(Version& of, const CallAnswer& answer, std::string_view body) {
  of.under_way = false;
  of.answered = true;
  simdjson::dom::parser parser;
  json::Value list;
  const bool absent = answer.outcome == Outcome::kNotFound;
  const bool read = answer.outcome == Outcome::kDone &&
                    parser.parse(body.data(), body.size()).get(list) == simdjson::SUCCESS &&
                    json::member(list, "resources");
  if (!absent && !read) {
    of.due_ms = now_() + std::max(of.backoff.next(), answer.delay_ms);
    return;
  }
  of.known = true;
  of.backoff.reset();
  of.due_ms = now_() + limits::kDiscoveryMs;
  of.served.clear();
  if (absent) return;
  for (const OwnerKindRow& row : owner_kinds()) {
    if (row.group == of.group && is_served(row, list)) of.served.push_back(row.kind);
  }
}

DurationMs KindDiscovery::due_in() const {
  DurationMs most = limits::kLoopMaxWaitMs;
  const std::int64_t now = now_();
  for (const Version& of : versions_) {
    if (of.under_way) continue;
    most = std::min(most, std::max<DurationMs>({of.due_ms - now, pace_.due_in(now), 0}));
  }
  return most;
}

bool KindDiscovery::is_answered() const {
  return std::all_of(versions_.begin(), versions_.end(),
                     [](const Version& of) { return of.answered; });
}

std::string KindDiscovery::collection(OwnerKind kind) const {
  const OwnerKindRow& row = row_of(kind);
  if (row.watch == OwnerWatch::kAlways) return collection_of(row, row.versions.front());
  bool all_known = true;
  for (const std::string_view version : row.versions) {
    const Version* const of = version.empty() ? nullptr : find(row.group, version);
    if (of == nullptr) continue;
    const bool serves = std::find(of->served.begin(), of->served.end(), kind) != of->served.end();
    if (serves) return collection_of(row, version);
    all_known = all_known && of->known;
  }
  const bool try_it = row.watch == OwnerWatch::kUnlessAbsent && !all_known && is_answered();
  return try_it ? collection_of(row, row.versions.front()) : std::string();
}

bool KindDiscovery::is_absent(OwnerKind kind) const {
  const OwnerKindRow& row = row_of(kind);
  if (row.watch == OwnerWatch::kAlways || !collection(kind).empty()) return false;
  return std::all_of(row.versions.begin(), row.versions.end(), [&](std::string_view version) {
    const Version* const of = version.empty() ? nullptr : find(row.group, version);
    return of == nullptr || of->known;
  });
}

}  // namespace subak
