#include "server/service/service.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <utility>

#include "core/limits.h"
#include "model/fact.h"
#include "server/config/policy_keys.h"
#include "server/leader/data_loss.h"
#include "server/log/log.h"
#include "server/runtime/fatal.h"
#include "server/service/configure.h"
#include "server/service/files.h"
#include "server/service/listeners.h"
#include "server/service/service_impl.h"
#include "server/store/postgres/database/address.h"
#include "server/store/sqlite/sqlite_store.h"
#include "server/zone/civil_ends.h"

namespace subak {

bool stop_asked() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

namespace {

constexpr DurationMs kCallGraceMs = 2 * kSecondMs;  // of open unary gRPC calls at a stop

void warn_of_tokens(const ApiServer& api) {
  const std::string warning = api.token_warning();
  if (!warning.empty()) log::warn("token file", {{"warning", warning}});
}

}  // namespace

std::string ServicePorts::text() const {
  return "subakd ready webhook=" + webhook.text() + " grpc=" + grpc.text() + " http=" + http.text();
}

std::optional<Error> Service::Impl::start_http() {
  HttpSources sources;
  sources.state = [this] { return shell_state(); };
  sources.read = [this](Follower::StartsRead fn) {
    return recovered && follower->read_expensive_starts("http", std::move(fn)) == Queued::kYes;
  };
  sources.activity = [this] { return activity.figures(); };
  sources.prices = prices;
  sources.notices = [this] { return notice_states(); };
  sources.events = &events;
  sources.clock = &clock;
  sources.user_metrics = config.user_metrics;
  browser::HttpPortOptions options{http_options(config, connections.http), own_hosts(config),
                                   !config.tokens.empty()};
  if (!config.tls_cert.empty() && !config.tls_key.empty()) {
    auto certificate = open_certificates({config.tls_cert, config.tls_key, ""});
    if (!certificate) return certificate.error();
    options.listener.tls = *std::move(certificate);
  }
  return http.start(std::move(options), std::move(sources),
                    [this] { return runtime->view()->seq; });
}

std::optional<Error> Service::Impl::open_file() {
  SqliteOptions options;
  options.path = config.state;
  options.ignore_checkpoint = config.ignore_checkpoint;
  options.fact_version = known_fact_version();
  options.on_lost = [this](const Error& error) { end_process(error, fatal); };
  Result<std::unique_ptr<Store>> opened = open_sqlite_store(options);
  if (!opened) return opened.error();
  store = std::move(opened).value();
  make_runtime();
  return std::nullopt;
}

// Starts the webhook first: the database may be away for long.
std::optional<Error> Service::Impl::open_shared() {
  const auto address = postgres::parse_address(config.state);
  if (!address) return address.error();
  if (auto error = make_folder(config.known_folder)) return error;
  known = std::make_unique<DurableMark>(known_file(config.state, config.known_folder));
  if (auto error = known->open()) return error;
  if (auto error = review_by_copy(address->place)) return error;
  PostgresOptions options;
  options.address = config.state;
  options.clock = &machine;
  options.holder = machine_name() + " process " + std::to_string(::getpid());
  options.fact_version = known_fact_version();
  options.advertise = config.advertised();
  options.ignore_checkpoint = config.ignore_checkpoint;
  options.replicated = config.database_durability == DatabaseDurability::kReplicated;
  options.copy_path = copy_file(config.state);
  options.stop = stop_asked;
  options.on_lost = [this](const Error& error) { end_process(error, fatal); };
  options.may_lead = [this] { return known->may_lead(); };
  options.on_time = [this](const ClockSample& sample) { clock.take(sample); };
  const auto away = [this] { reviewer.note_away(); };
  auto opened = open_once_there(options, away);
  if (!opened) return opened.error();
  shared = opened->get();
  store = std::move(opened).value();
  make_runtime();
  standby = std::make_unique<Standby>(Standby::Ports{
      *shared, *runtime, known.get(), [this] { return take_over(); }, fatal, stop_asked, away});
  return std::nullopt;
}

std::optional<Error> Service::Impl::review_by_copy(const std::string& place) {
  auto copy = std::make_unique<LastCopy>(last_copy_file(config.state, config.known_folder), place,
                                         admission_of(config));
  reviewer.judge_by_copy(std::move(copy), known->last_ms(), fatal);
  return reviewer.start(connections.webhook);
}

void Service::Impl::make_runtime() {
  FollowerOptions follower_options;
  follower_options.may_write = [this] { return runtime->stats().leads; };
  follower_options.fatal = fatal;
  follower_options.on_told_start = [this](DurationMs error_ms) {
    if (runtime->stats().leads) events.told_start(error_ms);
  };
  follower_options.now_ms = [this] { return runtime->now_ms(); };
  follower = std::make_unique<Follower>(std::move(follower_options), *store);
  RuntimeOptions options;
  options.on_durable = [this](const Released& batch) { released(batch); };
  options.record = [this](const Input& input) {
    trace->append(input);
    events.input(input);
  };
  options.on_pass = [this](std::int64_t us) {
    events.pass(us);
    api->on_pass(us);
  };
  options.civil_ends = CivilEndsTeller();
  options.fatal = fatal;
  runtime = std::make_unique<Runtime>(std::move(options), *store, clock);
  half_life = std::make_unique<HalfLifeReader>(*runtime, *store);
  make_api();
}

void Service::Impl::make_api() {
  ApiOptions api_options;
  api_options.address = config.listen_grpc.text();
  api_options.connections = connections.grpc;
  api_options.tls_cert = config.tls_cert;
  api_options.tls_key = config.tls_key;
  api_options.token_file = config.tokens;
  api_options.loopback_admin = config.loopback_admin;
  api_options.socket = config.grpc_socket;
  api_options.socket_users = config.socket_users;
  api_options.version = kVersion;
  api_options.default_mode = config.mode.value_or(Mode::kObserve);
  api_options.names_clusters = !config.clusters.empty();
  api_options.own_edges = own_edges(config);
  api_options.admission = admission_of(config);
  api_options.reads.compute_domains = [this](std::string_view cluster) {
    return has_edges ? edge_domains(edges, cluster) : nullptr;
  };
  api_options.reads.warnings = [this] {
    return recovered ? warnings() : std::vector<std::string>();
  };
  api_options.reads.policy_values = [this](const Policy& policy) {
    return policy_values(config, policy);
  };
  api_options.reads.policy_with = [this](const Policy& policy, const auto& changes) {
    return policy_with(config, policy, changes);
  };
  api_options.reads.half_life_facts = [this] { return half_life->facts_read(); };
  if (!config.prometheus.empty()) api_options.activity = &activity;
  api_options.show_idle_holders = config.show_idle_holders;
  if (known) {
    api_options.accept_loss = [this](const LossAsked& asked) {
      return accept_loss(*known, asked, runtime->view()->seq);
    };
  }
  api_options.on_denied = [](const ApiDenial& denial) {
    log::warn("call denied", {{"actor", denial.actor},
                              {"peer", denial.peer},
                              {"message", denial.message},
                              {"subject", denial.subject}});
  };
  api = std::make_unique<ApiServer>(std::move(api_options),
                                    ApiDeps{*runtime, *follower, *store, clock});
}

Result<std::vector<NamedEdge>> Service::Impl::made_edges() {
  EdgePorts ports;
  ports.post = [this](Input input, ReplyFn done) {
    return runtime->post(std::move(input), std::move(done));
  };
  ports.view = [this] { return runtime->view(); };
  ports.subscribe = [this](ClusterId id, std::function<void()> wake) {
    return runtime->subscribe(id, std::move(wake));
  };
  ports.read = [this](std::function<void(const Engine&)> fn) {
    return follower->read(std::move(fn));
  };
  ports.read_starts = [this](Follower::StartsRead fn) {
    return follower->read_starts(std::move(fn));
  };
  ports.read_expensive = [this](std::function<void(const Engine&)> fn) {
    return follower->read_expensive("edge", std::move(fn)) == Queued::kYes;
  };
  ports.now_ms = [this] { return runtime->now_ms(); };
  ports.monotonic_ms = [this] { return clock.monotonic_ms(); };
  return make_edges(config, *runtime->view(), ports, machine);
}

std::optional<Error> Service::Impl::start_edges() {
  Result<std::vector<NamedEdge>> made = made_edges();
  if (!made) return made.error();
  edges = std::move(made).value();
  for (const NamedEdge& named : edges) named.edge->start();
  has_edges = true;
  return std::nullopt;
}

// Runs before the leader is known, so that a pod whose process was killed loses the label.
std::optional<Error> Service::Impl::start_pod_label() {
  auto made = make_pod_label(config, machine);
  if (!made) return made.error();
  pod_label = std::move(made).value();
  if (pod_label) pod_label->start();
  return std::nullopt;
}

void Service::Impl::label_pod(bool leads) {
  if (pod_label) pod_label->want(leads);
}

// Waits for the first read, since ready means that reads are answered. The follower's engine may
// take longer to recover than the loop's.
void Service::Impl::await_first_read() {
  const auto answered = std::make_shared<std::promise<void>>();
  const std::future<void> first = answered->get_future();
  if (!follower->read([answered](const Engine& /*engine*/) { answered->set_value(); })) return;
  while (first.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    if (follower->stats().failed || stop_asked()) return;
  }
}

void Service::Impl::start_prober() {
  const auto of = [](auto& part) {
    return [&part](DurationMs patience_ms) { return part.probe(patience_ms); };
  };
  std::vector<Probed> probed{{"webhook", of(reviewer)}, {"grpc", of(*api)}, {"http", of(http)}};
  prober = std::make_unique<Prober>(std::move(probed), clock, fatal);
  prober->start();
  reviewer.end_start();
}

void Service::Impl::released(const Released& batch) {
  follower->durable(batch);
  if (known && batch.facts) known->seen(*batch.facts);
  if (batch.ours) count(batch);
  if (shared != nullptr && batch.ours) tell_known_as(*batch.view);
  api->on_durable(batch);
  if (watchers.notifier) watchers.notifier->durable(batch);
}

// The View has a new list of clusters if any of them has changed.
void Service::Impl::tell_known_as(const View& view) {
  if (view.clusters == told.clusters) return;
  told.clusters = view.clusters;
  KnownAs known_as;
  for (const ClusterView& cluster : *view.clusters) {
    if (!cluster.known_as.empty()) known_as[cluster.name] = cluster.known_as;
  }
  if (known_as == told.known_as) return;
  told.known_as = known_as;
  shared->tell(known_as);
}

// The leader alone counts each event once.
void Service::Impl::count(const Released& batch) {
  for (const Fact& fact : batch.facts ? *batch.facts : std::vector<Fact>()) {
    const auto* const reached = std::get_if<fact::BudgetReached>(&fact.body);
    if (reached == nullptr) continue;
    log::warn(
        "an account has spent a part of its budget",
        {{"account", reached->path}, {"budget", reached->budget}, {"percent", reached->percent}});
    if (!has_edges) continue;
    for (const NamedEdge& named : edges)
      named.edge->tell_budget({reached->path, reached->budget, reached->percent, fact.time_ms});
  }
  metrics::Reservations found = events.durable(batch);
  if (!found.empty()) {
    const auto kept = std::make_shared<const metrics::Reservations>(std::move(found));
    const bool queued =
        follower->read([this, kept](const Engine& engine) { events.look_up(*kept, &engine); });
    if (!queued) events.look_up(*kept, nullptr);
  }
}

// Leads if no process leads, or if the store is not shared, before any request is answered.
// Otherwise it follows the leader.
std::optional<Error> Service::Impl::begin() {
  bool leads = true;
  if (standby) {
    const Result<bool> led = standby->begin();
    if (!led) return led.error();
    leads = *led;
  }
  if (auto error = follower->start()) return error;
  return leads ? lead() : std::nullopt;
}

std::optional<Error> Service::Impl::lead() {
  trace = std::make_unique<InputTrace>(input_trace_file(config.state));
  const Result<Recovered> state = runtime->start();
  if (!state) return state.error();
  log::info("recovered", {{"store", store->describe()},
                          {"seq", state->seq},
                          {"checkpoint", state->checkpoint_seq},
                          {"tail_facts", state->tail_facts}});
  half_life->start();
  if (auto error = known ? record_data_loss(*known, *runtime) : std::nullopt) return error;
  const bool took_over = shared != nullptr && shared->took_over() && state->seq > 0;
  return took_over ? say_not_put_in() : configure(config, *runtime, *store);
}

// Two replicas with different configurations would change the policy back and forth with each
// failover.
std::optional<Error> Service::Impl::say_not_put_in() {
  const auto words = not_put_in(config, *runtime, *store);
  if (!words) return words.error();
  for (const std::string& difference : *words) {
    log::warn("the configuration is not applied: another replica's is in force",
              {{"here", difference}});
  }
  return std::nullopt;
}

std::optional<Error> Service::Impl::take_over() {
  log::info("takes over", {{"store", store->describe()}, {"epoch", store->lead().epoch}});
  if (auto error = lead()) return error;
  label_pod(true);
  if (auto error = start_edges()) return error;
  return start_notifier();
}

std::optional<Error> Service::Impl::start() {
  Result<ConnectionLimits> divided = divide_files();
  if (!divided) return divided.error();
  connections = *divided;
  if (auto error = read_prices()) return error;
  if (auto error = make_notifier()) return error;
  if (auto error = start_http()) return error;
  if (auto error = start_pod_label()) return error;
  if (auto error = make_state_folder(config.state)) return error;
  const bool is_shared = postgres::is_address(config.state);
  if (auto error = is_shared ? open_shared() : open_file()) return error;
  if (auto error = begin()) return error;
  reviewer.judge_by(*runtime);
  watchdog = std::make_unique<Watchdog>([this] { return watched(); }, clock);
  audit = std::make_unique<metrics::LedgerAudit>(*follower, *store, clock);
  if (!is_shared) {
    if (auto error = reviewer.start(connections.webhook)) return error;
  }
  if (auto error = api->start()) return error;
  const bool leads = runtime->stats().leads;
  if (leads) {
    if (auto error = start_edges()) return error;
  } else if (const auto made = made_edges(); !made) {
    return made.error();  // now, not when it begins to lead
  }
  await_first_read();
  start_prober();
  warn_of_tokens(*api);
  recovered = true;
  http.open(*api);
  start_observer();
  if (auto error = leads ? start_notifier() : std::nullopt) return error;
  label_pod(leads);
  if (!leads) standby->start();
  return std::nullopt;
}

// A loop that waits for a database is not stalled.
RuntimeStats Service::Impl::watched() const {
  RuntimeStats stats = runtime->stats();
  if (store->waiting_ms() > 0) stats.has_work = false;
  return stats;
}

// Parts that were not started may be stopped. Each part stops accepting before the part that it
// feeds stops.
void Service::Impl::stop() {
  if (standby) standby->stop();
  label_pod(false);
  if (prober) prober->stop();
  if (api) api->set_serving(false);
  if (watchers.activity) watchers.activity->stop();
  if (watchers.notifier) watchers.notifier->stop();
  for (const NamedEdge& named : edges) named.edge->stop();
  reviewer.stop();
  http.close();
  if (api) api->shutdown(kCallGraceMs);
  recovered = false;
  http.stop();
  audit.reset();
  if (half_life) half_life->stop();
  watchdog.reset();
  if (runtime) runtime->stop();
  if (shared != nullptr)
    shared->give_up_lead();  // before the last checkpoint, so no standby waits for it
  if (follower) follower->stop();
  if (pod_label) pod_label->stop();
}

Service::Service(Config config, std::function<void(const Error&)> fatal)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(fatal))) {}

Service::~Service() { stop(); }

std::optional<Error> Service::start() {
  std::optional<Error> error = impl_->start();
  if (error) stop();
  return error;
}

ServicePorts Service::ports() const {
  const Config& c = impl_->config;
  return {{c.listen_webhook.host, impl_->reviewer.port()},
          {c.listen_grpc.host, static_cast<std::uint16_t>(impl_->api->port())},
          {c.listen_http.host, impl_->http.port()}};
}

std::optional<Error> Service::reload() {
  if (auto error = impl_->api->reload_tokens()) return error;
  warn_of_tokens(*impl_->api);
  return impl_->watchers.notifier ? impl_->watchers.notifier->read() : std::nullopt;
}

void Service::stop() { impl_->stop(); }

}  // namespace subak
