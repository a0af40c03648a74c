#include "server/kube/edge.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "kube/json.h"
#include "server/kube/cards.h"
#include "server/kube/client.h"
#include "server/kube/plan.h"
#include "server/kube/reflector.h"
#include "server/kube/teller.h"
#include "server/kube/writer.h"
#include "server/log/log.h"

namespace subak {
namespace {

constexpr const char* kPodsPath = "/api/v1/pods";
constexpr const char* kNodesPath = "/api/v1/nodes";
constexpr const char* kOwnerPaths[] = {"/apis/batch/v1/jobs",
                                       "/apis/jobset.x-k8s.io/v1alpha2/jobsets"};
constexpr const char* kActor = "edge";

// Words from other threads for the edge's. Outlives the edge where a reply is under way.
class Inbox {
 public:
  using Task = std::function<void()>;
  explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void put(Task task) {
    const std::scoped_lock lock(mutex_);
    if (!wake_) return;
    tasks_.push_back(std::move(task));
    wake_();
  }
  void wake() {
    const std::scoped_lock lock(mutex_);
    if (wake_) wake_();
  }
  std::vector<Task> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(tasks_, {});
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    wake_ = nullptr;
    tasks_.clear();
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<Task> tasks_;
};

// How far a session has come.
enum class Phase : std::uint8_t {
  kOff,      // begins when due
  kBegins,   // list_begin is under way
  kNodes,    // all nodes are being listed
  kPods,     // then pods and owners
  kEnds,     // list_complete is under way
  kFollows,  // everything is known; writes are made
};

}  // namespace

struct Edge::Impl {
  Impl(EdgeOptions o, EdgePorts p)
      : options(std::move(o)),
        ports(std::move(p)),
        cards(options.cluster, options.extra_gpu_resources, options.other_schedulers) {}

  // --- any thread
  EdgeStats read_stats() const {
    const std::scoped_lock lock(stats_mutex);
    return stats;
  }

  // --- the edge's thread
  void run();
  void turn();
  DurationMs patience() const;
  void begin_session();
  void session_begun(const Reply& reply);
  void end_session(const std::string& why);
  void follow_nodes();
  void follow_pods();
  void finish_list();
  void subscribe(ClusterId id);
  bool post(in::Body body, ReplyFn done);
  void tell();
  void on_reply(const News& news, const Reply& reply);
  void take_effects();
  void confirm();
  void report_unschedulable();
  void give_up(const std::string& uid, JobId job, Cause cause, const std::string& words);
  void write();
  void write_done(const KubeWrite& write);
  void tell_pod(const std::string& uid, const char* reason, const char* action,
                const std::string& note, bool warning);
  void tell_owner(const std::string& uid, const char* reason, const char* action,
                  const std::string& note, bool warning);
  void publish();
  std::vector<Reflector*> reflectors() const;
  WriterHooks hooks();

  const EdgeOptions options;
  const EdgePorts ports;
  Cards cards;
  Phase phase = Phase::kOff;
  std::int64_t begin_due_ms = 0;
  Backoff backoff;
  std::uint64_t session = 0;
  std::size_t posts = 0;  // under way
  TimeMs heard_ms = 0;    // when the watch of pods last said something
  std::string error;

  std::shared_ptr<Inbox> inbox;
  std::shared_ptr<EffectStream> effects;
  WantedJobs wanted;
  std::uint64_t last_order = 0;
  bool confirming = false;
  std::int64_t confirm_due_ms = 0;
  std::deque<KubeWrite> planned;
  std::int64_t plan_due_ms = 0;
  bool replan = false;
  std::array<std::uint64_t, EnumText<WriteKind>::names.size()> writes{};
  std::map<std::string, std::uint64_t> refused;
  std::uint64_t not_taken = 0, lists_before = 0;

  mutable std::mutex stats_mutex;
  EdgeStats stats;
  std::atomic<bool> stopping{false};
  std::thread thread;

  // The client goes after all that stops its calls and watches.
  std::unique_ptr<KubeClient> client;
  std::unique_ptr<Reflector> nodes, pods;
  std::vector<std::unique_ptr<Reflector>> owners;
  std::unique_ptr<Writer> writer;
  std::unique_ptr<Teller> teller;
};

// --- a session -----------------------------------------------------------------------------------

void Edge::Impl::run() {
  while (!stopping) {
    turn();
    publish();
    client->turn(patience());
  }
}

void Edge::Impl::turn() {
  for (const auto& task : inbox->take()) task();
  if (phase == Phase::kOff && ports.monotonic_ms() >= begin_due_ms) begin_session();
  for (Reflector* reflector : reflectors()) reflector->turn();
  tell();
  if (phase == Phase::kPods) finish_list();
  take_effects();
  if (phase != Phase::kFollows) return;
  report_unschedulable();
  confirm();
  write();
  teller->turn();
}

// How long nothing needs to be done.
DurationMs Edge::Impl::patience() const {
  DurationMs most = limits::kLoopMaxWaitMs;
  for (const Reflector* reflector : reflectors()) most = std::min(most, reflector->due_in());
  const std::int64_t now = ports.monotonic_ms();
  const auto until = [&](std::int64_t due) {
    most = std::min<DurationMs>(most, std::max<std::int64_t>(due - now, 0));
  };
  most = std::min(most, teller->due_in());
  if (phase == Phase::kOff) until(begin_due_ms);
  if (plan_due_ms != 0) until(plan_due_ms);
  constexpr DurationMs kMailboxFullMs = 5;
  if (!cards.all_told()) most = std::min<DurationMs>(most, kMailboxFullMs);
  return most;
}

void Edge::Impl::begin_session() {
  const std::shared_ptr<const View> view = ports.view();
  const ClusterView* const cluster = view->cluster(options.cluster);
  if (cluster == nullptr) return end_session("there is no cluster " + options.cluster);
  session = cluster->session + 1;
  phase = Phase::kBegins;
  const ClusterId id = cluster->id;
  const bool posted = post(in::ListBegin{options.cluster}, [this, id](const Reply& reply) {
    session_begun(reply);
    if (phase == Phase::kNodes) subscribe(id);
  });
  if (!posted) end_session("the service takes nothing now");
}

void Edge::Impl::session_begun(const Reply& reply) {
  if (reply.error) return end_session(reply.error->message());
  phase = Phase::kNodes;
  follow_nodes();
}

void Edge::Impl::subscribe(ClusterId id) {
  effects = ports.subscribe(id, [inbox = inbox] { inbox->wake(); });
  if (effects == nullptr) end_session("the service is stopping");
}

// What it remembers goes; the next session begins after a pause.
void Edge::Impl::end_session(const std::string& why) {
  log::warn("edge begins again", {{"cluster", options.cluster}, {"error", why}});
  error = why;
  for (const Reflector* reflector : reflectors()) lists_before += reflector->lists();
  nodes.reset();
  pods.reset();
  owners.clear();
  cards.forget_told();
  wanted.clear();
  planned.clear();
  if (effects) effects->cancel();
  effects.reset();
  phase = Phase::kOff;
  begin_due_ms = ports.monotonic_ms() + backoff.next();
}

std::vector<Reflector*> Edge::Impl::reflectors() const {
  std::vector<Reflector*> all;
  if (nodes) all.push_back(nodes.get());
  if (pods) all.push_back(pods.get());
  for (const auto& owner : owners) all.push_back(owner.get());
  return all;
}

void Edge::Impl::follow_nodes() {
  ReflectorSink sink;
  sink.begin = [this] { cards.begin_nodes(); };
  sink.object = [this](const WatchEvent& event) { cards.see_node(event); };
  sink.complete = [this] {
    if (!cards.complete_nodes()) return false;
    if (phase == Phase::kNodes) {
      phase = Phase::kPods;
      inbox->put([this] {
        if (phase == Phase::kPods && !pods) follow_pods();
      });
    }
    return true;
  };
  nodes = std::make_unique<Reflector>(*client, kNodesPath, std::move(sink), ports.monotonic_ms);
  nodes->start();
}

void Edge::Impl::follow_pods() {
  ReflectorSink sink;
  sink.begin = [this] { cards.begin_pods(); };
  sink.object = [this](const WatchEvent& event) {
    heard_ms = ports.now_ms();
    replan = true;
    cards.see_pod(event, ports.monotonic_ms());
  };
  sink.complete = [this] { return cards.complete_pods(heard_ms); };
  pods = std::make_unique<Reflector>(*client, kPodsPath, std::move(sink), ports.monotonic_ms);
  pods->start();
  for (const char* path : kOwnerPaths) {
    ReflectorSink of_owners;
    of_owners.begin = [this, path] { cards.begin_owners(path); };
    of_owners.object = [this, path](const WatchEvent& event) {
      replan = true;
      cards.see_owner(event, path);
    };
    of_owners.complete = [this, path] {
      cards.complete_owners(path);
      return true;
    };
    owners.push_back(
        std::make_unique<Reflector>(*client, path, std::move(of_owners), ports.monotonic_ms));
    owners.back()->start();
  }
}

// Everything that was listed has been told and is durable: the core may go on.
void Edge::Impl::finish_list() {
  const bool owners_asked = std::all_of(owners.begin(), owners.end(), [](const auto& owner) {
    return owner->synced() || !owner->error().empty();  // a kind need not be there
  });
  if (!pods || !pods->synced() || !owners_asked || !cards.all_told() || posts > 0) return;
  const bool posted = post(in::ListComplete{options.cluster}, [this](const Reply& reply) {
    if (reply.error) return end_session(reply.error->message());
    phase = Phase::kFollows;
    backoff.reset();
    error.clear();
    replan = true;
    log::info("edge follows", {{"cluster", options.cluster},
                               {"session", session},
                               {"nodes", cards.nodes()},
                               {"pods", cards.pods()}});
  });
  if (posted) phase = Phase::kEnds;
}

// --- telling the core ----------------------------------------------------------------------------

// `done` runs on the edge's thread, unless the session has ended meanwhile.
bool Edge::Impl::post(in::Body body, ReplyFn done) {
  Input input;
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

void Edge::Impl::tell() {
  if (phase == Phase::kOff || phase == Phase::kBegins) return;
  while (posts < limits::kMaxEdgePosts) {
    std::optional<News> news = cards.next();
    if (!news) return;
    News told{{}, news->uid};
    if (!post(news->body, [this, told](const Reply& reply) { on_reply(told, reply); })) {
      return cards.put_back(std::move(*news));
    }
  }
}

void Edge::Impl::on_reply(const News& news, const Reply& reply) {
  if (!reply.error) return;
  if (reply.error->field == "session") return end_session(reply.error->message());
  ++not_taken;
  log::warn("the core does not take what is seen",
            {{"cluster", options.cluster}, {"uid", news.uid}, {"error", reply.error->message()}});
}

// --- what the core wants -------------------------------------------------------------------------

void Edge::Impl::take_effects() {
  if (!effects) return;
  for (Effect& effect : effects->take()) {
    if (effect.session > session) continue;  // another's by now
    replan = true;
    planned.clear();
    const JobId job = effect.job;
    wanted[job] = {std::move(effect), ++last_order, false};
  }
  if (effects->state() == EffectStream::State::kOverflowed) {
    const ClusterView* const cluster = ports.view()->cluster(options.cluster);
    if (cluster != nullptr) subscribe(cluster->id);
  }
}

// A hold that was taken back before any gate was opened leaves no word: what is wanted is asked for
// again while something is.
void Edge::Impl::confirm() {
  const std::int64_t now = ports.monotonic_ms();
  if (confirming || wanted.empty() || now < confirm_due_ms) return;
  const auto answer = [this, to = inbox, asked = last_order, of = session,
                       name = options.cluster](const Engine& engine) {
    const ClusterId id = engine.find_cluster(name);
    std::vector<Effect> all = id ? engine.outstanding(id) : std::vector<Effect>();
    to->put([this, asked, of, all = std::move(all)]() mutable {
      confirming = false;
      if (of != session) return;
      std::map<JobId, Effect> now_wanted;
      for (Effect& effect : all) now_wanted.emplace(effect.job, std::move(effect));
      for (auto& [job, effect] : now_wanted) {
        const auto known = wanted.find(job);
        if (known != wanted.end() && known->second.order > asked) continue;
        const std::uint64_t order = known == wanted.end() ? ++last_order : known->second.order;
        const bool told = known != wanted.end() && known->second.told &&
                          known->second.effect.attempt == effect.attempt;
        wanted[job] = {std::move(effect), order, told};
      }
      std::erase_if(wanted, [&](const auto& entry) {
        return entry.second.order <= asked && !now_wanted.contains(entry.first);
      });
      planned.clear();
      replan = true;
    });
  };
  confirming = ports.read(answer);
  confirm_due_ms = now + kSecondMs;
}

void Edge::Impl::report_unschedulable() {
  const std::int64_t now = ports.monotonic_ms();
  std::vector<std::pair<std::string, std::string>> due;
  cards.each_unschedulable([&](const std::string& uid, const PodCard& pod) {
    const std::int64_t since = pod.gpu->unschedulable_since_ms;
    if (now - since >= limits::kUnschedulableMs) due.emplace_back(uid, pod.gpu->unschedulable);
  });
  for (const auto& [uid, words] : due) {
    give_up(uid, {}, Cause::kUnschedulable, words);
    cards.put_off_unschedulable(uid, now);
  }
}

// Only a pod that is on its way is given up: of any other the core takes it for late news.
void Edge::Impl::give_up(const std::string& uid, JobId job, Cause cause, const std::string& words) {
  const bool posted = post(in::PodRefused{options.cluster, {uid, {}, 0, 0}, cause},
                           [this, uid](const Reply& reply) {
                             if (reply.error && reply.error->field == "session")
                               end_session(reply.error->message());
                           });
  if (!posted) return;
  log::warn(
      "a pod cannot go to its place",
      {{"cluster", options.cluster}, {"uid", uid}, {"cause", enum_name(cause)}, {"words", words}});
  const bool scheduler = cause == Cause::kUnschedulable;
  tell_pod(
      uid, scheduler ? "Unschedulable" : "ReleaseRefused", "Release",
      (scheduler ? "the scheduler finds no way to its place: " : "its gate cannot be opened: ") +
          words + "; the place is given back",
      true);
  if (job) wanted.erase(job);
  planned.clear();
}

void Edge::Impl::write() {
  constexpr std::size_t kPlanned = 256;
  const std::int64_t now = ports.monotonic_ms();
  const bool due = plan_due_ms != 0 && now >= plan_due_ms;
  if (planned.empty() && (replan || due) && writer->under_way() < limits::kMaxEdgeWrites) {
    Plan plan = plan_writes(wanted, cards, writer->attempts(), ports.now_ms(), now, kPlanned);
    for (const JobId job : plan.settled) wanted.erase(job);
    planned.assign(std::make_move_iterator(plan.writes.begin()),
                   std::make_move_iterator(plan.writes.end()));
    plan_due_ms = plan.next_ms;
    replan = planned.size() == kPlanned;
  }
  while (!planned.empty() && writer->under_way() < limits::kMaxEdgeWrites) {
    writer->begin(planned.front());
    planned.pop_front();
    replan = replan || planned.empty();
  }
}

WriterHooks Edge::Impl::hooks() {
  WriterHooks hooks;
  hooks.see_pod = [this](const WatchEvent& event) {
    replan = true;
    cards.see_pod(event, ports.monotonic_ms());
  };
  hooks.see_owner = [this](const WatchEvent& event, const std::string& collection) {
    replan = true;
    cards.see_owner(event, collection);
  };
  hooks.give_up = [this](const KubeWrite& write, const CallAnswer& answer) {
    ++refused[answer.reason.empty() ? std::string(enum_name(answer.outcome)) : answer.reason];
    give_up(write.uid, write.job, Cause::kReleaseRefused, answer.message);
  };
  hooks.done = [this](const KubeWrite& write) { write_done(write); };
  hooks.unauthorized = [] {};
  hooks.monotonic_ms = ports.monotonic_ms;
  return hooks;
}

// --- telling people ------------------------------------------------------------------------------

void Edge::Impl::write_done(const KubeWrite& write) {
  ++writes[static_cast<std::size_t>(write.kind)];
  const std::string cause(enum_name(write.cause));
  const std::string job = write.job ? "job " + text::job_id_text(write.job) : "its job";
  switch (write.kind) {
    case WriteKind::kRelease: {
      const auto known = wanted.find(write.job);
      if (known == wanted.end() || std::exchange(known->second.told, true)) return;
      const std::size_t count = known->second.effect.pods.size();
      const std::string note =
          job + " starts: " + std::to_string(count) +
          (count == 1 ? " pod, on " : " pods, this one on ") +
          (write.node.empty() ? "whichever node the scheduler chooses" : "node " + write.node);
      return tell_pod(write.uid, "Released", "Release", note, false);
    }
    case WriteKind::kEvict:
      return tell_pod(write.uid, "TakenBack", "Evict",
                      job + " is taken back (" + cause + "): this pod was evicted, which its " +
                          "controller may count as a failure",
                      true);
    case WriteKind::kSuspend:
      return tell_owner(write.uid, "TakenBack", "Suspend",
                        write.cause == Cause::kCancelled
                            ? job + " was cancelled: suspended until spec.suspend is false again"
                            : job + " is taken back (" + cause +
                                  "): suspended until its pods are gone, which counts no failure",
                        true);
    case WriteKind::kResume:
      return tell_owner(write.uid, "Resumed", "Resume", "its pods are gone: they are made anew",
                        false);
  }
}

// And its owner, where it has one.
void Edge::Impl::tell_pod(const std::string& uid, const char* reason, const char* action,
                          const std::string& note, bool warning) {
  const PodCard* const pod = cards.find_gpu_pod(uid);
  if (pod == nullptr) return;
  teller->tell({"v1", "Pod", pod->ns, pod->name, uid, reason, action, note, warning});
  const GpuCard& gpu = *pod->gpu;
  if (gpu.owner_uid.empty()) return;
  teller->tell({gpu.owner_api, gpu.owner_kind, pod->ns, gpu.owner_name, gpu.owner_uid, reason,
                action, note + " (pod " + pod->name + ")", warning});
}

void Edge::Impl::tell_owner(const std::string& uid, const char* reason, const char* action,
                            const std::string& note, bool warning) {
  const OwnerCard* const owner = cards.find_owner(uid);
  if (owner == nullptr) return;
  teller->tell({owner->api_version(), std::string(owner->kind()), owner->ns, owner->name, uid,
                reason, action, note, warning});
}

// --- what others see -----------------------------------------------------------------------------

void Edge::Impl::publish() {
  EdgeStats now;
  now.synced = phase == Phase::kFollows && nodes->synced() && pods->synced();
  now.error = error;
  now.lists = lists_before;
  for (const Reflector* reflector : reflectors()) {
    now.lists += reflector->lists();
    const bool owner = reflector != nodes.get() && reflector != pods.get();
    if (now.error.empty() && !owner) now.error = reflector->error();
  }
  now.nodes = cards.nodes();
  now.pods = cards.pods();
  now.writes = writes;
  now.events = teller->sent();
  now.refused = refused;
  now.unreadable = cards.unreadable();
  now.not_taken = not_taken;
  const std::scoped_lock lock(stats_mutex);
  if (stats.error != now.error && !now.error.empty() && phase != Phase::kOff) {
    log::warn("edge", {{"cluster", options.cluster}, {"error", now.error}});
  }
  stats = std::move(now);
}

Edge::Edge(EdgeOptions options, EdgePorts ports)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(ports))) {}

Edge::~Edge() { stop(); }

void Edge::start() {
  Impl& e = *impl_;
  e.client = std::make_unique<KubeClient>(e.options.access);
  e.writer = std::make_unique<Writer>(*e.client, e.cards, e.hooks());
  e.teller = std::make_unique<Teller>(*e.client, e.ports.now_ms, e.ports.monotonic_ms);
  e.inbox = std::make_shared<Inbox>([client = e.client.get()] { client->wake(); });
  e.thread = std::thread([&e] { e.run(); });
}

void Edge::stop() {
  Impl& e = *impl_;
  if (!e.thread.joinable()) return;
  e.stopping = true;
  e.inbox->wake();
  e.thread.join();
  e.inbox->close();
  if (e.effects) e.effects->cancel();
}

EdgeStats Edge::stats() const { return impl_->read_stats(); }

}  // namespace subak
