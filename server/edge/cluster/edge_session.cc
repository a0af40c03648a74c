#include "server/edge/cluster/edge_session.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kube/known_as.h"
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

void EdgeSession::begin_if_due() {
  if (phase_ == Phase::kOff && context_.ports.monotonic_ms() >= begin_due_ms_) begin();
}

DurationMs EdgeSession::due_in() const {
  if (phase_ != Phase::kOff) return limits::kLoopMaxWaitMs;
  return wait_until(begin_due_ms_, context_.ports.monotonic_ms());
}

// Identifies the cluster first: a list of another cluster would end all known pods.
void EdgeSession::begin() {
  phase_ = Phase::kBegins;
  pace_.note(context_.ports.monotonic_ms());
  KubeCall call;
  call.path = "/api/v1/namespaces/kube-system";
  const bool asked =
      context_.api->call(std::move(call), [this](const CallAnswer& answer, std::string_view body) {
        if (phase_ != Phase::kBegins) return;
        if (answer.outcome == Outcome::kNotFound) return ask_who({});
        simdjson::dom::parser parser;
        json::Value found;
        const bool read = answer.outcome == Outcome::kDone &&
                          parser.parse(body.data(), body.size()).get(found) == simdjson::SUCCESS;
        const std::string uid(read ? json::text_in(found, "metadata", "uid") : "");
        if (!uid.empty()) return ask_who(uid);
        const std::string why =
            answer.outcome != Outcome::kDone ? answer.message : "the answer is " + described(body);
        end("the namespace kube-system: " + why);
      });
  if (!asked) end("too many calls are under way");
}

// Asks for the service's user name. Without an answer the cluster is followed too, and the webhook
// trusts the configured name.
void EdgeSession::ask_who(const std::string& uid) {
  KubeCall call;
  call.method = "POST";
  call.path = kSelfReviewPath;
  call.body = kSelfReview;
  const bool asked = context_.api->call(
      std::move(call), [this, uid](const CallAnswer& answer, std::string_view body) {
        if (phase_ != Phase::kBegins) return;
        const Result<std::string> user =
            answer.outcome == Outcome::kDone
                ? read_known_as(body)
                : Error{ErrorCode::kInvalid, "SelfSubjectReview", "", answer.message};
        if (!user) {
          log::warn("the API server does not say which user this service is",
                    {{"cluster", context_.options.cluster}, {"error", user.error().message()}});
        }
        known_as_ = user ? *user : std::string();
        begin_list(uid);
      });
  if (!asked) end("too many calls are under way");
}

void EdgeSession::begin_list(const std::string& uid) {
  const std::string& name = context_.options.cluster;
  const std::shared_ptr<const View> view = context_.ports.view();
  const ClusterView* const cluster = view->cluster(name);
  if (cluster == nullptr) return end("there is no cluster " + name);
  number_ = cluster->reports.session + 1;
  const ClusterId id = cluster->id;
  context_.cache.needs().claims().begin_session(cluster->reports.seen_until_ms);
  const bool posted = post(in::ListBegin{name, uid, known_as_}, [this, id](const Reply& reply) {
    if (reply.error) return end(reply.error->message());
    phase_ = Phase::kNodes;
    watches_.follow_others();
    hooks_.begun(id);
  });
  if (!posted) end("the service accepts no input now");
}

// Drops the cache; the next session begins after a pause.
void EdgeSession::end(const std::string& why) {
  log::warn("the edge begins a new session",
            {{"cluster", context_.options.cluster}, {"error", why}});
  const bool was_steady =
      phase_ == Phase::kFollows &&
      context_.ports.monotonic_ms() - follows_since_ms_ >= limits::kSteadyWatchMs;
  if (was_steady) backoff_.reset();
  error_ = why;
  watches_.end();
  context_.cache.forget_told();
  hooks_.ended();
  phase_ = Phase::kOff;
  const std::int64_t now = context_.ports.monotonic_ms();
  begin_due_ms_ = now + std::max(backoff_.next(), pace_.due_in(now));
}

void EdgeSession::begin_pods() {
  if (phase_ != Phase::kNodes || !watches_.others_listed()) return;
  phase_ = Phase::kPods;
  watches_.follow_pods();
}

void EdgeSession::finish_list() {
  if (phase_ != Phase::kPods || !watches_.pods_listed()) return;
  ClusterCache& cache = context_.cache;
  if (!cache.outbox().is_empty() || cache.any_untold() || posts_ > 0) return;
  const bool posted = post(in::ListComplete{context_.options.cluster}, [this](const Reply& reply) {
    if (reply.error) return end(reply.error->message());
    phase_ = Phase::kFollows;
    follows_since_ms_ = context_.ports.monotonic_ms();
    error_.clear();
    hooks_.follows();
    log::info("edge follows", {{"cluster", context_.options.cluster},
                               {"known_as", known_as_},
                               {"session", number_},
                               {"nodes", context_.cache.nodes().size()},
                               {"pods", context_.cache.pods()}});
  });
  if (posted) phase_ = Phase::kEnds;
}

bool EdgeSession::post(in::Body body, ReplyFn done, TimeMs said_at_ms) {
  Input input;
  input.said_at_ms = said_at_ms;
  input.actor = kActor;
  input.body = std::move(body);
  input.session = number_;
  const auto answered = [this, to = context_.inbox, of = number_,
                         done = std::move(done)](const Reply& r) {
    to->put([this, of, done, r] {
      --posts_;
      if (of == number_ && phase_ != Phase::kOff) done(r);
    });
  };
  if (!context_.ports.post(std::move(input), answered)) return false;
  ++posts_;
  return true;
}

}  // namespace subak
