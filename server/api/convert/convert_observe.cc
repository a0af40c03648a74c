#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/api/convert/convert.h"
#include "server/api/convert/gang_terms.h"

namespace subak::api {
namespace {

PodRef get_ref(Check& check, const v1::PodRef& in) {
  PodRef out;
  const auto scope = check.in("pod");
  if (in.uid().empty() == in.job_id().empty()) {
    check.fail("uid", in.uid(), "want either uid, or job_id and rank");
    return out;
  }
  out.uid = check.known_name("uid", in.uid(), false);
  if (!in.job_id().empty()) out.job = get_job_id(check, "job_id", in.job_id());
  out.rank = static_cast<std::uint32_t>(
      check.number("rank", in.rank(), 0, std::int64_t{limits::kMaxPodsPerJob} - 1));
  out.attempt = static_cast<std::uint32_t>(check.number("attempt", in.attempt(), 0, 0x7fff'ffff));
  return out;
}

Cause get_cause(Check& check, const char* field, v1::Cause in) {
  return static_cast<Cause>(check.enum_value(field, in, v1::CAUSE_NOT_READY));
}

Rejection get_rejection(Check& check, const v1::Rejection& in) {
  const auto scope = check.in("rejection");
  return {check.text("error", in.error(), limits::kMaxNameBytes),
          check.text("message", in.message(), limits::kMaxRefusalBytes)};
}

Workload get_workload(Check& check, const v1::WorkloadRef& in) {
  const auto scope = check.in("workload");
  return {check.known_name("kind", in.kind(), true), check.known_name("name", in.name(), true),
          check.known_name("uid", in.uid(), true)};
}

void get_place(Check& check, const v1::PodRecord& in, PodRecord* out) {
  out->terms = get_terms(check, in);
  out->replaced_alone = in.replaced_alone();
  out->owners.size_of_owner = in.size_of_owner();
  out->priority = in.priority();
  out->priority_class = check.text("priority_class", in.priority_class(), limits::kMaxNameBytes);
  out->time_limit_ms =
      check.number("time_limit_ms", in.time_limit_ms(), 0, limits::kMaxTimeLimitMs);
  out->grace_ms = check.number("grace_ms", in.grace_ms(), 0, limits::kMaxTimeLimitMs);
  out->gated = in.gated();
  out->controlled = in.controlled();
  out->other_manager = in.other_manager();
  out->node = check.known_name("node", in.node(), false);
  out->running = in.running();
  out->foreign_gates = in.foreign_gates();
  out->let_go_to = check.known_name("let_go_to", in.let_go_to(), false);
  if (in.has_bound_at()) out->bound_at_ms = check.time("bound_at", in.bound_at());
  out->ended = get_cause(check, "ended", in.ended());
  if (in.has_rejection()) out->rejection = get_rejection(check, in.rejection());
  if (in.has_workload()) out->owners.workload = get_workload(check, in.workload());
  if (in.has_ended_at()) out->ended_at_ms = check.time("ended_at", in.ended_at());
  if (in.has_running_at()) out->running_at_ms = check.time("running_at", in.running_at());
  if (in.has_created_at()) out->created_at_ms = check.time("created_at", in.created_at());
  const auto scope = check.in("shape");
  out->shape = get(check, in.shape());
}

PodRecord get_pod(Check& check, const v1::PodRecord& in) {
  PodRecord out;
  const auto scope = check.in("pod");
  out.uid = check.name("uid", in.uid(), true);
  out.ns = check.name("namespace", in.namespace_(), true);
  out.name = check.name("name", in.name(), true);
  out.account = check.name("account", in.account(), false);
  out.user = check.name("user", in.user(), false);
  out.gang = check.name("gang", in.gang(), false);
  out.owner = check.name("owner", in.owner(), false);
  const std::int64_t size = check.number("gang_size", in.gang_size(), 0, limits::kMaxPodsPerJob);
  out.gang_size = size == 0 ? 1 : static_cast<std::uint32_t>(size);
  if (in.size_unknown()) out.gang_size = 0;
  if (in.has_rank()) {
    out.rank = static_cast<std::int32_t>(
        check.number("rank", in.rank(), 0, std::int64_t{limits::kMaxPodsPerJob} - 1));
  }
  get_place(check, in, &out);
  check.take(bounds::check(out));
  return out;
}

in::PodBound get_bound(Check& check, const v1::PodBound& in, const std::string& cluster) {
  in::PodBound out{cluster, get_ref(check, in.pod()), check.known_name("node", in.node(), true), 0};
  if (in.has_bound_at()) out.at_ms = check.time("bound_at", in.bound_at());
  return out;
}

in::PodRunning get_running(Check& check, const v1::PodRunning& in, const std::string& cluster) {
  in::PodRunning out{cluster, get_ref(check, in.pod()), 0};
  if (in.has_running_at()) out.at_ms = check.time("running_at", in.running_at());
  return out;
}

in::GangSeen get_gang(Check& check, const v1::GangSeen& in, const std::string& cluster) {
  in::GangSeen out{cluster,
                   check.known_name("namespace", in.namespace_(), true),
                   check.known_name("gang", in.gang(), true),
                   check.known_name("owner", in.owner(), false),
                   get_groups(check, in.groups()),
                   0,
                   0};
  out.least =
      static_cast<std::uint32_t>(check.number("least", in.least(), 1, limits::kMaxPodsPerJob));
  out.each = static_cast<std::uint32_t>(check.number("each", in.each(), 0, limits::kMaxPodsPerJob));
  if (check.ok()) check.take(bounds::check(in::Body(out)));
  return out;
}

in::PodRefused get_refused(Check& check, const v1::PodRefused& in, const std::string& cluster) {
  return {cluster, get_ref(check, in.pod()), get_cause(check, "cause", in.cause()),
          check.text("words", in.words(), limits::kMaxRefusalBytes)};
}

in::NodeGone get_gone(Check& check, const v1::NodeGone& in, const std::string& cluster) {
  in::NodeGone out{cluster, check.known_name("node", in.node(), true), 0};
  if (in.has_gone_at()) out.at_ms = check.time("gone_at", in.gone_at());
  return out;
}

in::OwnerSeen get_owner(Check& check, const v1::OwnerSeen& in, const std::string& cluster) {
  in::OwnerSeen out{cluster, ParkedOwner::kParked, get_pod(check, in.pod()),
                    get_groups(check, in.groups())};
  switch (in.state()) {
    case v1::PARKED_OWNER_PARKED:
      break;
    case v1::PARKED_OWNER_RESUMED:
      out.state = ParkedOwner::kResumed;
      break;
    case v1::PARKED_OWNER_GONE:
      out.state = ParkedOwner::kGone;
      break;
    default:
      check.fail("state", std::to_string(in.state()), "want parked, resumed or gone");
  }
  if (check.ok()) check.take(bounds::check(in::Body(out)));
  return out;
}

in::PodGone get_gone(Check& check, const v1::PodGone& in, const std::string& cluster) {
  in::PodGone out{cluster, get_ref(check, in.pod()), 0, Cause::kNone};
  if (in.has_ended_at()) out.ended_at_ms = check.time("ended_at", in.ended_at());
  out.cause = get_cause(check, "cause", in.cause());
  if (in.has_rejection()) out.rejection = get_rejection(check, in.rejection());
  return out;
}

}  // namespace

in::Body get_event(Check& check, const v1::ObserveRequest& in, const std::string& cluster) {
  using Event = v1::ObserveRequest;
  switch (in.event_case()) {
    case Event::kListBegin: {
      const auto scope = check.in("list_begin");
      return in::ListBegin{cluster, check.name("uid", in.list_begin().uid(), false)};
    }
    case Event::kListComplete:
      return in::ListComplete{cluster};
    case Event::kNodeSeen: {
      const auto scope = check.in("node_seen");
      const auto node = check.in("node");
      return in::NodeSeen{cluster, get(check, in.node_seen().node())};
    }
    case Event::kNodeGone: {
      const auto scope = check.in("node_gone");
      return get_gone(check, in.node_gone(), cluster);
    }
    case Event::kPodSeen: {
      const auto scope = check.in("pod_seen");
      return in::PodSeen{cluster, get_pod(check, in.pod_seen().pod())};
    }
    case Event::kPodBound: {
      const auto scope = check.in("pod_bound");
      return get_bound(check, in.pod_bound(), cluster);
    }
    case Event::kPodRunning: {
      const auto scope = check.in("pod_running");
      return get_running(check, in.pod_running(), cluster);
    }
    case Event::kPodGone: {
      const auto scope = check.in("pod_gone");
      return get_gone(check, in.pod_gone(), cluster);
    }
    case Event::kPodRefused: {
      const auto scope = check.in("pod_refused");
      return get_refused(check, in.pod_refused(), cluster);
    }
    case Event::kNamespaceSeen: {
      const auto scope = check.in("namespace_seen");
      const v1::NamespaceSeen& seen = in.namespace_seen();
      return in::NamespaceSeen{cluster, check.name("namespace", seen.namespace_(), true),
                               check.name("account", seen.account(), false)};
    }
    case Event::kGangSeen: {
      const auto scope = check.in("gang_seen");
      return get_gang(check, in.gang_seen(), cluster);
    }
    case Event::kOwnerSeen: {
      const auto scope = check.in("owner_seen");
      return get_owner(check, in.owner_seen(), cluster);
    }
    case Event::kGangGone: {
      const auto scope = check.in("gang_gone");
      return in::GangGone{cluster, check.known_name("owner", in.gang_gone().owner(), true)};
    }
    case Event::kSeenUntil: {
      const auto scope = check.in("seen_until");
      in::SeenUntil out{cluster, 0};
      if (in.seen_until().has_at()) out.at_ms = check.time("at", in.seen_until().at());
      return out;
    }
    case Event::EVENT_NOT_SET:
      break;
  }
  check.fail("event", "", "want one event");
  return in::ListBegin{cluster};
}

}  // namespace subak::api
