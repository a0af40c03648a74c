#include "api_objects.h"

#include <optional>

#include "core/names.h"
#include "core/text.h"
#include "kube/known_as.h"
#include "tests/server/edge/served_kinds.h"

namespace subak::fault {
namespace {

using json_out::value;

ApiObjects::Answered refused(int code, const char* reason, const std::string& message) {
  return {code, json_out::serialize(Object{{"kind", "Status"},
                                           {"status", "Failure"},
                                           {"reason", reason},
                                           {"message", message},
                                           {"code", code}})};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t to = text.find(at); to != std::string::npos; to = text.find(at, from)) {
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

// "/api/v1/namespaces/a/pods/p/eviction" in its parts.
struct Place {
  std::string collection, ns, name, sub;
  std::string key() const { return ns + "/" + name; }
};

Place place_of(const std::string& path) {
  std::vector<std::string> parts = split(path.substr(1), '/');
  const std::size_t root = parts[0] == "api" ? 2 : 3;
  Place place;
  for (std::size_t i = 0; i < root; ++i) place.collection += "/" + parts[i];
  std::size_t at = root;
  if (parts.size() > root + 2 && parts[root] == "namespaces") {
    place.ns = parts[root + 1];
    at = root + 2;
  }
  place.collection += "/" + parts[at];
  if (parts.size() > at + 1) place.name = parts[at + 1];
  if (parts.size() > at + 2) place.sub = parts[at + 2];
  return place;
}

// Conditions are one list by type, as strategic merge patches have it.
void merge_conditions(value& old, const json_out::array& patch) {
  if (!old.is_array()) old = json_out::array();
  for (const value& condition : patch) {
    value* same = nullptr;
    for (value& known : old.as_array()) {
      if (known.at("type") == condition.at("type")) same = &known;
    }
    same != nullptr ? * same = condition : old.as_array().emplace_back(condition);
  }
}

void merge(Object& old, const Object& patch) {
  for (const auto& [key, part] : patch) {
    if (part.is_null()) {
      old.erase(key);
    } else if (part.is_object()) {
      value& into = old[key];
      if (!into.is_object()) into = Object();
      merge(into.as_object(), part.as_object());
    } else if (key == "conditions") {
      merge_conditions(old[key], part.as_array());
    } else {
      old[key] = part;
    }
  }
}

std::string unescaped(std::string part) {
  for (const auto& [from, to] : {std::pair("~1", "/"), std::pair("~0", "~")}) {
    for (std::size_t at = part.find(from); at != std::string::npos; at = part.find(from, at + 1)) {
      part.replace(at, 2, to);
    }
  }
  return part;
}

value* step(value& in, const std::string& name) {
  if (in.is_object()) return in.as_object().if_contains(name);
  if (!in.is_array()) return nullptr;
  const std::size_t index = std::stoul(name);
  return index < in.as_array().size() ? &in.as_array()[index] : nullptr;
}

bool add(value& parent, const std::string& name, const value& what) {
  if (parent.is_object()) {
    parent.as_object()[name] = what;
    return true;
  }
  if (!parent.is_array()) return false;
  auto& items = parent.as_array();
  const std::size_t index = name == "-" ? items.size() : std::stoul(name);
  if (index > items.size()) return false;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(index), what);
  return true;
}

bool remove_at(value& parent, const std::string& name) {
  if (step(parent, name) == nullptr) return false;
  if (parent.is_object()) return parent.as_object().erase(name) > 0;
  auto& items = parent.as_array();
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(std::stoul(name)));
  return true;
}

// One operation of RFC 6902, of those that are used. False: it does not apply.
bool apply(value& root, const Object& op) {
  std::vector<std::string> parts = split(std::string(op.at("path").as_string()), '/');
  value* parent = &root;
  for (std::size_t i = 1; i + 1 < parts.size() && parent != nullptr; ++i) {
    parent = step(*parent, unescaped(parts[i]));
  }
  if (parent == nullptr) return false;
  const std::string name = unescaped(parts.back());
  const std::string_view kind = op.at("op").as_string();
  if (kind == "add") return add(*parent, name, op.at("value"));
  if (kind == "remove") return remove_at(*parent, name);
  const value* const there = step(*parent, name);
  return kind == "test" && there != nullptr && *there == op.at("value");
}

}  // namespace

const value* find_at(const Object& object, Keys keys) {
  const value* at = nullptr;
  const Object* in = &object;
  for (const char* key : keys) {
    at = in == nullptr ? nullptr : in->if_contains(key);
    if (at == nullptr) return nullptr;
    in = at->if_object();
  }
  return at;
}

std::string text_at(const Object& object, Keys keys) {
  const value* const at = find_at(object, keys);
  return at == nullptr || !at->is_string() ? "" : std::string(at->as_string());
}

std::string text_at(const value& value, Keys keys) {
  return value.is_object() ? text_at(value.as_object(), keys) : "";
}

Object* ApiObjects::find(const std::string& collection, const std::string& key) {
  const auto found = objects_[collection].find(key);
  return found == objects_[collection].end() ? nullptr : &found->second;
}

void ApiObjects::tell(const char* kind, const std::string& collection, Object& object) {
  object["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  changes_.push_back({version_, collection,
                      json_out::serialize(Object{{"type", kind}, {"object", object}}) + "\n"});
}

std::string ApiObjects::create(const std::string& collection, Object object) {
  Object& metadata = object["metadata"].as_object();
  metadata["uid"] = "uid-" + std::to_string(++serial_);
  const std::string key =
      text_at(object, {"metadata", "namespace"}) + "/" + text_at(object, {"metadata", "name"});
  Object& mine = objects_[collection][key] = std::move(object);
  tell("ADDED", collection, mine);
  return text_at(mine, {"metadata", "uid"});
}

void ApiObjects::changed(const std::string& collection, const std::string& key) {
  tell("MODIFIED", collection, objects_[collection].at(key));
}

void ApiObjects::remove(const std::string& collection, const std::string& key) {
  Object last = std::move(objects_[collection].at(key));
  objects_[collection].erase(key);
  tell("DELETED", collection, last);
}

std::vector<std::string> ApiObjects::initial(const std::string& collection) const {
  std::vector<std::string> lines;
  const auto found = objects_.find(collection);
  if (found == objects_.end()) return lines;
  for (const auto& [key, object] : found->second) {
    lines.push_back(json_out::serialize(Object{{"type", "ADDED"}, {"object", object}}) + "\n");
  }
  return lines;
}

// --- calls ---------------------------------------------------------------------------------------

ApiObjects::Answered ApiObjects::serve(const KubeCall& call) {
  if (call.method == "GET" && is_discovery(call.path)) {
    const std::string kinds = served_kinds(call.path);
    return kinds.empty() ? refused(404, "NotFound", call.path) : Answered{200, kinds};
  }
  const std::size_t mark = call.path.find('?');
  const Place place = place_of(call.path.substr(0, mark));
  if (call.method == "POST" && place.sub == "eviction") return evicted(place.key(), call);
  if (place.collection.ends_with("/events")) return {201, "{}"};
  if (call.path == kSelfReviewPath) {
    return {201, R"({"status":{"userInfo":{"username":"world:edge"}}})"};
  }
  if (call.method == "GET" && place.name.empty()) {
    return list(place.collection, mark == std::string::npos ? "" : call.path.substr(mark + 1));
  }
  if (call.method == "POST" && place.name.empty()) return post(place.collection, place.ns, call);
  const Object* const found = find(place.collection, place.key());
  if (found == nullptr) return refused(404, "NotFound", place.key() + " not found");
  if (call.method == "GET") return {200, json_out::serialize(*found)};
  if (call.method == "PATCH") return patch(place.collection, place.key(), call);
  if (call.method == "DELETE") return deleted(place.collection, place.key(), call);
  return refused(405, "MethodNotAllowed", call.method);
}

// All pages are of the same instant.
ApiObjects::Answered ApiObjects::list(const std::string& collection, const std::string& query) {
  constexpr std::size_t kPage = 4;
  const std::size_t at = query.find("continue=");
  std::vector<std::string> rest;
  std::uint64_t version = version_;
  if (at != std::string::npos) {
    const std::string token = query.substr(at + 9);
    const auto known = pages_.find(token);
    if (known == pages_.end()) return refused(410, "Expired", "the list is too old");
    rest = known->second;
    version = std::stoull(token.substr(0, token.find('-')));
  } else {
    for (const auto& [key, object] : objects_[collection]) {
      rest.push_back(json_out::serialize(object));
    }
  }
  std::string items, next;
  for (std::size_t i = 0; i < rest.size() && i < kPage; ++i) items += (i ? "," : "") + rest[i];
  if (rest.size() > kPage) {
    rest.erase(rest.begin(), rest.begin() + kPage);
    next = std::to_string(version) + "-" + std::to_string(++serial_);
    pages_[next] = std::move(rest);
  }
  return {200, R"({"metadata":{"resourceVersion":")" + std::to_string(version) +
                   R"(","continue":")" + next + R"("},"items":[)" + items + "]}"};
}

ApiObjects::Answered ApiObjects::patch(const std::string& collection, const std::string& key,
                                       const KubeCall& call) {
  const Object before = *find(collection, key);
  value after = before;
  const value body = json_out::parse(call.body);
  if (call.content_type == "application/json-patch+json") {
    for (const value& op : body.as_array()) {
      if (!apply(after, op.as_object())) {
        return refused(422, "Invalid", "the patch does not apply");
      }
    }
  } else {
    merge(after.as_object(), body.as_object());
  }
  for (const char* field : {"uid", "resourceVersion"}) {
    if (text_at(after, {"metadata", field}) != text_at(before, {"metadata", field})) {
      return refused(409, "Conflict", "the object has been modified");
    }
  }
  if (forgets_marks && call.body.find(names::kKeptClosed) != std::string::npos) {
    after.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(version_ + 1);
    return {200, json_out::serialize(after)};
  }
  wrote(collection, before, after.as_object());
  *find(collection, key) = after.as_object();
  changed(collection, key);
  return {200, json_out::serialize(*find(collection, key))};
}

ApiObjects::Answered ApiObjects::evicted(const std::string& key, const KubeCall& call) {
  const Object* const pod = find(kPods, key);
  if (pod == nullptr) return refused(404, "NotFound", key + " not found");
  const value body = json_out::parse(call.body);
  if (text_at(body, {"deleteOptions", "preconditions", "uid"}) !=
      text_at(*pod, {"metadata", "uid"})) {
    return refused(409, "Conflict", "another pod has this name");
  }
  evict(key);
  return {201, "{}"};
}

ApiObjects::Answered ApiObjects::post(const std::string& collection, const std::string& ns,
                                      const KubeCall& call) {
  Object object = json_out::parse(call.body).as_object();
  const std::string key = ns + "/" + text_at(object, {"metadata", "name"});
  if (find(collection, key) != nullptr) return refused(409, "AlreadyExists", key + " exists");
  create(collection, std::move(object));
  const Object& mine = *find(collection, key);
  if (made) made(collection, mine);
  const std::string answer = json_out::serialize(mine);
  if (loses_made) remove(collection, key);
  return {201, answer};
}

// An object with finalizers stays until they are gone.
ApiObjects::Answered ApiObjects::deleted(const std::string& collection, const std::string& key,
                                         const KubeCall& call) {
  Object& object = *find(collection, key);
  const value body = json_out::parse(call.body);
  if (text_at(body, {"preconditions", "uid"}) != text_at(object, {"metadata", "uid"})) {
    return refused(409, "Conflict", "another object has this name");
  }
  if (deleting) deleting(collection, object);
  const std::string last = json_out::serialize(object);
  if (!forgets_deletions) mark_deleted(collection, key);
  return {200, last};
}

void ApiObjects::mark_deleted(const std::string& collection, const std::string& key) {
  Object& metadata = find(collection, key)->at("metadata").as_object();
  const value* const finalizers = metadata.if_contains("finalizers");
  if (finalizers == nullptr || finalizers->as_array().empty()) return remove(collection, key);
  if (metadata.contains("deletionTimestamp")) return;
  metadata["deletionTimestamp"] = "2026-01-02T22:00:00Z";
  changed(collection, key);
}

Object without_words(Object object) {
  Object& metadata = object["metadata"].as_object();
  metadata.erase("resourceVersion");
  if (metadata.contains("annotations")) {
    Object& notes = metadata["annotations"].as_object();
    notes.erase(names::kStatus);
    notes.erase(names::kKeptClosed);
    if (notes.empty()) metadata.erase("annotations");
  }
  if (!object.contains("status")) return object;
  Object& status = object["status"].as_object();
  if (status.contains("conditions")) {
    auto& conditions = status["conditions"].as_array();
    for (auto it = conditions.begin(); it != conditions.end();) {
      const bool ours = it->at("type").as_string() == names::kQueuedCondition;
      it = ours ? conditions.erase(it) : it + 1;
    }
    if (conditions.empty()) status.erase("conditions");
  }
  return object;
}

Object without_ours(Object object) {
  object = without_words(std::move(object));
  Object& metadata = object["metadata"].as_object();
  if (metadata.contains("annotations")) {
    Object& notes = metadata["annotations"].as_object();
    notes.erase(names::kSuspendedBy);
    if (notes.empty()) metadata.erase("annotations");
  }
  Object& spec = object["spec"].as_object();
  for (const char* part : {"schedulingGates", "affinity", "suspend"}) spec.erase(part);
  return object;
}

}  // namespace subak::fault
