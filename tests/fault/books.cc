#include "books.h"

#include <algorithm>
#include <cstdlib>

#include "cluster.h"
#include "core/limits.h"

namespace subak::fault {

Books::Report Books::report_of(const in::Body& body) {
  using Kind = Report::Kind;
  if (const auto* b = std::get_if<in::PodBound>(&body)) {
    return {Kind::kBound, b->pod, b->at_ms, b->node};
  }
  if (const auto* r = std::get_if<in::PodRunning>(&body)) {
    return {Kind::kBound, r->pod, r->at_ms, ""};
  }
  if (const auto* s = std::get_if<in::PodSeen>(&body)) {
    if (s->pod.ended != Cause::kNone) {
      return {Kind::kGone, {s->pod.uid, {}, 0, 0}, s->pod.ended_at_ms, ""};
    }
    const Kind kind = s->pod.node.empty() ? Kind::kNone : Kind::kBound;
    return {kind, {s->pod.uid, {}, 0, 0}, s->pod.bound_at_ms, s->pod.node};
  }
  if (const auto* g = std::get_if<in::PodGone>(&body)) {
    return {Kind::kGone, g->pod, g->ended_at_ms, ""};
  }
  return {};
}

// By the service's clock, as the edge says what its own shows. What it says of the scheduler's is left as it is.
TimeMs Books::ours(TimeMs said) const {
  if (said == 0 || input_->said_at_ms == 0) return said;
  const DurationMs behind_ms = input_->time_ms - input_->said_at_ms;
  if (std::abs(behind_ms) <= limits::kClockErrorMs) return said;
  return std::clamp<TimeMs>(said + behind_ms, 1, now_);
}

// Of a pod that ended, where and since when it was bound, if that is known.
std::optional<Books::Report> Books::earlier_bind(const in::Body& body) {
  const auto* s = std::get_if<in::PodSeen>(&body);
  if (s == nullptr || s->pod.ended == Cause::kNone || s->pod.bound_at_ms == 0) return std::nullopt;
  return Report{Report::Kind::kBound, {s->pod.uid, {}, 0, 0}, s->pod.bound_at_ms, s->pod.node};
}

std::optional<Books::Place> Books::find(const PodRef& ref) const {
  if (!ref.uid.empty()) {
    const auto known = uids_.find(ref.uid);
    if (known == uids_.end()) return std::nullopt;
    return known->second;
  }
  const Place place{ref.job, ref.rank};
  const auto stay = stays_.find(place);
  if (stay == stays_.end()) return std::nullopt;
  if (ref.attempt != 0 && ref.attempt != stay->second.attempt) return std::nullopt;
  return place;
}

void Books::wrong(const Place& place, const std::string& what) {
  mistakes.push_back("@" + std::to_string(now_) + " " + text::job_id_text(place.first) + "/" +
                     std::to_string(place.second) + " " + what);
}

void Books::saw(const Input& input, const ApplyOutcome& outcome) {
  input_ = &input;
  now_ = std::max(now_, input.time_ms);
  const bool stale = outcome.reply.error && outcome.reply.error->field == "session";
  report_ = stale ? Report() : report_of(input.body);  // an old edge's word
  const bool scheduler =
      std::holds_alternative<in::PodSeen>(input.body) && report_.kind == Report::Kind::kBound;
  if (!scheduler) report_.at_ms = ours(report_.at_ms);
  earlier_ = stale ? std::nullopt : earlier_bind(input.body);
  named_ = find(report_.pod);
  const auto before = named_ ? stays_.find(*named_) : stays_.end();
  const bool early = is_early(report_);
  if (!stale && !outcome.reply.error) note_early(input);
  const bool bind_due = before != stays_.end() && !before->second.bound && !early &&
                        report_.kind == Report::Kind::kBound && !outcome.reply.error;
  const bool end_due = before != stays_.end() && report_.kind == Report::Kind::kGone;
  for (const Fact& fact : outcome.facts) {
    std::visit([this](const auto& body) { on(body); }, fact.body);
    note_known(fact.body);
  }
  if (named_) {
    const auto after = stays_.find(*named_);
    if (bind_due && after != stays_.end() && !after->second.bound) {
      wrong(*named_, "was reported bound, and that was ignored");
    }
    const bool sure = !early && (!report_.pod.uid.empty() || report_.pod.attempt != 0);
    if (sure && after != stays_.end() && !report_.node.empty() && !outcome.reply.error &&
        nodes_.at(after->second.node) != report_.node) {
      wrong(*named_, "is at " + report_.node + ", and that was ignored");
    }
    if (end_due && after != stays_.end()) wrong(*named_, "was reported gone, and that was ignored");
  }
  if (!stale) mark(input, report_);
}

// It says that a pod is on a node which is not there (any more).
bool Books::is_early(const Report& report) const {
  return report.kind == Report::Kind::kBound && !report.node.empty() &&
         there_.count(report.node) == 0;
}

// The last word of each pod on a node that is not there waits for it, until a list says all anew.
void Books::note_early(const Input& input) {
  const bool begins = std::holds_alternative<in::ListBegin>(input.body);
  if (begins || std::holds_alternative<in::Restarted>(input.body)) early_.clear();
  const bool says_where = std::holds_alternative<in::PodSeen>(input.body) ||
                          std::holds_alternative<in::PodBound>(input.body) ||
                          std::holds_alternative<in::PodGone>(input.body);
  if (says_where) early_.erase(name_of(report_.pod));
  if (is_early(report_)) early_[name_of(report_.pod)] = report_;
}

const Books::Report* Books::said_of(const Place& place) const {
  if (named_ == place && report_.kind == Report::Kind::kBound) return &report_;
  if (earlier_ && find(earlier_->pod) == place) return &*earlier_;
  for (const auto& [name, report] : early_) {
    if (find(report.pod) == place && !is_early(report)) return &report;
  }
  return nullptr;
}

// What a list has named since it began.
void Books::mark(const Input& input, const Report& report) {
  const bool begins = std::holds_alternative<in::ListBegin>(input.body);
  const bool restarts = std::holds_alternative<in::Restarted>(input.body);
  if (begins || restarts) {
    listed_.clear();
    listed_nodes_.clear();
  }
  if (restarts) {
    heard_ = heard_before_list_ = seen_until_;
    restarted_at_ = now_;
    listing_ = false;
  }
  if (begins && !listing_) heard_before_list_ = heard_;
  if (begins) listing_ = true;
  if (std::holds_alternative<in::ListComplete>(input.body)) listing_ = false;
  const bool seen = report.kind != Report::Kind::kNone ||
                    std::holds_alternative<in::PodSeen>(input.body) ||
                    std::holds_alternative<in::NodeSeen>(input.body) ||
                    std::holds_alternative<in::NodeGone>(input.body) ||
                    std::holds_alternative<in::PodRefused>(input.body) ||
                    std::holds_alternative<in::ListComplete>(input.body);
  if (begins || seen) heard_ = now_;
  if (const auto* until = std::get_if<in::SeenUntil>(&input.body)) {
    heard_ = std::max(heard_, until->at_ms == 0 ? now_ : std::min(ours(until->at_ms), now_));
  }
  if (const auto* node = std::get_if<in::NodeSeen>(&input.body)) {
    listed_nodes_.insert(node->node.name);
  }
  if (std::holds_alternative<in::PodGone>(input.body)) return;
  if (const auto place = find(report.pod)) listed_.insert(*place);
}

// While nobody can say what happens in a cluster, the clocks of its holds stand.
void Books::on(const fact::ClusterSynced& f) {
  if (!f.synced) {
    unknown_since_[f.id] = f.since_ms;
    return;
  }
  const auto since = unknown_since_.find(f.id);
  if (since == unknown_since_.end()) return;
  for (auto& [place, stay] : stays_) {
    if (place.first.cluster() == f.id) stay.until += now_ - since->second;
  }
  unknown_since_.erase(since);
}

// Who is said to be there tells that the cluster was heard, where its edge says that at all.
void Books::note_known(const fact::Body& body) {
  const bool there = std::holds_alternative<fact::PodAdded>(body) ||
                     std::holds_alternative<fact::PodBound>(body) ||
                     std::holds_alternative<fact::PodRunning>(body);
  if (there && seen_until_ != 0 && unknown_since_.empty()) seen_until_ = now_;
}

// What is known is known again after a restart; it never goes back, and never beyond what was said.
void Books::on(const fact::ClusterSeen& f) {
  const auto* const said = std::get_if<in::SeenUntil>(&input_->body);
  const bool listed = std::holds_alternative<in::ListComplete>(input_->body);
  const TimeMs most = listed || said == nullptr || said->at_ms == 0 ? now_ : ours(said->at_ms);
  if (f.until_ms < seen_until_ || f.until_ms > std::min(most, now_)) {
    mistakes.push_back("@" + std::to_string(now_) + " the cluster is known until another time");
  }
  seen_until_ = f.until_ms;
}

void Books::on(const fact::PodAdded& f) {
  uids_[f.uid] = {f.job, f.rank};
  if (!f.bound) return;
  Stay stay;
  stay.since = stay.charged_to = stay.seen = f.bound_at_ms;
  stay.bound = f.bound_at_ms;
  stay.attempt = attempts_[f.job];
  stay.node = f.slot.node;
  // From its bind on, as far as the node was known; a restart may have forgotten since when.
  const Report& said = earlier_ ? *earlier_ : report_;
  const TimeMs at = said.at_ms != 0 ? std::min(said.at_ms, now_) : now_;
  const TimeMs seen = node_since_.at(f.slot.node);
  if (f.bound_at_ms < std::max(at, seen) || f.bound_at_ms > std::max({at, seen, restarted_at_})) {
    wrong({f.job, f.rank}, "is charged from another time than its bind");
  }
  if (!stays_.emplace(Place{f.job, f.rank}, stay).second) wrong({f.job, f.rank}, "stays twice");
  if (said_of({f.job, f.rank}) == nullptr && report_.kind != Report::Kind::kBound) {
    wrong({f.job, f.rank}, "runs though nobody said so");
  }
}

void Books::on(const fact::PodSeated& f) {
  for (auto& [uid, place] : uids_) {
    if (place == Place{f.job, f.from}) place.second = f.rank;
  }
  listed_.erase({f.job, f.rank});
  if (listed_.erase({f.job, f.from}) > 0) listed_.insert({f.job, f.rank});
  if (stays_.count({f.job, f.from}) > 0) wrong({f.job, f.from}, "changes its rank with its place");
}

void Books::on(const fact::PodsRanked& f) {
  std::map<std::uint32_t, std::uint32_t> to;
  for (const fact::PodsRanked::Move& m : f.moves) {
    to[m.from] = m.rank;
    if (stays_.count({f.job, m.from}) > 0)
      wrong({f.job, m.from}, "changes its rank with its place");
  }
  for (auto& [uid, place] : uids_) {
    if (place.first == f.job && to.contains(place.second)) place.second = to[place.second];
  }
  std::vector<Place> listed;
  for (const auto& [from, rank] : to) {
    if (listed_.erase({f.job, from}) > 0) listed.push_back({f.job, rank});
  }
  listed_.insert(listed.begin(), listed.end());
}

void Books::on(const fact::AttemptStarted& f) {
  attempts_[f.id] = f.attempt;
  for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
    Stay stay;
    stay.since = stay.charged_to = now_;
    stay.until = f.until_ms;
    stay.attempt = f.attempt;
    stay.node = f.slots[rank].node;
    if (!stays_.emplace(Place{f.id, rank}, stay).second) wrong({f.id, rank}, "stays twice");
  }
}

void Books::on(const fact::Charged& f) {
  const Place place{f.row.allocation.job, f.row.allocation.rank};
  if (f.row.corrects != 0) return;  // of a clock that was wrong
  const auto known = stays_.find(place);
  if (known == stays_.end()) return wrong(place, "was charged for no stay");
  Stay& stay = known->second;
  if (f.row.allocation.attempt != stay.attempt) wrong(place, "was charged for another attempt");
  stay.charged += f.row.to_ms - f.row.from_ms;
  const bool leapt = f.row.state == UsageState::kHeldUnbound && !stay.bound;
  if (f.row.state == UsageState::kHeld || leapt) stay.held += f.row.to_ms - f.row.from_ms;
  stay.charged_to = f.row.to_ms;
}

void Books::on(const fact::PodBound& f) {
  const Place place{f.job, f.rank};
  const auto known = stays_.find(place);
  if (known == stays_.end()) return wrong(place, "was bound without a hold");
  Stay& stay = known->second;
  const Report* const said = said_of(place);
  if (said == nullptr) return wrong(place, "was bound though nobody said so");
  // What is charged already, as over a leap of the clock, stays a hold.
  TimeMs at = said->at_ms == 0 ? now_ : std::clamp(said->at_ms, stay.charged_to, now_);
  if (f.slot.node != stay.node || is_early(*said)) at = now_;
  if (f.at_ms != at) wrong(place, "was bound at another time");
  if (stay.bound) {
    if (f.slot.node == stay.node) wrong(place, "was bound twice");
    if (nodes_.at(f.slot.node) != said->node) wrong(place, "was moved to where it is not");
    if (stay.charged_to != now_) wrong(place, "was moved with its stay uncharged");
  } else {
    if (stay.held != at - stay.since) wrong(place, "its hold was charged for another time");
    stay.bound = at;
  }
  stay.node = f.slot.node;
  stay.seen = std::max(stay.seen, f.seen_ms == 0 ? now_ : f.seen_ms);
}

void Books::on(const fact::PodRunning& f) {
  const auto known = stays_.find({f.job, f.rank});
  if (known == stays_.end()) return wrong({f.job, f.rank}, "runs without a place");
  Stay& stay = known->second;
  stay.seen = std::max(stay.seen, f.seen_ms == 0 ? now_ : f.seen_ms);
}

bool Books::node_went(NodeId node) const {
  const std::string& name = nodes_.at(node);
  if (const auto* gone = std::get_if<in::NodeGone>(&input_->body)) return gone->node == name;
  return std::holds_alternative<in::ListComplete>(input_->body) && listed_nodes_.count(name) == 0;
}

TimeMs Books::end_of(const Place& place, const Stay& stay) {
  if (ends_ == place || (named_ == place && report_.kind == Report::Kind::kGone)) {
    if (report_.at_ms == 0) return now_;
    // Of one that vanished, the edge says only when it was up to date.
    const auto* const gone = std::get_if<in::PodGone>(&input_->body);
    const bool vanished = gone != nullptr && gone->cause == Cause::kVanished;
    if (report_.at_ms + limits::kClockNoiseMs < stay.seen && !vanished) return now_;
    return std::clamp(report_.at_ms, std::max(stay.charged_to, stay.seen), now_);
  }
  const bool unlisted =
      std::holds_alternative<in::ListComplete>(input_->body) && listed_.count(place) == 0;
  const bool went = node_went(stay.node);
  if (!unlisted && !went) wrong(place, "ended for no reason");
  // Nobody saw it end: it had by when the cluster was last heard before the list.
  const bool listed = std::holds_alternative<in::ListComplete>(input_->body);
  const auto* const gone = std::get_if<in::NodeGone>(&input_->body);
  const TimeMs at = listed ? heard_before_list_ : gone != nullptr && went ? ours(gone->at_ms) : 0;
  const TimeMs there = std::max(stay.charged_to, stay.seen);
  return at != 0 && (stay.bound || unlisted) ? std::clamp(at, there, now_) : now_;
}

void Books::close(const Place& place, TimeMs at) {
  const Stay& stay = stays_.at(place);
  if (stay.charged != at - stay.since) {
    wrong(place, "stayed " + std::to_string(at - stay.since) + " ms, was charged for " +
                     std::to_string(stay.charged));
  }
  stays_.erase(place);
}

void Books::on(const fact::PodGone& f) {
  const Place place{f.job, f.rank};
  ends_ = report_.kind == Report::Kind::kGone ? find(report_.pod) : std::nullopt;
  std::erase_if(uids_, [&](const auto& entry) { return entry.second == place; });
  const auto known = stays_.find(place);
  if (known == stays_.end()) return;
  const TimeMs at = end_of(place, known->second);
  if (f.at_ms != at) wrong(place, "ended at another time");
  close(place, at);
}

void Books::lose(const Place& place, Cause cause) {
  const Stay& stay = stays_.at(place);
  // Or a gate was opened for an attempt before: its pod goes where that one let it go to.
  const auto* const seen = std::get_if<in::PodSeen>(&input_->body);
  const auto late = seen != nullptr ? find({seen->pod.uid, {}, 0}) : std::nullopt;
  const bool same =
      late && stays_.contains(*late) && seen->pod.let_go_to == nodes_.at(stays_.at(*late).node);
  const bool elsewhere =
      late && late->first == place.first && !seen->pod.let_go_to.empty() && !same;
  if (now_ < stay.until && cause == Cause::kExpired && !elsewhere) {
    wrong(place, "expired before its time");
  }
  close(place, now_);
}

void Books::on(const fact::PlaceLost& f) {
  const auto known = stays_.find({f.job, f.rank});
  if (known == stays_.end() || known->second.bound) {
    return wrong({f.job, f.rank}, "lost a place that it was not on the way to");
  }
  lose({f.job, f.rank}, f.cause);
}

void Books::on(const fact::AttemptEnded& f) {
  for (const auto& [place, stay] : std::map(stays_)) {
    if (place.first != f.id) continue;
    if (stay.bound) wrong(place, "is bound though its attempt ended");
    lose(place, f.cause);
  }
  if (f.to == JobState::kDone) forget(f.id);
}

void Books::on(const fact::JobMoved& f) {
  if (f.to == JobState::kDone) forget(f.id);
}

void Books::forget(JobId job) {
  std::erase_if(uids_, [&](const auto& entry) { return entry.second.first == job; });
  for (const auto& [place, stay] : stays_) {
    if (place.first == job) wrong(place, "stays though its job is done");
  }
}

}  // namespace subak::fault
