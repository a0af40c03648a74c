#include "server/edge/provisioning/request_cache.h"

#include <string_view>
#include <utility>

namespace subak {
namespace {

std::string path_in(std::string_view collection, const std::string& ns, const std::string& name) {
  const std::size_t last = collection.rfind('/');
  std::string out(collection.substr(0, last));
  out.append("/namespaces/").append(ns).append(collection.substr(last));
  if (!name.empty()) out.append("/").append(name);
  return out;
}

}  // namespace

std::string provisioning_path(const std::string& ns, const std::string& name) {
  return path_in(kProvisioningPath, ns, name);
}

std::string pod_template_path(const std::string& ns, const std::string& name) {
  return path_in("/api/v1/podtemplates", ns, name);
}

std::optional<Error> RequestCache::see(const WatchEvent& event) {
  Result<ProvisioningRequest> request = read_provisioning_request(event.object);
  if (!request) return request.error();
  const std::string key = namespaced_name(request->ns, request->name);
  if (event.kind == WatchKind::kDeleted || !request->is_ours()) {
    requests_.erase(key);
  } else {
    requests_.insert_or_assign(key, Entry{std::move(request).value(), list_});
  }
  return std::nullopt;
}

void RequestCache::complete() {
  std::erase_if(requests_, [this](const auto& entry) { return entry.second.list != list_; });
}

const ProvisioningRequest* RequestCache::provisioned(JobId job, const std::string& ns) const {
  const ProvisioningRequest* found = nullptr;
  for (const auto& [key, entry] : requests_) {
    const ProvisioningRequest& request = entry.request;
    if (request.job != job || request.ns != ns || request.going) continue;
    if (request.state != ProvisioningState::kProvisioned) continue;
    if (found == nullptr || found->number < request.number) found = &request;
  }
  return found;
}

}  // namespace subak
