#include "cli/commands/job_submit.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <type_traits>
#include <utility>

#include "cli/commands.h"
#include "cli/commands/job_parts.h"
#include "cli/products.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/words.h"
#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "kube/quantity.h"
#include "server/api/convert/gang_terms.h"

namespace subak::cli {
namespace {

constexpr char kGpuHelp[] =
    "write --gpus 16, or --pods 2 --gpus-per-pod 8, or --mig 1g.10gb=2, or --shared 1";
constexpr char kFileHelp[] =
    "write a JobSpec as JSON; job get JOB --output json shows one as \"spec\"";

constexpr char kTopologyHelp[] =
    "any, node, nvlink, nvlink-exclusive or rack; prefer: in front makes it a preference";

[[noreturn]] void fail(const std::string& what) { throw usage_failure(what, kGpuHelp); }

template <class T>
std::string flag_of(const Wish<T>& wish) {
  return "--" + std::string(wish.flag());
}

std::int64_t quantity(const std::string& text, const char* flag,
                      std::int64_t (KubeQuantity::*unit)() const) {
  if (text.empty()) return 0;
  const auto parsed = parse_kube_quantity(text);
  if (!parsed || parsed->nano < 0) {
    throw usage_failure(std::string(flag) + ": was \"" + text + "\", want a quantity",
                        "write it as Kubernetes does: 8, 500m, 64Gi");
  }
  return ((*parsed).*unit)();
}

// Returns the amount of --gpus. If --gpus names a product, sets it as --product does.
std::int64_t total_milligpu(const SubmitFlags& flags, v1::PodShape& shape) {
  if (flags.gpus.empty()) return 0;
  const auto amounts = value_or_usage(parse_amounts(flags.gpus, "--gpus"), kGpuHelp);
  if (amounts.size() != 1 || amounts.front().milligpu == 0) {
    fail("--gpus: was \"" + flags.gpus + "\", want one amount above 0");
  }
  if (amounts.front().product != kAnyProduct) shape.add_products(amounts.front().product);
  return amounts.front().milligpu;
}

void add_group(v1::GangRequest& request, v1::PodShape shape, std::int64_t pods,
               std::int64_t milligpu) {
  if (pods <= 0) return;
  if (milligpu % kMilliPerGpu == 0) {
    shape.set_kind(v1::GPU_KIND_WHOLE);
    shape.set_gpus(milligpu / kMilliPerGpu);
  } else if (milligpu < kMilliPerGpu) {
    shape.set_kind(v1::GPU_KIND_FRACTION);
    shape.set_fraction_milligpu(milligpu);
  } else {
    fail("a pod of " + gpus_text(milligpu) + " GPUs: want whole GPUs, or less than one");
  }
  auto* group = request.add_groups();
  group->set_count(static_cast<std::int32_t>(pods));
  *group->mutable_shape() = shape;
}

// Refuses options for different kinds of GPUs: a pod takes one kind.
void refuse_other_kinds(const SubmitFlags& flags, const std::string& kind) {
  if (flags.gpus.empty() && flags.gpus_per_pod.empty()) return;
  fail(kind + " together with --gpus or --gpus-per-pod: a pod takes one kind of GPU");
}

void add_counted(v1::GangRequest& request, v1::PodShape shape, const SubmitFlags& flags,
                 std::int64_t count) {
  shape.set_gpus(count);
  auto* group = request.add_groups();
  group->set_count(static_cast<std::int32_t>(flags.pods > 0 ? flags.pods : 1));
  *group->mutable_shape() = std::move(shape);
}

void add_mig(v1::GangRequest& request, v1::PodShape shape, const SubmitFlags& flags) {
  refuse_other_kinds(flags, "--mig");
  const std::size_t cut = flags.mig.find('=');
  std::int64_t count = 1;
  if (cut != std::string::npos) {
    const char* const end = flags.mig.data() + flags.mig.size();
    const auto [rest, ec] = std::from_chars(flags.mig.data() + cut + 1, end, count);
    if (ec != std::errc() || rest != end || count < 1) {
      fail("--mig: was \"" + flags.mig + "\", want PROFILE or PROFILE=COUNT");
    }
  }
  shape.set_kind(v1::GPU_KIND_MIG);
  shape.set_mig_profile(flags.mig.substr(0, cut));
  add_counted(request, std::move(shape), flags, count);
}

void add_shared(v1::GangRequest& request, v1::PodShape shape, const SubmitFlags& flags) {
  refuse_other_kinds(flags, "--shared");
  if (!flags.mig.empty()) fail("--shared together with --mig: a pod takes one kind of GPU");
  if (flags.shared < 0)
    fail("--shared: was \"" + std::to_string(flags.shared) + "\", want 1 or more");
  shape.set_kind(v1::GPU_KIND_SHARED);
  add_counted(request, std::move(shape), flags, flags.shared);
}

void add_gpus(v1::GangRequest& request, v1::PodShape shape, const SubmitFlags& flags) {
  const std::int64_t total = total_milligpu(flags, shape);
  std::int64_t per_pod =
      flags.gpus_per_pod.empty() ? 0 : milligpu_of(flags.gpus_per_pod, "--gpus-per-pod");
  if (total == 0 && per_pod == 0) fail("how many GPUs? --gpus is missing");
  if (total == 0) return add_group(request, shape, flags.pods > 0 ? flags.pods : 1, per_pod);
  if (flags.pods > 0) {
    if (per_pod > 0 && per_pod * flags.pods != total) {
      fail("--gpus " + flags.gpus + " is not --pods " + std::to_string(flags.pods) +
           " x --gpus-per-pod " + flags.gpus_per_pod);
    }
    if (total % flags.pods != 0) {
      fail("--gpus " + flags.gpus + " cannot be split over --pods " + std::to_string(flags.pods));
    }
    return add_group(request, shape, flags.pods, total / flags.pods);
  }
  if (per_pod == 0) per_pod = std::min(total, kDefaultGpusPerPod * kMilliPerGpu);
  add_group(request, shape, total / per_pod, per_pod);
  if (total % per_pod != 0) add_group(request, shape, 1, total % per_pod);
}

struct SubmitCommand {
  SubmitFlags flags;
  std::string file;
  std::string request_id;
  bool dry_run = false;
};

int submit(Session& s, SubmitCommand o) {
  if (!o.file.empty()) o.flags.file = read_input(o.file);
  v1::CreateJobRequest request;
  *request.mutable_job() = job_spec_of(o.flags);
  Products(s).resolve(request.mutable_job());
  request.set_request_id(o.request_id);
  request.set_validate_only(o.dry_run);
  const auto answer = s.call<v1::CreateJobResponse>("JobService/CreateJob", request);
  const std::string shape = shape_text(request.job().request());
  const std::string payer = printable(payer_text(request.job().account(), request.job().user()));
  s.show_text(answer, [&] {
    if (o.dry_run) {
      s.out() << "would queue " << shape << " for " << payer << '\n';
    } else if (answer.repeated_request()) {
      s.out() << "job " << answer.job_id()
              << " exists already: an earlier call with this request id submitted it\n";
    } else {
      s.out() << "job " << answer.job_id() << " queued: " << shape << " for " << payer << '\n';
    }
  });
  s.warn(answer.warnings());
  return kExitDone;
}

v1::JobSpec read_spec(const SubmitFlags& flags) {
  v1::JobSpec spec;
  if (flags.file.empty()) return spec;
  const SubmitFlags& f = flags;
  const bool shaped = !f.gpus.empty() || f.pods != 0 || !f.gpus_per_pod.empty() || !f.mig.empty() ||
                      f.shared != 0 || !f.products.empty() || !f.cpus.empty() ||
                      !f.memory.empty() || f.wishes != WishFlags() || !f.pod.empty();
  if (shaped) {
    throw usage_failure("--file together with flags of the gang: the file describes the gang",
                        "omit one of them; account, user, name and the like may be flags");
  }
  const auto status = google::protobuf::util::JsonStringToMessage(flags.file, &spec);
  if (!status.ok())
    throw usage_failure("--file: " + printable(status.message().ToString()), kFileHelp);
  return spec;
}

void put_names(const SubmitFlags& flags, v1::JobSpec& spec) {
  if (!flags.cluster.empty()) spec.set_cluster(flags.cluster);
  if (!flags.account.empty()) spec.set_account(flags.account);
  if (!flags.user.empty()) spec.set_user(flags.user);
  if (!flags.name.empty()) spec.set_name(flags.name);
  if (!flags.priority.empty()) spec.set_priority_class(flags.priority);
  if (flags.held) spec.set_held(true);
  if (!flags.time_limit.empty()) {
    *spec.mutable_time_limit() = to_duration(
        value_or_usage(parse_duration(flags.time_limit, "--time-limit"), "write 4h, 90m or 2d12h"));
  }
  if (!flags.grace.empty()) {
    *spec.mutable_grace() =
        to_duration(value_or_usage(parse_duration(flags.grace, "--grace"), "write 30s or 5m"));
  }
  if (spec.account().empty()) {
    throw usage_failure("--account: missing, want the account of the job",
                        "account tree shows the accounts");
  }
}

void put_gang(const SubmitFlags& flags, v1::GangRequest& request) {
  if (flags.pods < 0 || flags.pods > limits::kMaxPodsPerJob) {
    fail("--pods: was \"" + std::to_string(flags.pods) + "\", want 1 to " +
         std::to_string(limits::kMaxPodsPerJob));
  }
  api::put(flags.wishes.terms(), &request);
  v1::PodShape shape;
  for (const std::string& product : flags.products) shape.add_products(product);
  shape.set_cpu_milli(quantity(flags.cpus, "--cpus-per-pod", &KubeQuantity::milli));
  shape.set_memory_bytes(quantity(flags.memory, "--memory-per-pod", &KubeQuantity::units));
  put_pod_flags(flags.pod, &shape);
  if (flags.shared != 0) return add_shared(request, shape, flags);
  flags.mig.empty() ? add_gpus(request, shape, flags) : add_mig(request, shape, flags);
}

template <class T>
void add_wish_option(Command& c, const Wish<T>& wish, WishFlags& flags) {
  if (wish.key.empty()) return;
  const std::string flag = flag_of(wish), help(wish.help);
  if constexpr (std::is_same_v<T, bool>) {
    c.flag(flag, flags.of(wish), help);
  } else {
    c.option(flag, flags.of(wish), help, std::is_same_v<T, Topology> ? "[prefer:]T" : "N");
  }
}

void add_gang_options(Command& c, SubmitFlags& f) {
  c.option("--gpus", f.gpus, "GPUs of the whole job: 16, 0.5 or H100=16", "AMOUNT");
  c.option("--pods", f.pods, "how many pods; they start together or not at all", "N");
  c.option("--gpus-per-pod", f.gpus_per_pod,
           "GPUs of each pod: a whole number, or a part of one GPU such as 0.5", "GPUS");
  c.option("--mig", f.mig, "MIG slices of each pod", "PROFILE[=N]");
  c.option("--shared", f.shared, "replicas of shared GPUs for each pod", "N");
  c.list_option("--product", f.products, "GPU products to choose from; short names work: H100",
                "A,B");
  each_wish([&](const auto& wish) { add_wish_option(c, wish, f.wishes); });
  c.option("--cpus-per-pod", f.cpus, "CPUs of each pod, as in Kubernetes: 8, 500m", "QUANTITY");
  c.option("--memory-per-pod", f.memory, "memory of each pod, as in Kubernetes: 64Gi", "QUANTITY");
  c.list_option("--selector", f.pod.selectors, "labels that the node must have", "KEY=VALUE");
  c.repeated_option("--affinity", f.pod.affinity,
                    "a condition on node labels, as for kubectl -l: 'zone in (a,b),!spot'; of "
                    "several conditions, the node must meet at least one",
                    "TERM");
  c.list_option("--toleration", f.pod.tolerations,
                "node taints that the job's pods tolerate; *: all taints", "KEY[=VALUE][:EFFECT]");
  c.list_option("--resource", f.pod.resources, "other extended resources that each pod needs",
                "NAME=N");
  c.list_option("--host-port", f.pod.host_ports, "ports of the node that each pod uses",
                "[ADDRESS:]PORT[/UDP]");
  c.option("--time-limit", f.time_limit,
           "the longest run time: 4h, 2d12h; Subak ends the job after this time only if its "
           "account has --time-limits enforced",
           "DURATION");
  c.option("--grace", f.grace,
           "how long the job's pods may take to end after Subak asked them to end; default: 30s",
           "DURATION");
}

}  // namespace

GangTerms WishFlags::terms() const {
  GangTerms terms;
  each_wish([&]<class T>(const Wish<T>& wish) {
    if (wish.key.empty()) return;
    if constexpr (std::is_same_v<T, Topology>) {
      if (topology_.empty() || read_topology(topology_, terms)) return;
      throw usage_failure(flag_of(wish) + ": was \"" + topology_ + "\", want a topology",
                          kTopologyHelp);
    } else if constexpr (std::is_same_v<T, bool>) {
      terms.*wish.member = given_[wish.place];
    } else {
      const std::int64_t number = numbers_[wish.place];
      if (number < 0 || number > wish.most) {
        fail(flag_of(wish) + ": was \"" + std::to_string(number) + "\", want 1 to " +
             std::to_string(wish.most));
      }
      terms.*wish.member = static_cast<T>(number);
    }
  });
  return terms;
}

v1::JobSpec job_spec_of(const SubmitFlags& flags) {
  v1::JobSpec spec = read_spec(flags);
  put_names(flags, spec);
  if (flags.file.empty()) put_gang(flags, *spec.mutable_request());
  return spec;
}

void add_job_submit(Command job) {
  auto o = std::make_shared<SubmitCommand>();
  SubmitFlags& f = o->flags;
  Command c = job.add("submit",
                      "queue a job; with --gpus alone, up to 8 GPUs become one pod, and more GPUs "
                      "become pods of 8 GPUs");
  c.option("--account", f.account, "account that the job belongs to (required)", "PATH");
  c.option("--user", f.user, "user below the account; created on first use", "NAME");
  add_gang_options(c, f);
  c.option("-f,--file", o->file,
           "a file with the whole job as JSON, for a gang whose pods differ; - is standard input",
           "JOB.json");
  c.option("--priority", f.priority,
           "order within the account: a priority class of the service. Without classes: low, "
           "normal, high or a number; the highest comes first",
           "CLASS");
  c.option("--name", f.name, "a name to recognise the job by", "TEXT");
  c.option("--cluster", f.cluster, "cluster to run in; needed if there are several clusters",
           "NAME");
  c.option("--request-id", o->request_id,
           "an id that makes a retry safe: a second call with the same id submits nothing", "ID");
  c.flag("--held", f.held, "submit the job on hold: the job waits until subak job release");
  c.flag("--dry-run", o->dry_run, "check only");
  c.run([o](Session& s) { return submit(s, *o); });
}

}  // namespace subak::cli
