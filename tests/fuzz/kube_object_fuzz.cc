// One object of a cluster, as a watch sends it: read as a pod and as an owner of pods. What is read of
// a pod the engine takes or refuses by name, and says the same of it again; the patch that opens its
// gate is JSON that ends in taking one away; an owner's gang is never larger than a gang may be. And as the
// answer to who we are: a name within its limit. As the objects of a volume too: their lists are
// within the limits, and what both of two lists match is what one of them matches with itself. The
// rules of a pod about other pods are within their limits.
#include "core/limits.h"
#include "kube/known_as.h"
#include "kube/owner.h"
#include "kube/pod.h"
#include "kube/release.h"
#include "kube/volume/volume.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_record(const PodRecord& record) {
  Engine engine;
  engine.apply({1000, "", "fuzz", in::SetCluster{"c", Mode::kEnforce, {}, "", false}});
  const Input seen{2000, "", "fuzz", in::PodSeen{"c", record}};
  const Reply reply = engine.apply(seen).reply;
  if (reply.error) fuzz::check_error(*reply.error);
  const auto before = engine.seq();
  engine.apply(seen);
  assert(reply.error || engine.seq() == before);
}

void check_release(json::Value object, std::string_view node) {
  const auto patch = release_patch(object, {node, "Starting"});
  if (!patch.ok()) return fuzz::check_error(patch.error());
  simdjson::dom::parser parser;
  json::Value operations;
  assert(parser.parse(*patch).get(operations) == simdjson::SUCCESS);
  std::size_t removed = 0;
  json::each_item(operations, [&](std::size_t, json::Value operation) {
    removed += json::text(operation, "op") == "remove" ? 1 : 0;
  });
  assert(removed == 1);
}

void check_owner(json::Value object) {
  const auto owner = read_owner(object, {});
  if (!owner.ok()) return fuzz::check_error(owner.error());
  assert(!owner->uid.empty() && owner->roles.size() <= limits::kMaxTemplates);
  for (std::size_t role = 0; role < owner->roles.size(); ++role) {
    const std::uint32_t size = owner->gang_size(role);
    assert(size >= 1 && size <= limits::kMaxPodsPerJob);
  }
}

void check_volumes(json::Value object) {
  assert(read_pod_volumes(object).size() <= limits::kMaxPodListItems);
  (void)read_volume_claim(object);
  for (const auto& nodes : {read_volume_nodes(object), read_storage_class(object).nodes}) {
    assert(nodes.size() <= limits::kMaxSelectorTerms + 1);
    assert(both_of(nodes, nodes) == nodes && both_of(nodes, {}) == nodes);
  }
}

void check_near(json::Value object) {
  const Pod pod = read_pod(object, {});
  const NearPods near = read_near_pods(object, pod);
  assert(near.terms.size() + pod.shape.spread.size() <= 2 * limits::kMaxPodRules);
  for (const NearPods::Term& term : near.terms) {
    assert(!term.key.empty() && term.group >= 0);
    assert(!near.own || selects(term.selector, pod.labels));
  }
  assert(pod.shape.near.empty() || (near.own && pod.shape.near.size() == near.terms.size()));
  assert(pod.shape.spread.size() + pod.shape.near.size() <= limits::kMaxPodRules);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  simdjson::dom::parser parser;
  json::Value object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return 0;
  const auto record = pod_record_from_json(text);
  if (record.ok()) check_record(*record);
  check_volumes(object);
  check_near(object);
  check_release(object, "n1");
  check_release(object, "");
  check_owner(object);
  const auto known_as = read_known_as(text);
  if (!known_as.ok()) fuzz::check_error(known_as.error());
  assert(!known_as.ok() || (!known_as->empty() && known_as->size() <= limits::kMaxTextBytes));
  return 0;
}
