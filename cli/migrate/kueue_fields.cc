#include "cli/migrate/kueue_fields.h"

#include <algorithm>
#include <array>

namespace subak::cli {
namespace {

using enum KueueUse;

constexpr std::string_view kQueue = "ClusterQueue";
constexpr std::string_view kCohort = "Cohort";
constexpr std::string_view kLocal = "LocalQueue";
constexpr std::string_view kFlavor = "ResourceFlavor";

constexpr std::string_view kFlavorOrder =
    "Subak tries all products that a job accepts. It prefers products that quota covers.";
constexpr std::string_view kBorrowPreempts =
    "A job beyond quota takes no GPUs from another account in Subak.";
constexpr std::string_view kChecks = "Subak waits for no other controller before a start.";
constexpr std::string_view kUsageOrder =
    "Subak orders all accounts and users by decayed usage, without a switch.";
constexpr std::string_view kNodes =
    "Subak reads labels and taints of the nodes. A pod needs its own tolerations.";

constexpr std::array kFields{
    KueueField{kQueue, "resourceGroups", kRead, "", ""},
    KueueField{kQueue, "cohort", kRead, "", ""},
    KueueField{kQueue, "cohortName", kRead, "", ""},
    KueueField{kQueue, "queueingStrategy", kNone, "BestEffortFIFO",
               "In Subak, a job that does not fit lets later jobs pass. A reservation (`patience`) "
               "protects it."},
    KueueField{kQueue, "namespaceSelector", kNone, "",
               "An account names its namespaces: those of the LocalQueues."},
    KueueField{kQueue, "flavorFungibility", kMap, "", ""},
    KueueField{kQueue, "flavorFungibility.whenCanBorrow", kNone, "Borrow|MayStopSearch",
               kFlavorOrder},
    KueueField{kQueue, "flavorFungibility.whenCanPreempt", kNone, "TryNextFlavor", kFlavorOrder},
    KueueField{kQueue, "flavorFungibility.preference", kNone, "", kFlavorOrder},
    KueueField{kQueue, "preemption", kMap, "", ""},
    KueueField{kQueue, "preemption.reclaimWithinCohort", kRead, "", ""},
    KueueField{kQueue, "preemption.withinClusterQueue", kRead, "", ""},
    KueueField{kQueue, "preemption.borrowWithinCohort", kMap, "", ""},
    KueueField{kQueue, "preemption.borrowWithinCohort.policy", kNone, "Never", kBorrowPreempts},
    KueueField{kQueue, "preemption.borrowWithinCohort.maxPriorityThreshold", kNone, "",
               kBorrowPreempts},
    KueueField{kQueue, "admissionChecks", kNone, "", kChecks},
    KueueField{kQueue, "admissionChecksStrategy", kNone, "", kChecks},
    KueueField{kQueue, "stopPolicy", kRead, "", ""},
    KueueField{kQueue, "fairSharing", kMap, "", ""},
    KueueField{kQueue, "fairSharing.weight", kRead, "", ""},
    KueueField{kQueue, "admissionScope", kNone, "", kUsageOrder},
    KueueField{kQueue, "concurrentAdmissionPolicy", kNone, "", kFlavorOrder},
    KueueField{kQueue, "excludeResourcePrefixes", kNone, "",
               "Subak counts GPUs alone; CPU and memory only decide what fits on a node."},
    KueueField{kCohort, "parent", kRead, "", ""},
    KueueField{kCohort, "parentName", kRead, "", ""},
    KueueField{kCohort, "resourceGroups", kRead, "", ""},
    KueueField{kCohort, "fairSharing", kMap, "", ""},
    KueueField{kCohort, "fairSharing.weight", kRead, "", ""},
    KueueField{kLocal, "clusterQueue", kRead, "", ""},
    KueueField{kLocal, "stopPolicy", kNone, "None",
               "Subak holds accounts, not namespaces: subak account hold ACCOUNT."},
    KueueField{kLocal, "fairSharing", kMap, "", ""},
    KueueField{kLocal, "fairSharing.weight", kNone, "1",
               "Shares belong to accounts. To weigh namespaces, give each an account of its own "
               "below this one."},
    KueueField{kLocal, "wallTimePolicy", kNone, "",
               "Nearest is the account's `budget` of GPU-hours."},
    KueueField{kFlavor, "nodeLabels", kRead, "", ""},
    KueueField{kFlavor, "nodeTaints", kNone, "", kNodes},
    KueueField{kFlavor, "tolerations", kNone, "", kNodes},
    KueueField{kFlavor, "topologyName", kNone, "",
               "Subak reads racks and NVLink domains from node labels. A gang asks for them with "
               "subak.gpu/topology."},
    KueueField{kFlavor, "resourceWeights", kNone, "", "Each GPU counts once in fair share."},
};

}  // namespace

const KueueField* find_kueue_field(std::string_view kind, std::string_view path) {
  const auto* const at = std::find_if(kFields.begin(), kFields.end(), [&](const KueueField& field) {
    return field.kind == kind && field.path == path;
  });
  return at == kFields.end() ? nullptr : at;
}

bool needs_no_equivalent(const KueueField& field, std::string_view value) {
  std::string_view rest = field.same;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == value) return true;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return value.empty();
}

}  // namespace subak::cli
