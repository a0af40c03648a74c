#include "server/edge/cluster/edge.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/effect_feed.h"
#include "server/edge/cluster/notices.h"
#include "server/edge/cluster/object_reads.h"
#include "server/edge/cluster/published_stats.h"
#include "server/edge/cluster/reports.h"
#include "server/edge/cluster/strays.h"
#include "server/edge/cluster/watches.h"
#include "server/edge/cluster/writes.h"
#include "server/edge/provisioning/provisioner.h"
#include "server/edge/writes/write_queue.h"

namespace subak {

// The parts of an edge, each after those that it uses, and the order of their work in a turn.
struct Edge::Impl {
  Impl(EdgeOptions o, EdgePorts p, std::unique_ptr<KubeApi> a);

  ProvisionerPorts provisioner_ports();
  void run();
  void turn();
  DurationMs patience() const;
  void publish();

  EdgeContext context;
  WriteQueue queue;
  Watches watches;
  EdgeSession session;
  Notices notices;
  ObjectReads reads;
  Reports reports;
  Writes writes;
  EffectFeed effects;
  Strays strays;
  Provisioner provisioner;
  // DomainStats::rows, and the version of the cache from which it was made.
  struct {
    std::shared_ptr<const std::vector<ComputeDomainRow>> rows;
    std::uint64_t version = UINT64_MAX;
  } domains;
  PublishedStats stats;
  std::atomic<bool> stopping{false};
  std::thread thread;
};

Edge::Impl::Impl(EdgeOptions o, EdgePorts p, std::unique_ptr<KubeApi> a)
    : context(std::move(o), std::move(p), std::move(a)),
      queue(context.cache),
      watches(context, [this] { queue.outdate(); }),
      session(context, watches,
              {.begun = [this](ClusterId id) { effects.subscribe(id); },
               .follows = [this] { queue.outdate(); },
               .ended =
                   [this] {
                     queue.forget();
                     notices.forget();
                     strays.forget();
                     provisioner.forget();
                     reports.forget();
                     effects.cancel();
                   }}),
      notices(context, session),
      reads(context),
      reports(context, session, watches, queue, notices),
      writes(context, session, queue, notices),
      effects(context, session, queue),
      strays(context, session, writes),
      provisioner(provisioner_ports(), *context.api, context.cache, context.requests),
      stats(context.options.cluster) {}

ProvisionerPorts Edge::Impl::provisioner_ports() {
  return {context.options.cluster,
          context.ports.read_starts,
          context.ports.view,
          context.ports.now_ms,
          context.ports.monotonic_ms,
          [to = context.inbox](std::function<void()> task) { to->put(std::move(task)); },
          [this](const std::string& uid, const char* reason, const char* action,
                 const std::string& note,
                 bool warning) { notices.tell_pod(uid, reason, action, note, warning); }};
}

void Edge::Impl::run() {
  while (!stopping) {
    turn();
    publish();
    context.api->turn(patience());
  }
}

void Edge::Impl::turn() {
  for (const auto& task : context.inbox->take()) task();
  session.begin_if_due();
  watches.turn();
  reads.read_leases();
  reads.outdate_devices();
  reads.read_outdated_pods();
  if (session.follows()) reads.read_outdated_nodes();
  session.begin_pods();
  context.cache.adopt_orphans(context.ports.monotonic_ms());
  for (const std::string& uid : context.cache.marks().take_withdrawn()) queue.withdraw(uid);
  reports.tell();
  session.finish_list();
  effects.take();
  if (!session.follows()) return;
  reports.say_until();
  writes.report_unschedulable();
  writes.report_not_ready();
  reports.tell_put_off();
  effects.confirm();
  writes.look_at_parked();
  writes.turn();
  strays.open();
  provisioner.turn(writes.is_full());
  notices.look_at_waiting();
  notices.look_at_domains();
  notices.look_at_budgets();
  notices.turn(writes.is_full());
}

// Returns the time until the next task is due.
DurationMs Edge::Impl::patience() const {
  DurationMs most =
      std::min({watches.due_in(), session.due_in(), strays.due_in(), reports.due_in()});
  if (session.follows())
    most = std::min({most, notices.due_in(writes.is_full()), provisioner.due_in()});
  if (queue.due_ms() == 0) return most;
  return std::min(most, wait_until(queue.due_ms(), context.ports.monotonic_ms()));
}

void Edge::Impl::publish() {
  const ClusterCache& cache = context.cache;
  EdgeStats now;
  now.listed = session.follows();
  now.synced = now.listed && watches.synced();
  now.error = session.error().empty() ? watches.error() : session.error();
  now.lists = watches.lists();
  now.nodes = cache.nodes().size();
  now.pods = cache.pods();
  now.writes = writes.done();
  now.events = notices.sent();
  now.refused = writes.refused();
  now.opened_outside = writes.opened_outside();
  now.unreadable = cache.unreadable().count;
  now.not_taken = reports.not_taken();
  now.put_off = reports.put_off();
  now.clock_behind_ms = cache.nodes().clocks().largest_ms();
  if (std::exchange(domains.version, cache.domains().version()) != cache.domains().version())
    domains.rows =
        std::make_shared<const std::vector<ComputeDomainRow>>(domain_rows(cache.domains()));
  now.domains = {domains.rows, notices.late_domain_nodes()};
  stats.publish(std::move(now), !session.is_off(), cache.unreadable());
}

Edge::Edge(EdgeOptions options, EdgePorts ports, std::unique_ptr<KubeApi> api)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(ports), std::move(api))) {}

Edge::~Edge() { stop(); }

void Edge::start() {
  if (!impl_->context.options.stepped) impl_->thread = std::thread([this] { impl_->run(); });
}

void Edge::stop() {
  Impl& e = *impl_;
  e.stopping = true;
  if (e.thread.joinable()) {
    e.context.inbox->wake();
    e.thread.join();
  }
  e.context.inbox->close();
  e.effects.cancel();
}

void Edge::tell_idle(const std::string& pod_uid, const std::string& note) {
  impl_->context.inbox->put(
      [e = impl_.get(), pod_uid, note] { e->notices.tell_idle(pod_uid, note); });
}

void Edge::tell_budget(BudgetNotice notice) {
  impl_->context.inbox->put([e = impl_.get(), notice = std::move(notice)]() mutable {
    e->notices.tell_budget(std::move(notice));
  });
}

void Edge::turn() {
  impl_->turn();
  impl_->publish();
  impl_->context.api->turn(0);
}

EdgeStats Edge::stats() const { return impl_->stats.read(); }

}  // namespace subak
