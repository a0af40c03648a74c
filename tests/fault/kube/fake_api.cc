#include "fake_api.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/names.h"
#include "server/edge/client/client.h"

namespace subak::fault {
namespace {

std::string status_text(int code) {
  return json_out::serialize(Object{{"kind", "Status"},
                                    {"status", "Failure"},
                                    {"reason", "Fault"},
                                    {"message", "as the seed wants it"},
                                    {"code", code}});
}

// It is to end something. 0: it may; else the code of the no.
int protected_by(const KubeCall& call) {
  if (call.path.ends_with("/eviction")) return 429;
  return call.body.find(R"("suspend":true)") != std::string::npos ? 403 : 0;
}

bool may_be_done_late(const KubeCall& call) {
  const bool of_domain =
      call.method != "GET" && call.path.find("/computedomains") != std::string::npos;
  return call.method == "PATCH" || of_domain;
}

// What follows this text in the call's body, up to the next quotation mark; empty: nothing does.
std::string text_after(const KubeCall& call, std::string_view text) {
  const std::size_t at = call.body.find(text);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + text.size();
  return call.body.substr(begin, call.body.find('"', begin) - begin);
}

// The node to which the call lets a pod go, and the version of the pod for which it was made.
std::pair<std::string, std::string> let_go_by(const KubeCall& call) {
  if (call.method != "PATCH") return {};
  return {text_after(call, R"("key":"metadata.name","operator":"In","values":[")"),
          text_after(call, R"("path":"/metadata/resourceVersion","value":")")};
}

CallAnswer plain(Outcome outcome) {
  CallAnswer answer;
  answer.outcome = outcome;
  if (outcome != Outcome::kDone) answer.message = std::string(enum_name(outcome));
  return answer;
}

}  // namespace

bool ApiServer::may_let_go(const std::string& pod, const std::string& node) {
  const std::size_t slash = pod.find('/');
  const auto found = let_go.find(pod_path(pod.substr(0, slash), pod.substr(slash + 1)));
  const Object* const object = objects.find(kPods, pod);
  if (found == let_go.end() || object == nullptr) return false;
  return found->second.contains({node, text_at(*object, {"metadata", "resourceVersion"})});
}

// What was on its way may arrive although nobody waits for the answer.
FakeApi::~FakeApi() {
  for (Call& call : calls_) {
    if (call.call.method != "GET" && rng_.percent(50)) {
      server_.orphans.push_back(std::move(call.call));
    }
  }
}

bool FakeApi::call(KubeCall call, Answered answered) {
  if (server_.faults.errors && rng_.percent(1)) return false;
  if (call.body.find("It starts ") != std::string::npos) ++server_.starts_told;
  if (call.body.find(names::kKeptClosed) != std::string::npos) ++server_.marks;
  auto to = let_go_by(call);
  if (!to.first.empty()) server_.let_go[call.path].insert(std::move(to));
  calls_.push_back({std::move(call), std::move(answered)});
  return true;
}

KubeApi::WatchId FakeApi::watch(std::string path, WatchStream::Take take, Ended ended) {
  auto watch = std::make_unique<Watch>();
  watch->id = ++last_;
  watch->collection = path.substr(0, path.find('?'));
  watch->lists = path.find("sendInitialEvents=true") != std::string::npos;
  const std::size_t at = path.find("&resourceVersion=");
  if (at != std::string::npos) watch->from = std::stoull(path.substr(at + 17));
  watch->take = std::move(take);
  watch->ended = std::move(ended);
  watches_.push_back(std::move(watch));
  return last_;
}

void FakeApi::stop(WatchId id) {
  for (const auto& watch : watches_) watch->stopped = watch->stopped || watch->id == id;
}

// --- calls ---------------------------------------------------------------------------------------

bool FakeApi::serve() {
  if (calls_.empty()) return false;
  const std::size_t at = server_.faults.late ? rng_.below(calls_.size()) : 0;
  Call call = std::move(calls_[at]);
  calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(at));
  answers_.push_back(decide(call));
  return true;
}

// The API server has not done the call, and never will.
FakeApi::Ready FakeApi::refuse(Call& call, int code) {
  const auto sent = server_.let_go.find(call.call.path);
  if (sent != server_.let_go.end()) sent->second.erase(let_go_by(call.call));
  return {std::move(call.answered), code, status_text(code)};
}

FakeApi::Ready FakeApi::decide(Call& call) {
  const ApiFaults& faults = server_.faults;
  if (server_.refusing) return refuse(call, 401);
  if (faults.errors && rng_.percent(12)) {
    constexpr int kCodes[] = {409, 422, 429, 500, 504, 403};
    const int code = kCodes[rng_.below(std::size(kCodes))];
    if (code < 500) return refuse(call, code);
    if (rng_.percent(50)) server_.objects.serve(call.call);
    return {std::move(call.answered), code, status_text(code)};
  }
  if (faults.lost && rng_.percent(10)) {
    if (rng_.percent(60)) {
      server_.objects.serve(call.call);
    } else if (may_be_done_late(call.call) && rng_.percent(50)) {
      server_.orphans.push_back(std::move(call.call));
    }
    return {std::move(call.answered), 0, ""};
  }
  if (const int code = server_.protecting ? protected_by(call.call) : 0; code != 0) {
    return refuse(call, code);
  }
  ApiObjects::Answered answer = server_.objects.serve(call.call);
  return {std::move(call.answered), answer.code, std::move(answer.body)};
}

void FakeApi::turn(DurationMs) {
  std::deque<Ready> ready = std::exchange(answers_, {});
  while (!ready.empty()) {
    const std::size_t at = server_.faults.late ? rng_.below(ready.size()) : 0;
    Ready answer = std::move(ready[at]);
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
    if (server_.faults.late && rng_.percent(50)) {
      answers_.push_back(std::move(answer));
      continue;
    }
    answer.answered(read_answer(answer.code, "", answer.body), answer.body);
  }
  for (auto& watch : watches_) {
    if (!watch->stopped) deliver(*watch);
  }
  watches_.remove_if([](const auto& watch) { return watch->stopped; });
}

// --- watches -------------------------------------------------------------------------------------

std::string FakeApi::bookmark(const Watch& watch, bool complete) const {
  Object metadata{{"resourceVersion", std::to_string(watch.from)}};
  if (complete) metadata["annotations"] = Object{{"k8s.io/initial-events-end", "true"}};
  return json_out::serialize(
             Object{{"type", "BOOKMARK"}, {"object", Object{{"metadata", metadata}}}}) +
         "\n";
}

void FakeApi::end(Watch& watch, Outcome outcome) {
  watch.stopped = true;
  watch.ended(plain(outcome));
}

void FakeApi::begin(Watch& watch) {
  watch.begun = true;
  const ApiObjects& objects = server_.objects;
  if (server_.refusing) return end(watch, Outcome::kUnauthorized);
  const bool other = watch.collection.ends_with("sets");  // JobSets, LeaderWorkerSets
  if (other) return end(watch, Outcome::kNotFound);
  if (server_.faults.errors && rng_.percent(10)) return end(watch, Outcome::kUnknown);
  if (watch.lists) {
    if (server_.faults.no_streams) return end(watch, Outcome::kInvalid);
    for (std::string& line : objects.initial(watch.collection)) {
      watch.lines.push_back(std::move(line));
    }
    watch.from = objects.version();
    watch.lines.push_back(bookmark(watch, true));
  } else if (watch.from < objects.oldest()) {
    if (rng_.percent(50)) return end(watch, Outcome::kExpired);
    return break_off(watch);
  }
  const auto& changes = objects.changes();
  const auto first = std::upper_bound(
      changes.begin(), changes.end(), watch.from,
      [](std::uint64_t version, const ApiObjects::Change& c) { return version < c.version; });
  watch.next = static_cast<std::size_t>(first - changes.begin());
}

void FakeApi::collect(Watch& watch) {
  const auto& changes = server_.objects.changes();
  for (; watch.next < changes.size(); ++watch.next) {
    const ApiObjects::Change& change = changes[watch.next];
    watch.from = change.version;
    if (change.collection != watch.collection) continue;
    watch.lines.push_back(change.line);
    if (server_.faults.repeats && rng_.percent(10)) watch.lines.push_back(change.line);
  }
  if (rng_.percent(5)) watch.lines.push_back(bookmark(watch, false));
}

// In chunks with borders anywhere.
void FakeApi::send(Watch& watch, const std::string& bytes) {
  const std::size_t cut = bytes.empty() ? 0 : rng_.below(bytes.size());
  const WatchStream::Take take = [&watch](const WatchEvent& event) {
    if (!watch.stopped) watch.take(event);
  };
  for (const std::string& part : {bytes.substr(0, cut), bytes.substr(cut)}) {
    if (!watch.stopped && watch.stream.feed(part, take)) return end(watch, Outcome::kUnknown);
  }
}

// The version is too old, as an event of the stream.
void FakeApi::break_off(Watch& watch) {
  send(watch, json_out::serialize(Object{
                  {"type", "ERROR"},
                  {"object", Object{{"kind", "Status"}, {"reason", "Expired"}, {"code", 410}}}}) +
                  "\n");
  if (!watch.stopped) end(watch, Outcome::kDone);
}

void FakeApi::deliver(Watch& watch) {
  if (!watch.begun) begin(watch);
  if (watch.stopped) return;
  const ApiFaults& faults = server_.faults;
  collect(watch);
  if (faults.behind && rng_.percent(60)) return;
  const bool some = faults.behind || faults.cuts;
  for (std::size_t most = some ? rng_.below(6) : watch.lines.size();
       most > 0 && !watch.lines.empty() && !watch.stopped; --most) {
    const std::string line = std::move(watch.lines.front());
    watch.lines.pop_front();
    send(watch, line);
  }
  if (watch.stopped) return;
  if (server_.refusing && rng_.percent(20)) return end(watch, Outcome::kUnauthorized);
  if (faults.expires && rng_.percent(2)) return break_off(watch);
  if (!faults.cuts || !rng_.percent(6)) return;
  if (rng_.percent(50) || watch.lines.empty()) return end(watch, Outcome::kDone);
  send(watch, watch.lines.front().substr(0, watch.lines.front().size() / 2));
  if (!watch.stopped) end(watch, Outcome::kUnknown);
}

}  // namespace subak::fault
