// What the marks of other queue managers mean in a namespace that Subak manages.
// Sources of the names:
//   Kueue   kubernetes-sigs/kueue pkg/controller/constants, apis/kueue/v1beta2 (topology)
//   KAI     kai-scheduler/KAI-Scheduler pkg/common/constants
//   Volcano volcano.sh/apis pkg/apis/scheduling/v1beta1
#include <algorithm>

#include "admission/policy_parts.h"
#include "core/account_path.h"
#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/quantity.h"
#include "model/policy.h"

namespace subak::policy {
namespace {

constexpr Text kKueueQueue = "kueue.x-k8s.io/queue-name";
constexpr Text kKueueClass = "kueue.x-k8s.io/priority-class";
constexpr Text kKueueSeconds = "kueue.x-k8s.io/max-exec-time-seconds";
constexpr Text kKueueRequired = "kueue.x-k8s.io/podset-required-topology";
constexpr Text kKueuePreferred = "kueue.x-k8s.io/podset-preferred-topology";
constexpr Text kKueueLeast = "kueue.x-k8s.io/job-min-parallelism";

struct Mark {
  Text key, value;
  bool label = false;
};

// Returns the first of the keys that the object has, as a label or as an annotation.
std::optional<Mark> find_mark(const Pod& object, std::initializer_list<Text> keys) {
  for (const Text key : keys) {
    if (has_key(object.labels, key)) return Mark{key, find_text(object.labels, key), true};
    if (has_key(object.annotations, key)) {
      return Mark{key, find_text(object.annotations, key), false};
    }
  }
  return std::nullopt;
}

std::string field_of_mark(std::string_view path, const Mark& mark) {
  return key_field(path, PodKey{mark.value, true, mark.label, false}, mark.key);
}

Decision wrong_mark(std::string_view path, const Mark& mark, std::string want) {
  return denied(Because::kInvalidValue, Error{ErrorCode::kInvalid, field_of_mark(path, mark),
                                              cut_text(mark.value), std::move(want)});
}

bool is_for(const QueueAccount& row, std::string_view ns) { return row.ns.empty() || row.ns == ns; }

// The queues that pods of the namespace may name, for an error. Empty: there are none.
std::string queues_text(const Context& c) {
  std::string out;
  for (const QueueAccount& row : c.config.queue_accounts) {
    if (is_for(row, c.review.ns)) out += (out.empty() ? "" : ", ") + row.queue;
  }
  return cut_text(out);
}

class MarkReader {
 public:
  MarkReader(const Context& c, const Pod& object, std::string_view path)
      : c_(c), object_(object), path_(path) {}

  Marks read() {
    queue();
    priority();
    seconds();
    closeness();
    if (const auto least = find_mark(object_, {kKueueLeast})) {
      out_.warnings.push_back("\"" + std::string(least->key) +
                              "\" has no effect: Subak starts a job when all its pods fit");
    }
    return std::move(out_);
  }

 private:
  void refuse(Decision d) {
    if (!out_.refused) out_.refused = std::move(d);
  }

  void queue() {
    if (object_.keys.account.set) return;
    const auto mark = find_mark(object_, {kKueueQueue, "kai.scheduler/queue",
                                          "scheduling.volcano.sh/queue-name", "runai/queue"});
    if (!mark) return;
    const QueueAccount* found = nullptr;
    for (const QueueAccount& row : c_.config.queue_accounts) {
      if (row.queue != mark->value || !is_for(row, c_.review.ns)) continue;
      if (found == nullptr || found->ns.empty()) found = &row;
    }
    if (found == nullptr) {
      const std::string queues = queues_text(c_);
      if (!queues.empty()) refuse(wrong_mark(path_, *mark, "want one of " + queues));
      return;
    }
    const std::string own = c_.ns_account == nullptr ? "" : c_.ns_account->spec.path;
    if (c_.view.accounts->of_path(found->account) == nullptr ||
        !is_path_within(found->account, own)) {
      return refuse(
          wrong_mark(path_, *mark,
                     "want a queue whose account is \"" + cut_text(own) +
                         "\", the namespace's, or below it; this queue has the account \"" +
                         cut_text(found->account) + "\" (configuration, queueAccounts)"));
    }
    out_.account = found->account;
    out_.queued_by_kueue = mark->key == kKueueQueue;
  }

  void priority() {
    const auto mark = find_mark(object_, {kKueueClass});
    if (!mark || object_.keys.priority.set) return;
    if (c_.view.policy.priority_classes.empty()) {
      out_.warnings.push_back("\"" + std::string(mark->key) +
                              "\" has no effect: Subak's policy has no priority classes");
      return;
    }
    const auto read = read_priority(c_.view.policy, payer(), mark->value);
    if (!read) return refuse(wrong_mark(path_, *mark, read.error().want));
    out_.priority = std::string(mark->value);
  }

  std::string payer() const {
    if (!out_.account.empty()) return out_.account;
    if (object_.keys.account.set) return std::string(object_.keys.account.value);
    return c_.ns_account == nullptr ? "" : c_.ns_account->spec.path;
  }

  void seconds() {
    const auto mark = find_mark(object_, {kKueueSeconds});
    if (!mark || object_.keys.time_limit.set) return;
    const std::int64_t n = whole_number<std::int64_t>(mark->value).value_or(0);
    if (n <= 0 || n > limits::kMaxTimeLimitMs / kSecondMs) {
      return refuse(wrong_mark(path_, *mark,
                               "want a number of seconds from 1 to " +
                                   std::to_string(limits::kMaxTimeLimitMs / kSecondMs)));
    }
    out_.time_limit_ms = n * kSecondMs;
  }

  // Kueue names a level by the label of its nodes.
  void closeness() {
    if (topology_key_of(object_).key.set) return;
    const auto mark = find_mark(object_, {kKueueRequired, kKueuePreferred});
    if (!mark) return;
    const Text level = mark->value;
    std::string_view name;
    if (level == "kubernetes.io/hostname") name = "node";
    if (level == names::kLabelClique) name = "nvlink";
    if (level.ends_with("rack")) name = "rack";
    if (name.empty()) {
      out_.warnings.push_back("\"" + std::string(mark->key) + "\": level \"" + cut_text(level) +
                              "\" has no effect; write subak.gpu/topology with node, nvlink or "
                              "rack");
      return;
    }
    out_.closeness = (mark->key == kKueuePreferred ? "prefer:" : "") + std::string(name);
  }

  const Context& c_;
  const Pod& object_;
  std::string_view path_;
  Marks out_;
};

}  // namespace

Marks read_marks(const Context& c, const Pod& object, std::string_view path) {
  return MarkReader(c, object, path).read();
}

void add_marks(const Marks& marks, Pod& pod) {
  const auto set = [](PodKey& key, std::string_view value) {
    if (!key.set && !value.empty()) key = PodKey{value, true, true, false};
  };
  set(pod.keys.account, marks.account);
  set(pod.keys.priority, marks.priority);
  if (marks.time_limit_ms != 0 && !pod.keys.time_limit.set) {
    pod.time_limit_ms = marks.time_limit_ms;
  }
  if (!marks.closeness.empty() && !topology_key_of(pod).key.set) {
    (void)read_topology(marks.closeness, pod.terms);
  }
}

Stamps stamps_of(const Marks& marks) {
  Stamps out;
  if (!marks.priority.empty()) out.emplace_back(names::kPriority, marks.priority);
  if (marks.time_limit_ms != 0) {
    out.emplace_back(names::kTimeLimit, format_duration(marks.time_limit_ms));
  }
  if (!marks.closeness.empty()) {
    out.emplace_back(topology_key_of(Pod()).name, marks.closeness);
  }
  return out;
}

std::optional<Decision> fraction_refusal(const Context& c, const Pod& pod) {
  const auto& others = c.config.other_schedulers;
  const bool of_kai = find_mark(pod, {"kai.scheduler/queue", "runai/queue"}).has_value() ||
                      std::find(others.begin(), others.end(), pod.scheduler_name) != others.end();
  const auto mark = find_mark(pod, {"gpu-fraction", "gpu-memory"});
  if (!of_kai || !mark) return std::nullopt;
  return wrong_mark(
      "", *mark,
      "want it left out: Subak shares GPUs as their nodes offer them; ask for a MIG slice "
      "(nvidia.com/mig-1g.10gb: \"1\") or a shared GPU (nvidia.com/gpu.shared: \"1\")");
}

}  // namespace subak::policy
