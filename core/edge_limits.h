// Limits of the edges and of the files that people write. An edge is the part of the service that
// follows one Kubernetes cluster: it lists and watches its objects, and writes patches and Events.
// The limits of the service's requests to Prometheus are here too. core/limits.h has all other
// limits and says how limits are named and enforced.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// Within kRequestWindowMs, an edge sends at most these numbers of requests to an API server,
// whatever the server answers. Requests beyond a limit wait.
// - kMaxFollowRequests: lists and watches of each kind of objects; a server has at most 31 kinds
// - kMaxPageRequests: further pages of lists, for all kinds together
// - kMaxSessionStarts: starts of a session (one complete list of the cluster and the watches after
//   it)
// - kMaxDiscoveryRequests: requests that ask which kinds the server has
// A cluster without operators has sixteen kinds. For it, all limits together allow fewer than 125
// requests. A provisioning class of a node pool adds one kind.
inline constexpr DurationMs kRequestWindowMs = 10'000;
inline constexpr std::size_t kMaxFollowRequests = 5;
inline constexpr std::size_t kMaxPageRequests = 11;
inline constexpr std::size_t kMaxSessionStarts = 6;  // two requests each
inline constexpr std::size_t kMaxDiscoveryRequests = 18;
// How often the edge asks the API server which kinds of owners it serves.
inline constexpr DurationMs kDiscoveryMs = 300'000;

// A watch that stays open for kSteadyWatchMs is healthy: the edge begins the next watch at once.
// After a shorter list or watch the edge waits first, longer each time. After kShortWatchesTold
// short lists or watches in a row, `status` and the log report them.
inline constexpr DurationMs kSteadyWatchMs = 10'000;
inline constexpr std::uint32_t kShortWatchesTold = 3;

// If a list of DRA devices, ResourceClaims, NVIDIA ComputeDomains or volumes fails, the edge waits
// this long before it lists nodes and pods without that list. Pods that need these objects keep
// their gates until the list is complete.
inline constexpr DurationMs kDeviceListsMs = 30 * kSecondMs;

// The edge remembers gangs (pods that start together) that once had pods without GPUs and have none
// now. Beyond this number, the edge forgets all of them. A pod that later joins a forgotten gang
// may contradict the gang's size. The pod's job then waits.
inline constexpr std::size_t kMaxFormerGangs = 10'000;

// The first page of a list has kListPageObjects objects; these limits are for the later pages. The
// edge drops a list that has more pages, a longer continue token, or a repeated continue token.
// After it dropped a list, the edge pauses and then begins a new list.
inline constexpr std::size_t kLaterPageObjects = 4'000;
inline constexpr std::size_t kMaxListPages = 300;
inline constexpr std::size_t kMaxContinueBytes = 16u << 10;

// The most bytes of a file with a configuration, accounts or a kubeconfig. Subak stops reading a
// longer file and refuses the file.
inline constexpr std::size_t kMaxWrittenFileBytes = 64u << 20;
// The most lines of one file that `subak migrate tree` reads, and the most quotas of a ClusterQueue
// or Cohort in all files. Subak refuses more, and names the line.
inline constexpr std::size_t kMaxMigratedLines = 500'000;
inline constexpr std::size_t kMaxMigratedQuotas = 500'000;
// The most prices in a price list, of GPUs and of energy each. A longer list is refused.
inline constexpr std::size_t kMaxPrices = 10'000;

// The answer of a Prometheus server to the query for DCGM's metrics (server/activity). Subak drops
// a larger answer, and an answer that takes longer. The GPUs count as not observed for that minute.
// A label is cut after kMaxLabelBytes.
inline constexpr std::size_t kMaxActivityBytes = 256u << 20;
inline constexpr std::size_t kMaxActivitySeries = 500'000;
inline constexpr std::size_t kMaxLabelBytes = 253;
inline constexpr DurationMs kActivityCallMs = 30 * kSecondMs;
// A sample of a GPU's activity stands for at most this much time before it. Earlier time counts as
// not observed.
inline constexpr DurationMs kActivityCoversMs = 2 * kMinuteMs;
// The most by which the clock of the Prometheus server may differ from Subak's clock. If it differs
// more, Subak drops the server's answers.
inline constexpr DurationMs kActivityClockMs = 5 * kMinuteMs;
// Subak writes the sums of activity to the store this often. A crash loses the time since the last
// write.
inline constexpr DurationMs kActivityWriteMs = 5 * kMinuteMs;
// Subak drops the record of an ended job after kActivityJobMs, and the oldest records beyond
// kMaxActivityJobs.
inline constexpr DurationMs kActivityJobMs = 7 * kDayMs;
inline constexpr std::size_t kMaxActivityJobs = 100'000;
// A job that was not observed for this long counts as idle only from its next observation on.
inline constexpr DurationMs kActivityGapMs = 10 * kMinuteMs;
// `why` names jobs whose GPUs are idle for kIdleShownMs, at most kMaxIdleShown of them.
inline constexpr DurationMs kIdleShownMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxIdleShown = 10;
// A report reads the activity of at most this many days: the last days of its period.
inline constexpr std::int64_t kMaxActivityDays = 800;
// `status`, the log and the metrics name at most this many busy GPUs that no job holds.
inline constexpr std::size_t kMaxUnheldShown = 20;

// How many owners above a pod the edge looks at. Owners could form a circle.
inline constexpr std::size_t kMaxOwnerLevels = 8;

// Devices of a ResourceSlice, attributes of a device, requests of a ResourceClaim, and alternatives
// of a request, as the API server limits them. Subak ignores the rest.
inline constexpr std::size_t kMaxDevicesPerSlice = 128;
inline constexpr std::size_t kMaxDeviceAttributes = 32;
inline constexpr std::size_t kMaxClaimRequests = 32;
inline constexpr std::size_t kMaxClaimAlternatives = 8;
// Kinds of devices in a cluster. Devices of further kinds do not count.
inline constexpr std::size_t kMaxDeviceKinds = 4096;
// A longer or deeper selector counts as one that Subak does not understand.
inline constexpr std::size_t kMaxSelectorBytes = 10u << 10;
inline constexpr int kMaxSelectorDepth = 32;

// A node of a ComputeDomain is late if it has not been ready for this long. NVIDIA's daemon has its
// own restarts within that time.
inline constexpr DurationMs kDomainNodeLateMs = 5 * kMinuteMs;

// ProvisioningRequests of one cluster (docs/design/0124). At most kMaxProvisioningRequests jobs
// have one at a time; further jobs wait for one. At most kMaxProvisioningWrites requests are made
// or deleted at a time. The edge compares requests and jobs every kLookProvisioningMs.
inline constexpr std::size_t kMaxProvisioningRequests = 100;
inline constexpr std::size_t kMaxProvisioningWrites = 4;
inline constexpr DurationMs kLookProvisioningMs = 2 * kSecondMs;
// Without a provisioning class, the edge looks once for requests that are left, this long after it
// first follows the cluster. So the start makes no further request.
inline constexpr DurationMs kSearchProvisioningMs = 20 * kSecondMs;
// A request that ended is replaced after kProvisioningRetryMs. The pause doubles with each request
// of the job, up to kMaxProvisioningRetryMs.
inline constexpr DurationMs kProvisioningRetryMs = kMinuteMs;
inline constexpr DurationMs kMaxProvisioningRetryMs = 30 * kMinuteMs;
// A queued job that no longer waits for nodes keeps its request for kProvisioningUnneededMs, since
// the next forecast may want the nodes again. A waiting or starting job keeps a request that is
// provisioned for kProvisionedKeptMs, for which the cluster-autoscaler keeps the nodes.
inline constexpr DurationMs kProvisioningUnneededMs = kMinuteMs;
inline constexpr DurationMs kProvisionedKeptMs = 10 * kMinuteMs;

// When an account has spent 80 or 100 percent of a budget, at most this many of its namespaces in a
// cluster get an Event. At most kMaxBudgetNotices accounts wait for their Events; Subak drops the
// oldest ones.
inline constexpr std::size_t kMaxBudgetNamespaces = 100;
inline constexpr std::size_t kMaxBudgetNotices = 1000;

}  // namespace subak::limits
