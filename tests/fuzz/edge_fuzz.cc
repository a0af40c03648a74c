// A watch of everything at once into the edge's cards, with lists between its events, and what the core
// would be told, applied to an engine: whatever comes, nothing is told that an engine stops at, what it
// takes can be read back, and what is to be written is about objects that are there.
#include "core/limits.h"
#include "server/edge/writes/plan.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

// The row of an object that the edge would watch. Objects in a watch need not name their version.
const OwnerKindRow* row_of_object(json::Value object) {
  const auto kind = json::text(object, "kind");
  const OwnerKindRow* row = find_owner_kind(json::text(object, "apiVersion"), kind);
  if (const auto known = enum_from<OwnerKind>(kind); row == nullptr && known) row = &row_of(*known);
  return row;
}

constexpr TimeMs kNow = 1'800'000'000'000;

struct World {
  ClusterCache cache{"c",
                     {"example.com/gpu", "deviceclass.resource.kubernetes.io/other"},
                     default_other_schedulers()};
  Engine engine;
  TimeMs now = kNow;
  WantedJobs wanted;
  Fence fence;
  std::uint64_t order = 0;
  std::uint64_t pods_version = 0;  // of the last event of a pod

  World() {
    in::SetCluster cluster;
    cluster.name = "c";
    cluster.mode = Mode::kEnforce;
    cluster.reason = "fuzz";
    apply(cluster);
    in::SetAccount account;
    account.spec.path = "a";
    account.spec.namespaces = {"a"};
    account.reason = "fuzz";
    apply(account);
    apply(in::ListBegin{"c"});
    apply(in::ListComplete{"c"});
  }
  void apply(in::Body body) {
    Input input;
    input.time_ms = now;
    input.body = std::move(body);
    const auto read = input_from_text(input_to_text(input));
    assert(read.ok());
    for (Effect& effect : engine.apply(input).effects) {
      const JobId job = effect.job;
      fence.take(effect, order % 2 == 0);
      wanted[job] = {std::move(effect), ++order};
    }
  }
  void see(const WatchEvent& event) {
    const auto kind = json::text(event.object, "kind");
    if (event.kind == WatchKind::kBookmark || event.kind == WatchKind::kError) return relist();
    if (kind == "ResourceSlice") {
      cache.needs().claims().devices().see_slice(event);
    } else if (kind == "DeviceClass") {
      cache.needs().claims().devices().see_class(event);
    } else if (kind == "ResourceClaim") {
      cache.needs().claims().see_claim(event);
    } else if (kind == "ResourceClaimTemplate") {
      cache.needs().claims().see_template(event);
    } else if (kind == "Node") {
      cache.see_node(event, now);
    } else if (const OwnerKindRow* const row = row_of_object(event.object)) {
      cache.see_owner(event, collection_of(*row, row->versions.front()));
    } else {
      pods_version = version_number(event.resource_version);
      cache.see_pod(event, now - kNow);
    }
    settle(pods_version);
  }
  void relist() {
    for (const std::string& owners : owner_collections()) {
      cache.owners().begin(owners);
      cache.complete_owners(owners);
    }
    cache.begin_pods(now);
    if (!cache.complete_pods(now)) {
      cache.begin_pods(now);
      assert(cache.complete_pods(now));
    }
    settle(Outbox::kAllPodsKnown);
    assert(cache.outbox().is_empty());
  }
  void settle(std::uint64_t known) {
    now += kSecondMs;
    while (!cache.nodes().silent().empty()) {
      cache.nodes().see_lease(std::string(cache.nodes().silent().begin()->first), "");
    }
    cache.adopt_orphans(now - kNow);
    cache.needs().claims().devices().take_changed_nodes();
    cache.needs().claims().take_outdated();
    cache.marks().take_outdated();
    cache.nodes().take_changed();
    while (auto news = cache.outbox().next(known)) {
      apply(std::move(news->body));
      cache.outbox().answered(news->uid);
    }
    assert(!cache.outbox().has_next(known));
    apply(in::Pass{});
    fence.prune(cache);
    const Plan plan = plan_writes(wanted, fence, cache, {}, now, now - kNow, 100);
    for (const KubeWrite& write : plan.writes) {
      const bool pod = write.kind != WriteKind::kSuspend && write.kind != WriteKind::kResume;
      assert(pod ? cache.find_gpu_pod(write.uid) != nullptr
                 : cache.owners().find(write.uid) != nullptr);
      if (write.kind != WriteKind::kRelease) continue;
      const auto patch =
          release_patch(cache.find_gpu_pod(write.uid)->gpu->release, {write.node, "s"});
      if (!patch.ok()) fuzz::check_error(patch.error());
    }
    for (const JobId job : plan.settled) wanted.erase(job);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World world;
  WatchStream watch;
  const auto error =
      watch.feed(fuzz::text_of(data, size), [&](const WatchEvent& event) { world.see(event); });
  if (error) fuzz::check_error(*error);
  world.relist();
  world.engine.check_invariants();
  return 0;
}
