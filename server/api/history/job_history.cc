// GetJobHistory. The follower says when the job came, the store returns the facts, and the follower
// turns ids into names.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/limits.h"
#include "server/api/calls/job_service.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"
#include "server/api/history/history_limits.h"
#include "server/api/history/job_past.h"

namespace subak::api {
namespace {

using derive::JobEvent;

struct PastCall {
  Call call;
  v1::GetJobHistoryResponse* out;
  JobPast past;
};

std::string name_of_node(const Engine& engine, NodeId id) {
  if (const NodeSpec* node = engine.fleet().node(id)) return node->name;
  return "node " + std::to_string(id.value);
}

void put_event(const JobEvent& e, const Engine& engine, v1::JobEvent* out) {
  out->set_sequence(e.seq);
  put(e.time_ms, out->mutable_time());
  if (e.last_ms > e.time_ms) put(e.last_ms, out->mutable_last_time());
  out->set_kind(static_cast<v1::JobEventKind>(static_cast<int>(e.kind) + 1));
  out->set_text(derive::event_text(e));
  if (e.state) out->set_state(to_proto(*e.state));
  out->set_cause(static_cast<v1::Cause>(e.cause));
  out->set_attempt(static_cast<std::int32_t>(e.attempt));
  out->set_pods(static_cast<std::int32_t>(e.pods));
  for (const NodeId id : e.nodes) {
    if (out->nodes_size() == limits::kMaxNodesShown) break;
    out->add_nodes(name_of_node(engine, id));
  }
  out->set_node_count(static_cast<std::int32_t>(e.nodes.size()));
  for (const JobId id : e.jobs) {
    if (out->jobs_size() == limits::kMaxVictimsShown) break;
    out->add_jobs(text_of(id));
  }
  out->set_job_count(static_cast<std::int32_t>(e.jobs.size()));
  if (e.account) out->set_account(path_of(engine.accounts(), e.account));
  if (e.start.at_ms != 0 && e.start.at_ms != limits::kMaxTimeMs)
    put(e.start.at_ms, out->mutable_start());
  out->set_estimated(e.start.estimated);
  out->set_moved_later(static_cast<std::int32_t>(e.start.moved_later));
  if (e.until_ms != 0) put(e.until_ms, out->mutable_until());
  out->set_why(e.why);
  out->set_actor(e.said.actor);
  out->set_words(e.said.words);
}

void read_past(const std::shared_ptr<PastCall>& p, JobId job, StoreReader& store) {
  const Result<bool> done = p->past.read(store);
  if (!done.ok()) {
    p->call.fail(done.error());
  } else if (!*done) {
    p->call.store_then([p, job](StoreReader& next) { read_past(p, job, next); });
  } else if (p->past.missing()) {
    p->call.fail({ErrorCode::kNotFound, "job_id", text_of(job), "there is no such job"});
  } else {
    p->call.read([p](const Engine& engine) -> std::optional<Error> {
      for (const JobEvent& event : p->past.events()) put_event(event, engine, p->out->add_events());
      if (p->past.next() > 0) p->out->set_next_page_token(std::to_string(p->past.next()));
      p->out->set_facts_read(p->past.facts_read());
      return std::nullopt;
    });
  }
}

}  // namespace

JobService::Reactor* JobService::GetJobHistory(Context* context, const v1::GetJobHistoryRequest* in,
                                               v1::GetJobHistoryResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const JobId id = get_job_id(check, "job_id", in->job_id());
  const Page page = read_page(check, in->page_size(), in->page_token());
  if (!check.ok()) return call.fail(check.error());
  return call.read_then([call, out, id, page](const Engine& engine) {
    JobPast::Asked asked{id, page.after, engine.seq()};
    asked.most_events = std::min(page.size, limits::kMaxHistoryEvents);
    if (const auto row = engine.job(id, false)) {
      asked.from_ms = row->submit_ms;
      if (row->ended_ms > 0) asked.until_ms = row->ended_ms;
    }
    auto past = std::make_shared<PastCall>(PastCall{call, out, JobPast(asked)});
    call.store_then([past, id](StoreReader& store) { read_past(past, id, store); });
  });
}

}  // namespace subak::api
