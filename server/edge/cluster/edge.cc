#include "server/edge/cluster/edge.h"

#include <algorithm>
#include <utility>

#include "core/cut.h"
#include "kube/known_as.h"
#include "server/edge/cluster/edge_impl.h"
#include "server/log/log.h"

namespace subak {
namespace {

constexpr const char* kActor = "edge";

// Describes an answer that is not an API server's, such as a proxy's sign-in page.
std::string described(std::string_view body) {
  if (body.empty()) return "empty, want the object in JSON from an API server";
  return "\"" + cut_text(body) + "\", want the object in JSON from an API server";
}

}  // namespace

// --- a session -----------------------------------------------------------------------------------

void Edge::Impl::run() {
  while (!stopping) {
    turn();
    publish();
    api->turn(patience());
  }
}

void Edge::Impl::turn() {
  for (const auto& task : inbox->take()) task();
  if (phase == Phase::kOff && ports.monotonic_ms() >= begin_due_ms) begin_session();
  for (Reflector* reflector : reflectors()) reflector->turn();
  read_leases();
  read_outdated();
  read_outdated_nodes();
  if (phase == Phase::kNodes) begin_pods();
  cache.adopt_orphans(ports.monotonic_ms());
  tell();
  if (phase == Phase::kPods) finish_list();
  take_effects();
  if (phase != Phase::kFollows) return;
  say_until();
  report_unschedulable();
  tell_put_off();
  confirm();
  write();
  open_strays();
  look_at_waiting();
  if (may_tell()) recorder->turn();
}

// Returns the time until the next task is due.
DurationMs Edge::Impl::patience() const {
  DurationMs most = limits::kLoopMaxWaitMs;
  for (const Reflector* reflector : reflectors()) most = std::min(most, reflector->due_in());
  const std::int64_t now = ports.monotonic_ms();
  const auto until = [&](std::int64_t due) {
    most = std::min<DurationMs>(most, std::max<std::int64_t>(due - now, 0));
  };
  if (phase == Phase::kFollows && may_tell()) most = std::min(most, recorder->due_in());
  if (phase == Phase::kOff) until(begin_due_ms);
  if (plan_due_ms != 0) until(plan_due_ms);
  if (!strays.empty()) until(stray_due_ms);
  if (!put_off.empty()) until(put_off_due_ms);
  constexpr DurationMs kMailboxFullMs = 5;
  if (cache.outbox().has_next(pods_version())) most = std::min<DurationMs>(most, kMailboxFullMs);
  return most;
}

// Identifies the cluster first: a list of another cluster would end all known pods.
void Edge::Impl::begin_session() {
  phase = Phase::kBegins;
  session_pace.note(ports.monotonic_ms());
  KubeCall call;
  call.path = "/api/v1/namespaces/kube-system";
  const bool asked =
      api->call(std::move(call), [this](const CallAnswer& answer, std::string_view body) {
        if (phase != Phase::kBegins) return;
        if (answer.outcome == Outcome::kNotFound) return ask_who({});
        simdjson::dom::parser parser;
        json::Value found;
        const bool read = answer.outcome == Outcome::kDone &&
                          parser.parse(body.data(), body.size()).get(found) == simdjson::SUCCESS;
        const std::string uid(read ? json::text_in(found, "metadata", "uid") : "");
        if (!uid.empty()) return ask_who(uid);
        const std::string why =
            answer.outcome != Outcome::kDone ? answer.message : "the answer is " + described(body);
        end_session("the namespace kube-system: " + why);
      });
  if (!asked) end_session("too many calls are under way");
}

// Asks for the service's user name. Without an answer the cluster is followed too, and the webhook
// trusts the configured name.
void Edge::Impl::ask_who(const std::string& uid) {
  KubeCall call;
  call.method = "POST";
  call.path = kSelfReviewPath;
  call.body = kSelfReview;
  const bool asked =
      api->call(std::move(call), [this, uid](const CallAnswer& answer, std::string_view body) {
        if (phase != Phase::kBegins) return;
        const Result<std::string> user =
            answer.outcome == Outcome::kDone
                ? read_known_as(body)
                : Error{ErrorCode::kInvalid, "SelfSubjectReview", "", answer.message};
        if (!user) {
          log::warn("the API server does not say which user this service is",
                    {{"cluster", options.cluster}, {"error", user.error().message()}});
        }
        known_as = user ? *user : std::string();
        begin_list(uid);
      });
  if (!asked) end_session("too many calls are under way");
}

void Edge::Impl::begin_list(const std::string& uid) {
  const std::shared_ptr<const View> view = ports.view();
  const ClusterView* const cluster = view->cluster(options.cluster);
  if (cluster == nullptr) return end_session("there is no cluster " + options.cluster);
  session = cluster->session + 1;
  const ClusterId id = cluster->id;
  const bool posted =
      post(in::ListBegin{options.cluster, uid, known_as}, [this, id](const Reply& reply) {
        session_begun(reply);
        if (phase == Phase::kNodes) subscribe(id);
      });
  if (!posted) end_session("the service takes nothing now");
}

void Edge::Impl::session_begun(const Reply& reply) {
  if (reply.error) return end_session(reply.error->message());
  phase = Phase::kNodes;
  follow_nodes();
  follow_namespaces();
  follow_owners();
  follow_leases();
}

void Edge::Impl::subscribe(ClusterId id) {
  effects = ports.subscribe(id, [inbox = inbox] { inbox->wake(); });
  if (effects == nullptr) end_session("the service is stopping");
}

// Drops the cache; the next session begins after a pause.
void Edge::Impl::end_session(const std::string& why) {
  log::warn("edge begins again", {{"cluster", options.cluster}, {"error", why}});
  const bool was_steady =
      phase == Phase::kFollows && ports.monotonic_ms() - follows_since_ms >= limits::kSteadyWatchMs;
  if (was_steady) backoff.reset();
  error = why;
  for (const Reflector* reflector : reflectors()) lists_before += reflector->lists();
  nodes.reset();
  namespaces.reset();
  pods.reset();
  leases.reset();
  owners.clear();
  cache.forget_told();
  wanted.clear();
  fence.clear();
  planned.clear();
  waiting->forget();
  strays.clear();
  put_off.clear();
  if (effects) effects->cancel();
  effects.reset();
  phase = Phase::kOff;
  const std::int64_t now = ports.monotonic_ms();
  begin_due_ms = now + std::max(backoff.next(), session_pace.due_in(now));
}

std::vector<Reflector*> Edge::Impl::reflectors() const {
  std::vector<Reflector*> all;
  if (nodes) all.push_back(nodes.get());
  if (namespaces) all.push_back(namespaces.get());
  if (pods) all.push_back(pods.get());
  if (leases) all.push_back(leases.get());
  for (const auto& owner : owners) all.push_back(owner.get());
  return all;
}

std::unique_ptr<Reflector> Edge::Impl::follow(const char* path, ReflectorSink sink) {
  RequestPace& begins = kind_paces.try_emplace(path, limits::kMaxFollowRequests).first->second;
  auto reflector = std::make_unique<Reflector>(
      *api, path, std::move(sink), Reflector::Paces{begins, page_pace}, ports.monotonic_ms);
  reflector->start();
  return reflector;
}

void Edge::Impl::follow_nodes() {
  ReflectorSink sink;
  sink.begin = [this] { cache.nodes().begin(); };
  sink.object = [this](const WatchEvent& event) { cache.see_node(event, ports.now_ms()); };
  sink.alive = [this] { nodes_heard_ms = ports.now_ms(); };
  sink.complete = [this] { return cache.nodes().complete(nodes_heard_ms, nodes->version()); };
  nodes = follow(kNodesPath, std::move(sink));
}

void Edge::Impl::follow_namespaces() {
  ReflectorSink sink;
  sink.begin = [this] { cache.namespaces().begin(); };
  sink.object = [this](const WatchEvent& event) { cache.namespaces().see(event); };
  sink.complete = [this] { return cache.namespaces().complete(); };
  namespaces = follow(kNamespacesPath, std::move(sink));
}

// While the API server has trouble, only one pod at a time is requested.
void Edge::Impl::read_outdated() {
  const bool failing = outdated_backoff.tries() > 0;
  const std::int64_t now = ports.monotonic_ms();
  if (failing && now < outdated_due_ms) return;
  if (failing) outdated_due_ms = now + outdated_backoff.next();
  for (const std::string& uid : cache.marks().take_outdated(failing ? 1 : SIZE_MAX)) {
    const PodEntry* const pod = cache.find_gpu_pod(uid);
    if (pod == nullptr) continue;
    KubeCall call;
    call.path = pod_path(pod->ns, pod->name);
    const bool asked =
        api->call(std::move(call), [this, uid](const CallAnswer& answer, std::string_view body) {
          if (answer.outcome == Outcome::kNotFound) return;
          simdjson::dom::parser parser;
          json::Value found;
          const bool read = answer.outcome == Outcome::kDone &&
                            parser.parse(body.data(), body.size()).get(found) == simdjson::SUCCESS;
          if (!read) return put_off_outdated(uid, answer.delay_ms);
          outdated_backoff.reset();
          cache.see_answered_pod(found, ports.monotonic_ms());
        });
    if (!asked) put_off_outdated(uid, 0);
  }
}

void Edge::Impl::put_off_outdated(const std::string& uid, DurationMs at_least) {
  cache.marks().put_outdated(uid);
  const std::int64_t now = ports.monotonic_ms();
  if (outdated_backoff.tries() == 0) outdated_due_ms = now + outdated_backoff.next();
  outdated_due_ms = std::max(outdated_due_ms, now + at_least);
}

void Edge::Impl::follow_owners() {
  for (const char* const path : kOwnerPaths) {
    ReflectorSink of_owners;
    of_owners.begin = [this, path] { cache.owners().begin(path); };
    of_owners.object = [this, path](const WatchEvent& event) {
      replan = true;
      cache.see_owner(event, path);
    };
    of_owners.complete = [this, path] {
      cache.complete_owners(path);
      return true;
    };
    owners.push_back(follow(path, std::move(of_owners)));
  }
}

// Starts once nodes and owners are known, so that each pod is reported completely and once.
void Edge::Impl::follow_pods() {
  ReflectorSink sink;
  sink.begin = [this] {
    list_began_ms = ports.now_ms();
    cache.begin_pods(list_began_ms);
  };
  sink.object = [this](const WatchEvent& event) {
    replan = true;
    cache.see_pod(event, ports.monotonic_ms());
  };
  sink.alive = [this] { heard_ms = ports.now_ms(); };
  sink.complete = [this] {
    const bool believed = cache.complete_pods(heard_ms);
    if (believed) heard_ms = list_began_ms;
    return believed;
  };
  pods = follow(kPodsPath, std::move(sink));
}

// The cluster need not have every kind of owner.
void Edge::Impl::begin_pods() {
  const bool asked = std::all_of(owners.begin(), owners.end(), [](const auto& owner) {
    return owner->listed() || !owner->error().empty();
  });
  if (!asked || !nodes->listed() || !namespaces->listed()) return;
  phase = Phase::kPods;
  follow_pods();
}

// The list is complete once all of it was reported and is durable.
void Edge::Impl::finish_list() {
  if (!pods->listed() || !cache.outbox().is_empty() || cache.any_untold() || posts > 0) return;
  const bool posted = post(in::ListComplete{options.cluster}, [this](const Reply& reply) {
    if (reply.error) return end_session(reply.error->message());
    phase = Phase::kFollows;
    follows_since_ms = ports.monotonic_ms();
    error.clear();
    replan = true;
    log::info("edge follows", {{"cluster", options.cluster},
                               {"known_as", known_as},
                               {"session", session},
                               {"nodes", cache.nodes().size()},
                               {"pods", cache.pods()}});
  });
  if (posted) phase = Phase::kEnds;
}

// --- updates for the core ------------------------------------------------------------------------

// `done` runs on the edge's thread unless the session has ended meanwhile.
bool Edge::Impl::post(in::Body body, ReplyFn done, TimeMs said_at_ms) {
  Input input;
  input.said_at_ms = said_at_ms;
  input.actor = kActor;
  input.body = std::move(body);
  input.session = session;
  const auto answered = [this, to = inbox, of = session, done = std::move(done)](const Reply& r) {
    to->put([this, of, done, r] {
      --posts;
      if (of == session && phase != Phase::kOff) done(r);
    });
  };
  if (!ports.post(std::move(input), answered)) return false;
  ++posts;
  return true;
}

// A running list of pods, or events that the watch has not sent yet, may contain ends of pods on
// deleted nodes.
std::uint64_t Edge::Impl::pods_version() const {
  if (phase != Phase::kFollows) return Outbox::kAllPodsKnown;
  return pods->watches() ? version_number(pods->version()) : 0;
}

void Edge::Impl::tell() {
  if (phase == Phase::kOff || phase == Phase::kBegins) return;
  while (posts < limits::kMaxEdgePosts) {
    std::optional<News> news = cache.outbox().next(pods_version());
    if (!news) return;
    News told{{}, news->uid};
    const auto done = [this, told](const Reply& reply) { on_reply(told, reply); };
    if (!post(news->body, done, said_at(*news))) {
      return cache.outbox().put_back(std::move(*news));
    }
  }
}

// All events of the pod watch were reported, so all earlier changes are known.
void Edge::Impl::say_until() {
  if (heard_ms < said_until_ms + limits::kSeenUntilEveryMs || !cache.outbox().is_empty()) return;
  const bool posted =
      post(in::SeenUntil{options.cluster, heard_ms}, [this](const Reply& r) { on_reply({}, r); });
  if (posted) said_until_ms = heard_ms;
}

void Edge::Impl::on_reply(const News& news, const Reply& reply) {
  cache.outbox().answered(news.uid);
  replan = replan || fence.pods().contains(news.uid);
  if (!reply.error) return;
  if (reply.error->field == "session") return end_session(reply.error->message());
  if (reply.error->code == ErrorCode::kExhausted && reply.error->field == "queue") {
    return put_off_pod(news.uid, reply.error->want);
  }
  ++not_taken;
  log::warn("the core does not take what is seen",
            {{"cluster", options.cluster}, {"uid", news.uid}, {"error", reply.error->message()}});
}

// The pod stays behind its gate, and its status shows why.
void Edge::Impl::put_off_pod(const std::string& uid, const std::string& words) {
  if (put_off.empty()) {
    log::warn("pods are put off: too many wait", {{"cluster", options.cluster}, {"why", words}});
    put_off_due_ms = ports.monotonic_ms() + limits::kPutOffRetryMs;
  }
  put_off.push_back(uid);
  put_off_again = true;
  waiting->put_off(uid, words, ports.now_ms());
}

// While the core accepts all repeated pods, more are sent at once.
void Edge::Impl::tell_put_off() {
  if (put_off.empty() || ports.monotonic_ms() < put_off_due_ms) return;
  put_off_at_once = put_off_again ? limits::kPutOffRetries
                                  : std::min(2 * put_off_at_once, limits::kMaxEdgePosts / 4);
  put_off_again = false;
  for (std::size_t i = 0; i < put_off_at_once && !put_off.empty(); ++i, put_off.pop_front()) {
    cache.tell_again(put_off.front());
  }
  put_off_due_ms = ports.monotonic_ms() + limits::kPutOffRetryMs;
}

// --- what others see -----------------------------------------------------------------------------

void Edge::Impl::publish() {
  EdgeStats now;
  now.listed = phase == Phase::kFollows;
  now.synced = now.listed && nodes->synced() && pods->synced();
  now.error = error;
  now.lists = lists_before;
  for (const Reflector* reflector : reflectors()) {
    now.lists += reflector->lists();
    const bool needed =
        reflector == nodes.get() || reflector == namespaces.get() || reflector == pods.get();
    if (now.error.empty() && (needed || reflector->ends_early())) now.error = reflector->error();
  }
  now.nodes = cache.nodes().size();
  now.pods = cache.pods();
  now.writes = writes;
  now.events = recorder->sent();
  now.refused = refused;
  now.opened_outside = opened_outside;
  now.unreadable = cache.unreadable().count;
  now.not_taken = not_taken;
  now.put_off = put_off.size();
  now.clock_behind_ms = cache.nodes().clocks().largest_ms();
  const MutexLock lock(stats_mutex);
  if (stats.error != now.error && !now.error.empty() && phase != Phase::kOff) {
    log::warn("edge", {{"cluster", options.cluster}, {"error", now.error}});
  }
  if (said_unreadable != cache.unreadable().last) {
    said_unreadable = cache.unreadable().last;
    log::warn("an object cannot be read, or not all of it",
              {{"cluster", options.cluster}, {"error", said_unreadable}});
  }
  stats = std::move(now);
}

Edge::Edge(EdgeOptions options, EdgePorts ports, std::unique_ptr<KubeApi> api)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(ports), std::move(api))) {
  Impl& e = *impl_;
  e.writer = std::make_unique<Writer>(*e.api, e.cache, e.hooks());
  e.recorder = std::make_unique<EventRecorder>(*e.api, e.ports.now_ms, e.ports.monotonic_ms);
  e.waiting = std::make_unique<Waiting>(e.cache, *e.recorder);
  e.inbox = std::make_shared<Inbox>([api = e.api.get()] { api->wake(); });
}

Edge::~Edge() { stop(); }

void Edge::start() {
  if (!impl_->options.stepped) impl_->thread = std::thread([this] { impl_->run(); });
}

void Edge::stop() {
  Impl& e = *impl_;
  e.stopping = true;
  if (e.thread.joinable()) {
    e.inbox->wake();
    e.thread.join();
  }
  e.inbox->close();
  if (e.effects) e.effects->cancel();
}

void Edge::turn() {
  impl_->turn();
  impl_->publish();
  impl_->api->turn(0);
}

EdgeStats Edge::stats() const { return impl_->read_stats(); }

}  // namespace subak
