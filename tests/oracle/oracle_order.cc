#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>

#include "core/decimal.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_limits.h"
#include "tests/oracle/oracle_quota.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
namespace {

// Keys closer than this count as equal: the engine compares doubles.
constexpr long double kClose = 1e-7L;

bool near(long double a, long double b) {
  return std::abs(a - b) <= kClose * (1 + std::abs(a) + std::abs(b));
}

std::string shown(long double v) { return std::to_string(static_cast<double>(v)); }

}  // namespace

// Returns the free resources of the nodes that the job may use.
std::vector<Oracle::Space> Oracle::spaces(const Job& j) const {
  std::vector<Space> out;
  for (const Node& n : nodes_) {
    if (!n.there || n.cluster != j.id.cluster() || !n.spec.ready || !n.spec.unfit.empty() ||
        n.spec.unschedulable || n.drained || is_drained_before(n, now_, length_of(j)) ||
        refused(j.id, n.id) || OracleLimits(*this).is_free_for_gang(n.id)) {
      continue;
    }
    const ClaimedHere claimed = claimed_on(n.id);
    std::uint64_t busy = claimed.gpus;
    std::int64_t unknown = 0;  // GPUs of pods placed without Subak, on unknown indexes
    std::int64_t cpu = n.spec.cpu_milli - n.others_cpu - claimed.cpu;
    for (const Slot& s : slots_) {
      if (s.at.node != n.id) continue;
      busy |= s.at.gpu_mask;
      unknown +=
          std::max<std::int64_t>(0, s.at.milligpu / kMilliPerGpu - std::popcount(s.at.gpu_mask));
      const auto holder = std::find_if(jobs_.begin(), jobs_.end(),
                                       [&](const Job& other) { return other.id == s.job; });
      if (holder != jobs_.end()) cpu -= shape_of(*holder, s.rank).cpu_milli;
    }
    out.push_back({n.spec.gpus - std::popcount(busy) - unknown, cpu, &n});
  }
  return out;
}

// Checks a launcher without GPUs, and equal pods that request no CPU. Its node takes so many of
// them that the rest of the resources reserved beside still-free GPUs remains.
bool Oracle::fits_with_launcher(const Job& j, const std::string& product) const {
  const bool first = j.request.groups[0].shape.kind == GpuKind::kNone;
  const PodGroup& workers = j.request.groups[first ? 1 : 0];
  const PodShape& launcher = j.request.groups[first ? 0 : 1].shape;
  const auto& allowed = workers.shape.products;
  const bool named = std::find(allowed.begin(), allowed.end(), product) != allowed.end();
  const auto workers_on = [&](const Space& s) -> std::int64_t {
    const bool right = s.node->spec.product == product && (allowed.empty() || named);
    return right && !barred(s.node->id, workers.shape) ? s.gpus / workers.shape.gpus : 0;
  };
  const std::vector<Space> all = spaces(j);
  std::int64_t places = 0;
  for (const Space& s : all) places += workers_on(s);
  const std::int64_t count = workers.count;
  const bool together = j.request.terms.topology == Topology::kNode && !j.request.terms.prefer;
  return places >= count && std::any_of(all.begin(), all.end(), [&](const Space& s) {
           if (barred(s.node->id, launcher)) return false;
           const std::int64_t most = std::min(count, workers_on(s));
           for (std::int64_t here = together ? count : 0; here <= most; ++here) {
             const std::int64_t kept =
                 (s.gpus - here * workers.shape.gpus) * policy_.gpu_headroom.cpu_milli;
             const bool unknown = s.node->spec.cpu_milli == 0 || launcher.cpu_milli == 0;
             if (unknown || s.cpu - launcher.cpu_milli >= kept) return true;
           }
           return false;
         });
}

// Checks whole GPUs of one product: all on one node if requested, else anywhere, the largest pods
// first, each on the fullest node.
bool Oracle::fits(const Job& j, const std::string& product) const {
  const bool led = std::any_of(j.request.groups.begin(), j.request.groups.end(),
                               [](const PodGroup& g) { return g.shape.kind == GpuKind::kNone; });
  if (led) return fits_with_launcher(j, product);
  std::vector<std::pair<std::int64_t, const Node*>> room;
  for (const Space& s : spaces(j)) {
    if (s.node->spec.product == product) room.emplace_back(s.gpus, s.node);
  }
  std::vector<std::pair<std::int64_t, const PodShape*>> pods;
  for (const PodGroup& g : j.request.groups) {
    for (std::uint32_t i = 0; i < g.count; ++i) pods.emplace_back(g.shape.gpus, &g.shape);
  }
  std::stable_sort(pods.begin(), pods.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto right = [&](const Node& n, const PodShape& shape) {
    const auto& allowed = shape.products;
    const bool named = std::find(allowed.begin(), allowed.end(), product) != allowed.end();
    return (allowed.empty() || named) && !barred(n.id, shape);
  };
  if (j.request.terms.topology == Topology::kNode && !j.request.terms.prefer) {
    return std::any_of(room.begin(), room.end(), [&](const auto& place) {
      return place.first >= cost(j.request) / kMilliPerGpu &&
             std::all_of(pods.begin(), pods.end(),
                         [&](const auto& pod) { return right(*place.second, *pod.second); });
    });
  }
  for (const auto& [gpus, shape] : pods) {
    std::pair<std::int64_t, const Node*>* best = nullptr;
    for (auto& place : room) {
      if (right(*place.second, *shape) && place.first >= gpus &&
          (!best || place.first < best->first)) {
        best = &place;
      }
    }
    if (!best) return false;
    best->first -= gpus;
  }
  return true;
}

// True if its accounts allow its cost of this product, beside their holds.
bool Oracle::allowed(const Job& j, const std::string& product) const {
  const ProductAmount more{product, cost(j.request)};
  for (const Account* a = account(j.leaf); a; a = account(a->parent)) {
    const ProductAmounts with = held(a->id, more);
    for (const ProductAmount& limit : a->spec.limit) {
      MilliGpu counts = 0;
      for (const ProductAmount& h : with) {
        if (limit.product == kAnyProduct || h.product == limit.product) counts += h.milligpu;
      }
      const bool asks = limit.product == kAnyProduct || limit.product == product;
      if (asks && counts > limit.milligpu) return false;
    }
    const ProductAmounts now = held(a->id, {});
    const auto most = bound_in(a->spec.borrow, kAnyProduct);
    const MilliGpu then = uncovered(a->id, with);
    if (most && then > *most && then != uncovered(a->id, now)) return false;
    const auto most_of = bound_in(a->spec.borrow, product);
    const auto beyond = [&](const ProductAmounts& holds) {
      const MilliGpu of = amount(holds, product) - amount(quota_list(*a), product);
      return std::max<MilliGpu>(0, std::min(of, uncovered(a->id, holds)));
    };
    if (most_of && beyond(with) > *most_of && beyond(with) != beyond(now)) return false;
  }
  if (!OracleLimits(*this).stops(j, {{product, cost(j.request)}}).empty()) return false;
  const OracleQuota quota(*this);
  return quota.leaves_unlent(j, product) && !quota.breaks_promise(j, product);
}

// True if only placement and limits could keep it from starting.
bool Oracle::is_waiting(const Job& j) const {
  if (j.state != JobState::kQueued || claim_of(j.id) != nullptr) return false;
  if (!is_synced(j.id.cluster())) return false;
  for (const Account* a = account(j.leaf); a; a = account(a->parent)) {
    if (a->spec.held) return false;
  }
  return true;
}

bool Oracle::may_start(const Job& j) const {
  if (!is_waiting(j)) return false;
  std::set<std::string> products;
  for (const Node& n : nodes_) products.insert(n.spec.product);
  return std::any_of(products.begin(), products.end(), [&](const std::string& product) {
    return fits(j, product) && allowed(j, product);
  });
}

// For a job that could use several products only the sum is checked.
bool Oracle::covers(AccountId id, const Job& j) const {
  if (allocated(id, false) + cost(j.request) > quota(id)) return false;
  const std::string product = only_product(j.request);
  const ProductAmount more{product, product.empty() ? 0 : cost(j.request)};
  return uncovered(id, held(id, more)) == 0;
}

std::vector<Oracle::Candidate> Oracle::candidates(AccountId id) const {
  std::vector<Candidate> all;
  const bool own_quota = !account(id)->spec.quota.empty();
  const OracleQuota quota(*this);
  const auto earlier = [](const Job& a, const Job& b) {
    return std::tuple(-a.priority, a.submit, a.id) < std::tuple(-b.priority, b.submit, b.id);
  };
  Candidate own;
  own.id = id;
  own.own = own.by_class = true;
  own.shares = 1;
  for (const Job& j : jobs_) {
    if (j.leaf == id && may_start(j) && (!own.choice.job || earlier(j, *own.choice.job))) {
      own.choice = {&j, own_quota};
      // Which product it gets, and so its place in the order, is not judged then.
      own.choice.close =
          quota.names_products() && only_product(j.request).empty() && !quota.covered_somewhere(j);
    }
  }
  long double own_usage = own.choice.job ? usage(id) : 0;
  own.alloc = static_cast<long double>(allocated(id, false));
  for (const Account& child : accounts_) {
    if (!child.live || child.parent != id) continue;
    if (own.choice.job) own_usage -= usage(child.id);
    own.alloc -= static_cast<long double>(allocated(child.id, false));
    const Choice choice = choose(child.id);
    if (!choice.job) continue;
    Candidate c;
    c.id = child.id;
    c.by_class = child.spec.user;
    c.shares = static_cast<long double>(child.spec.shares);
    c.alloc = static_cast<long double>(allocated(child.id, false));
    c.quota = static_cast<long double>(this->quota(child.id));
    const std::string product = only_product(choice.job->request);
    const bool named =
        id == kRootAccount && !product.empty() && quota.takes_named(*choice.job, product);
    const bool within = c.quota > 0 && covers(child.id, *choice.job) && choice.within && !named;
    c.band = within && policy_.order == OrderPolicy::kTargetShare ? 0 : c.shares > 0 ? 1 : 2;
    c.v = policy_.order == OrderPolicy::kTargetShare ? sort_surplus(child.id) : usage(child.id);
    c.choice = {choice.job, c.quota == 0 ? own_quota : within, choice.close};
    all.push_back(c);
  }
  // A rounding error of sums that should cancel counts as 0.
  own.v = own_usage > 1e-9L * usage(id) ? own_usage : 0;
  if (own.choice.job) all.push_back(own);
  std::int32_t top = -2'000'000'000;
  for (const Candidate& c : all) {
    if (c.by_class) top = std::max(top, c.choice.job->priority);
  }
  std::erase_if(all,
                [top](const Candidate& c) { return c.by_class && c.choice.job->priority != top; });
  set_keys(all);
  return all;
}

std::string Oracle::text_of(const Candidate& c) {
  return "(band " + std::to_string(c.band) + ", key " + shown(c.first) + ", " + shown(c.second) +
         ", v " + shown(c.v) + ", alloc " + shown(c.alloc) + ", quota " + shown(c.quota) + ")";
}

void Oracle::set_keys(std::vector<Candidate>& all) const {
  long double shares = 0, v = 0;
  for (const Candidate& c : all) {
    if (c.shares > 0) shares += c.shares, v += c.v;
  }
  for (Candidate& c : all) {
    const long double per = c.shares > 0 ? c.shares : 1;
    if (policy_.order == OrderPolicy::kExact) {
      c.first = c.v / per;
    } else if (policy_.order == OrderPolicy::kDrf) {
      c.first = c.alloc / per;
    } else if (c.band == 0) {
      c.first = c.alloc / c.quota;
      c.second = c.v / per;
    } else if (c.band == 2) {
      c.first = c.alloc;
      c.second = c.v;
    } else {
      const long double s = c.shares / shares;
      const long double lo = 0.5L, hi = (1 - lo * (1 - s)) / s;
      const long double wanted = v > 0 ? 1 + 32 * (1 - c.v / (s * v)) : 1;
      const auto half = static_cast<long double>(cost(c.choice.job->request)) / 2;
      c.first = (c.alloc + half) / (s * std::clamp(wanted, lo, hi));
      c.second = c.v / per;
    }
  }
}

Oracle::Choice Oracle::choose(AccountId id) const {
  const std::vector<Candidate> all = candidates(id);
  const auto best = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.band, a.first, a.second, a.id) <
           std::tuple(b.band, b.first, b.second, b.id);
  });
  if (best == all.end()) return Choice{};
  Choice out = best->choice;
  out.close = std::any_of(all.begin(), all.end(), [&](const Candidate& c) {
    const bool same = c.first == best->first && c.second == best->second;
    const bool may_be_less =
        c.first == best->first ? near(c.second, best->second) : near(c.first, best->first);
    return c.choice.close || (c.band == best->band && !same && may_be_less);
  });
  return out;
}

// At each node from the root down to the job's account, the chosen child is not behind any other.
void Oracle::judge_order(const Job& chosen) {
  if (reservations_ > 0 || policy_.order == OrderPolicy::kUsageTick) return;
  // A pass finds that a job cannot start by trying it. Until then the job counts as demand of its
  // account. So the choice is certain only if all waiting jobs could start.
  const bool doubt = std::any_of(jobs_.begin(), jobs_.end(),
                                 [this](const Job& j) { return is_waiting(j) && !may_start(j); });
  if (doubt && policy_.order != OrderPolicy::kFifo) return;
  if (OracleQuota(*this).is_served_first(chosen)) return;
  ++judged_;
  if (policy_.order == OrderPolicy::kFifo) {
    const OracleLimits limits(*this);
    for (const Job& j : jobs_) {
      const bool is_earlier = std::tuple(j.submit, j.id) < std::tuple(chosen.submit, chosen.id);
      if (is_earlier && may_start(j) && !limits.waits_behind_minutes(j)) {
        wrong(text::job_id_text(j.id) + " came before " + text::job_id_text(chosen.id));
      }
    }
    return;
  }
  // True if the first keys are quotients of different numbers: rounding may tell equal ones apart.
  const auto by_quotients = [](const Candidate& a, const Candidate& b) {
    return a.band == 1 && (a.alloc != b.alloc || a.shares != b.shares);
  };
  std::vector<AccountId> path;
  for (const Account* a = account(chosen.leaf); a; a = account(a->parent)) path.push_back(a->id);
  std::reverse(path.begin(), path.end());
  for (std::size_t level = 0; level < path.size(); ++level) {
    const std::vector<Candidate> all = candidates(path[level]);
    const AccountId next = level + 1 < path.size() ? path[level + 1] : path[level];
    const auto mine =
        std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.id == next; });
    const std::string who =
        text::job_id_text(chosen.id) + " at \"" + account(path[level])->spec.path + "\"";
    if (mine == all.end()) return wrong(who + " was started though it should not be");
    for (const Candidate& c : all) {
      if (c.band > mine->band || &c == &*mine || c.choice.close || mine->choice.close) continue;
      const bool first_close = c.band == mine->band && near(c.first, mine->first);
      const bool ahead = c.band < mine->band || (!first_close && c.first < mine->first) ||
                         (first_close && !near(c.second, mine->second) && c.second < mine->second &&
                          c.first == mine->first && !by_quotients(c, *mine));
      if (ahead) {
        wrong(who + " " + text_of(*mine) + " was started before " +
              text::job_id_text(c.choice.job->id) + " " + text_of(c));
      }
    }
  }
  for (const Candidate& c : candidates(chosen.leaf)) {
    if (c.own && c.choice.job != &chosen && c.choice.job->id != chosen.id) {
      wrong(text::job_id_text(chosen.id) + " was started out of its line");
    }
  }
}

void Oracle::judge_nobody_waits() {
  const OracleLimits limits(*this);
  for (const Job& j : jobs_) {
    if (j.awaits_resume && subak::is_waiting(j.state) && !drains(j.leaf) && !limits.is_full(j.leaf))
      wrong(name(j.id) + " waits beside the queue although its account accepts it");
  }
  if (reservations_ > 0) return;
  for (const Job& j : jobs_) {
    if (may_start(j) && !limits.waits_behind_minutes(j))
      wrong(text::job_id_text(j.id) + " waits though it could start");
  }
}

}  // namespace subak::sim
