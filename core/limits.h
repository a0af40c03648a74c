// The limits of the service. The comment of a limit says what happens at the limit, and tests cover
// this. A name that ends in Ms, Bytes or MilliGpu has that unit. All other limits are counts.
// Terms: A gang is the pods of one job, which start together. An edge is the part of the service
// that follows one cluster. A pass is one round of scheduling decisions. A turn is one round of the
// service's loop, or of the follower, which is a second engine for reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// Names and texts that callers send. Subak refuses a longer text and names the limit.
inline constexpr std::size_t kMaxNameBytes = 253;          // Kubernetes object name
inline constexpr std::size_t kMaxReasonBytes = 1024;       // --reason of an edit
inline constexpr std::size_t kMaxNamespaceModes = 10'000;  // of a cluster; more are refused

// Waiting jobs. A further job is refused with RESOURCE_EXHAUSTED, unless its account has few
// waiting jobs and may use the reserve (accounting/shared_bound.h).
inline constexpr std::size_t kMaxQueuedJobs = 1'000'000;
inline constexpr std::size_t kQueuedJobsReserve = 100'000;
// Pods of one cluster that have Subak's gate; the reserve works as for waiting jobs. A pod beyond
// the limit stays gated without a job. Its edge reports the pod again until there is room.
inline constexpr std::size_t kMaxGatedPods = 100'000;
inline constexpr std::size_t kGatedPodsReserve = 10'000;
// Every kPutOffRetryMs, an edge reports pods again that the core refused for this limit: at first
// kPutOffRetries pods. While the core accepts all of them, the edge doubles the number each time.
inline constexpr DurationMs kPutOffRetryMs = 5'000;
inline constexpr std::size_t kPutOffRetries = 16;
// These limits bound the size of one pod, one job and one node. Webhook, Observe, API and import
// all check them (model/bounds/). So the engine never refuses the size of a pod that the webhook
// accepted. The error for a larger value names field, value and limit.
inline constexpr std::uint32_t kMaxPodsPerJob = 10'000;
inline constexpr std::int64_t kMaxGpusPerPod = 64;
inline constexpr std::size_t kMaxSelectorTerms = 64;  // per pod, selectors + affinity + tolerations
inline constexpr std::size_t kMaxTermValues = 64;     // values of one requirement
inline constexpr std::size_t kMaxPodListItems = 64;   // host ports, resources, products of a pod
// How many topology spread constraints and terms of pod affinity Subak reads in a pod. If the pod
// has more, the webhook names the others as not read, and the scheduler decides about them.
inline constexpr std::size_t kMaxPodRules = 8;
inline constexpr std::size_t kMaxNodeListItems = 1024;  // labels, taints, resources of a node
inline constexpr std::size_t kMaxTextBytes = 512;       // any key or value in a request or node
inline constexpr std::size_t kMaxPodRequestBytes = 16u << 10;  // one pod's request, as stored
inline constexpr std::size_t kMaxJobRequestBytes = 2u << 20;   // of a complete gang, as stored
inline constexpr std::size_t kMaxNodeBytes = 256u << 10;       // one node, as stored
inline constexpr std::int64_t kMaxCpuMilli = 1'000'000'000;    // 10^6 cores in one pod or node
inline constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 50;    // 1Pi in one pod or node
inline constexpr std::int64_t kMaxResourceCount = std::int64_t{1} << 50;  // some count bytes
inline constexpr TimeMs kMaxTimeMs = 253'402'300'799'999;  // the end of the year 9999
inline constexpr std::size_t kMaxBatchJobs = 1000;         // BatchCreateJobs
inline constexpr MilliGpu kMaxMilliGpu = 1'000'000'000;    // 10^6 GPUs in any one quantity

// When the first pod of a gang has finished, its node stays free for at most this long, until the
// other pods of the gang have finished too (docs/design/0127). A kubelet usually reports the end of
// a container within a second.
inline constexpr DurationMs kGangFinishMs = 2'000;
// A gang without pods waits this long for its controller to create new pods. Then the gang is done.
// This time exceeds the longest back-off of a Kubernetes Job (10 minutes).
inline constexpr DurationMs kGangReturnMs = 15 * kMinuteMs;
// Some pods of a gang appear only when its first pods run (in::GangSeen), perhaps after a model is
// loaded. These late pods must be bound within kLateMembersMs after the gang's start, or within the
// policy's hold time if that is longer. If not, the attempt ends.
inline constexpr DurationMs kLateMembersMs = 30 * kMinuteMs;
// A job whose gates could not be opened waits before its next attempt: first kReleaseRetryMs, then
// twice as long each time, up to the maximum.
inline constexpr DurationMs kReleaseRetryMs = 10'000;
inline constexpr DurationMs kMaxReleaseRetryMs = 2 * kHourMs;

// If the cluster's scheduler refused a job's pods on two nodes, the job waits before its next
// attempt. This wait doubles from kFirstBackoffMs up to kLongestBackoffMs. For a time with the same
// bounds, Subak does not place the job on a node that the scheduler refused for it.
inline constexpr DurationMs kFirstBackoffMs = 10 * kSecondMs;
inline constexpr DurationMs kLongestBackoffMs = 10 * kMinuteMs;
// The most names of a cluster's extended resources in the webhook's data, which omits the rest.
inline constexpr std::size_t kMaxResourceNames = 1024;
// An edge cuts the scheduler's message to this size, and the core refuses a longer message.
inline constexpr std::size_t kMaxRefusalBytes = 1024;

// Subak expects a job with an enforced time limit to be gone this long after the limit. This is
// twice the usual terminationGracePeriodSeconds.
inline constexpr DurationMs kEndingMs = kMinuteMs;
// Each time that a job runs past its expected end, Subak doubles its expected run time. After
// kMaxOverruns times, Subak no longer expects the job to end.
inline constexpr std::uint32_t kMaxOverruns = 24;

// Ended jobs that Subak still shows. With one more, Subak drops the oldest; its ledger rows stay.
inline constexpr std::size_t kDoneJobsKept = 10'000;

// A victim, which Subak asked to end for another job, should be gone this long after its grace
// period. If not, other jobs may be asked to end.
inline constexpr DurationMs kClaimPatienceMs = kMinuteMs;
// Jobs of one cluster that have reserved nodes at one time. A policy with more is refused.
inline constexpr std::uint32_t kMaxReserveJobs = 64;
// Parked owners: Jobs and the like that Subak suspended until their turn (docs/design/0119).
// kMaxParkAfter: the largest QueueSettings::park_after. Pods that differ from their template end
// the job's holds after kMisfitHoldMs. A suspended owner that has pods for kIgnoredSuspendMs is
// resumed. An owner may come back to the parked state kMaxParkings times.
inline constexpr std::uint32_t kMaxParkAfter = 1'000'000, kMaxParkings = 3;
inline constexpr DurationMs kMisfitHoldMs = 10 * kSecondMs, kIgnoredSuspendMs = 8 * kSecondMs;

// Node pools (docs/design/0124): pools, nodes of one pool. A node that is not ready counts as
// starting until Subak has known it for kPoolNodeStartMs.
inline constexpr std::uint32_t kMaxNodePools = 64, kMaxPoolNodes = 1'000;
inline constexpr DurationMs kPoolNodeStartMs = 15 * kMinuteMs;
inline constexpr int kMaxPoolJobsShown = 100;  // a list of pools leaves out further jobs of a pool
// Up to this many live jobs and nodes, a read runs a dry-run pass on a copy to say which jobs
// start. With more, the read reports that no pass has evaluated the jobs yet.
inline constexpr std::size_t kMaxDryRunJobs = 500;

// The forecast covers kForecastAheadMs of time and kForecastStarts starts. For a job beyond these
// limits, it says only a time before which the job does not start.
inline constexpr DurationMs kForecastAheadMs = 30 * kDayMs;
inline constexpr std::size_t kForecastStarts = 50'000;
// For the jobs that start first, the forecast also stores nodes and end, up to this many pairs of
// job and node. For all other jobs the forecast stores only the start.
inline constexpr std::size_t kForecastPlaces = 65'536;
// Calibration of start estimates. Subak compares estimate and start for kMaxCalibrationStarts
// waiting jobs. The newest kMaxCalibrationOutcomes outcomes give the quantiles.
inline constexpr std::size_t kMaxCalibrationStarts = 10'000;
inline constexpr std::size_t kMaxCalibrationOutcomes = 500;
// The least time between two forecasts. All forecasts take at most 1/kForecastRest of a core, and
// each stops after kForecastMs. Up to kForecastAtOnce live jobs and nodes, a read runs a forecast.
inline constexpr DurationMs kForecastEveryMs = 10'000;
inline constexpr DurationMs kForecastIdleMs = kMinuteMs;  // if nothing but the time changed
inline constexpr DurationMs kForecastRest = 20;
inline constexpr DurationMs kForecastMs = 20'000;
inline constexpr std::size_t kForecastAtOnce = 1'000;
// A forecast or a checkpoint copies this many jobs and pods in one slice. A slice takes some
// milliseconds. Between two slices, the follower answers reads.
inline constexpr std::size_t kCopySlice = 1'000;
// To find an earlier start, a forecast tries this many changes of a job. With more live jobs and
// nodes than kMaxAlternativesSize, the service refuses a request for such changes.
inline constexpr std::size_t kMaxAlternatives = 8;
inline constexpr std::size_t kMaxAlternativesSize = 5'000;
// The fleet timeline: its default range, its least range, and the most rows, columns, lanes of each
// kind in a row, and jobs of one answer. These limits hold an answer below kMaxPageBytes.
inline constexpr DurationMs kPlanAheadMs = kDayMs;
inline constexpr DurationMs kLeastPlanMs = 10 * kMinuteMs;
inline constexpr std::int32_t kMaxPlanRows = 200;
inline constexpr std::int32_t kMaxPlanColumns = 200;
inline constexpr std::int32_t kMaxPlanLanes = 4;
inline constexpr std::int32_t kMaxPlanJobs = 1'000;
// The assumed run time of a job without a limit and without known similar jobs.
inline constexpr DurationMs kGuessedRunMs = kDayMs;

// GPU pods of all clusters that wait for a node and that Subak does not manage. `queue --would`
// (shadow mode) shows these pods. The command skips pods beyond the limit, and says so.
inline constexpr std::size_t kMaxUnmanagedPods = 10'000;
// With more live jobs, nodes and such pods together, `queue --would` is refused.
inline constexpr std::size_t kMaxShadowQueue = 150'000;

// The most blockers that a reason names: jobs, pods or nodes (Reason::blockers).
inline constexpr std::size_t kMaxBlockers = 8;

// The ledger charges running jobs day by day. The books of a UTC day close kDayOpenMs after the
// day, so that a job's end that is reported late counts in its own day. One turn of the loop writes
// at most kMaxCutRowsPerTurn rows. The next turns, due at once, write the other rows.
inline constexpr DurationMs kDayOpenMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxCutRowsPerTurn = 4096;

// Fleet. The nodes at one time, summed over all clusters. At the limit, Subak refuses a new node.
inline constexpr std::size_t kMaxNodes = 200'000;
// Node ids ever used; an id is never reused. When all ids are used, Subak refuses a new node.
inline constexpr std::uint32_t kMaxNodeIds = 800'000;
inline constexpr std::size_t kMaxClusters = 1000;    // a new one is refused
inline constexpr std::size_t kMaxProducts = 10'000;  // GPU products ever seen; more: refused
inline constexpr std::size_t kMaxGpusPerNode = 64;
// Levels of groups of nodes, each group inside the next: rack, block, superpod and one more.
inline constexpr std::size_t kTopologyLevels = 4;
// A node stays in its clique for kCliqueKeptMs after it lost the label (DRA drivers restart). A
// node without allocatable GPUs has its former GPUs and reservations for kGpusUnknownMs.
inline constexpr DurationMs kCliqueKeptMs = 10 * kMinuteMs, kGpusUnknownMs = 10 * kMinuteMs;
// The most nodes in which a snapshot (`FleetView`) may differ from the fleet; more are refused.
// This is enough for the largest job with one pod per node, and for its exclusive domains.
inline constexpr std::size_t kMaxFleetViewNodes = 16'384;

// Pods of one cluster whose node Subak has not seen yet. Reports of further pods are refused. At
// most half of these pods are non-GPU pods.
inline constexpr std::size_t kMaxEarlyPods = 4096;
// Non-GPU pods that count on one node. Subak refuses the reports of further non-GPU pods.
inline constexpr std::size_t kMaxNonGpuPodsPerNode = 1024;

// Node back-off: after a node rejected a pod, Subak does not use the node for such pods for a time.
// The back-off doubles with each rejection in a row, until such a pod runs on the node.
inline constexpr DurationMs kFirstNodeBackoffMs = 10'000, kLongestNodeBackoffMs = 2 * kHourMs;
inline constexpr DurationMs kFirstDeviceBackoffMs = kMinuteMs;  // if the node lacks devices
// If the node does not reject such a pod for this long after a back-off, the count starts again.
inline constexpr DurationMs kNodeBackoffMemoryMs = 2 * kHourMs;
// A node that rejects kMaxRejections pods within kRejectionsMs is unfit for kRejectingMs. A pod
// that kNodesOfBadPod nodes reject counts for no further node: the pod is at fault.
inline constexpr std::size_t kMaxRejections = 5, kNodesOfBadPod = 3;
inline constexpr DurationMs kRejectionsMs = kHourMs, kRejectingMs = kHourMs;
// Node back-offs at one time. One more node back-off drops the back-off that would end first.
inline constexpr std::size_t kMaxNodeBackoffs = 10'000;

// The runtime. If its mailbox is full, edges must wait, and other callers get RESOURCE_EXHAUSTED.
inline constexpr std::size_t kLoopMailbox = 65'536;
inline constexpr std::size_t kMaxBatchInputs = 4096;      // inputs of one turn
inline constexpr std::size_t kMaxEffectBacklog = 65'536;  // per Effects stream; more: closed

// The loop looks at the clock at least this often.
inline constexpr DurationMs kLoopMaxWaitMs = 1000;
inline constexpr DurationMs kWatchdogPatienceMs = 10'000;  // no progress for this long: not serving
// Facts that wait in memory for the follower. If more wait, the follower reads them from the store.
inline constexpr std::size_t kFollowerFacts = 262'144;
inline constexpr std::size_t kTraceFileBytes = 64u << 20;  // then a new file begins
inline constexpr std::size_t kTraceFiles = 4;              // one more deletes the oldest

// Store.
inline constexpr std::uint64_t kCheckpointEveryFacts = 200'000;
// Facts of a checkpoint in one transaction. Other commits may come between these transactions.
inline constexpr std::size_t kCheckpointChunkFacts = 512;
// A checkpoint stores a job with more bytes in several facts.
inline constexpr std::size_t kCheckpointPartBytes = 1u << 20;
inline constexpr int kWalPages = 4096;  // 16 MiB, then the log is copied into the file
// The complete check of a larger store runs after the start, while the service already works.
inline constexpr std::int64_t kQuickCheckBytes = 256 << 20;
// A copy of the store is refused if it would leave less free space on the disk.
inline constexpr std::int64_t kSpareDiskBytes = 256 << 20;
inline constexpr int kMaxFactDepth = 16;  // records inside records of a stored fact
// The store neither reads nor writes a larger fact. No accepted input leads to such a fact.
inline constexpr std::size_t kMaxFactBytes = 16u << 20;
inline constexpr std::size_t kLedgerAuditPageRows = 10'000;
// The first audit after a start waits for kLedgerAuditWaitMs if it reads more rows than
// kLedgerAuditAtOnceRows (about a second of work).
inline constexpr std::uint64_t kLedgerAuditAtOnceRows = 200'000;
inline constexpr DurationMs kLedgerAuditWaitMs = kMinuteMs;

// A database (server/store/postgres). If the database does not answer for kDatabaseReplyMs, Subak
// closes the connection and looks up whether the statement had its effect.
inline constexpr DurationMs kDatabaseReplyMs = 10 * kSecondMs;
// Subak retries a commit that got no answer until it succeeds. The wait doubles from
// kDatabaseRetryMs up to the maximum. After kDatabaseSlowMs, Subak refuses changes until the commit
// is done.
inline constexpr DurationMs kDatabaseSlowMs = 2 * kSecondMs;
inline constexpr DurationMs kDatabaseRetryMs = 50, kMaxDatabaseRetryMs = kSecondMs;
// The leader asks the database to confirm its lead. For kLeadTrustedMs after a confirmed request,
// the leader gives answers that need no commit.
inline constexpr DurationMs kLeadTrustedMs = 2 * kSecondMs;
// The leader sends a heartbeat every kHeartbeatMs. After kLeaderSilentMs of silence its lead is
// over, even if its machine slept. The leader stops its answers earlier, after kLeadTrustedMs.
inline constexpr DurationMs kHeartbeatMs = 500;
inline constexpr DurationMs kLeaderSilentMs = 3 * kSecondMs;
inline constexpr DurationMs kLeadLookMs = 20;  // between two checks of a waiting standby
inline constexpr int kLeadTries = 20;          // to lock the leader's row, 0.5 s each
// A read that names a sequence waits up to kSequenceWaitMs for that fact.
inline constexpr DurationMs kSequenceWaitMs = kSecondMs;
inline constexpr DurationMs kSequenceLookMs = 20;
// A client's configuration names at most kMaxServers servers. To find the leader, the client calls
// all of them in up to kServerRounds rounds, which together take longer than kLeaderSilentMs.
inline constexpr std::size_t kMaxServers = 16;
inline constexpr int kServerRounds = 10;
inline constexpr DurationMs kServerRoundMs = 500;
inline constexpr DurationMs kServerConnectMs = 2 * kSecondMs;  // then it tries the next server
inline constexpr std::size_t kDatabasePageRows = 4096;  // of facts, ledger, audit: read at a time
inline constexpr std::size_t kCopiedFactsAtOnce = 10'000;  // in one transaction of a store copy

// With more accounts, the metrics page shows only the upper levels of the account tree that fit.
// `subak_accounts_without_series` counts the other accounts.
inline constexpr std::size_t kMetricAccounts = 10'000;
// A search for a gang of several shapes first places shape by shape. If that fails, the search
// places pod by pod, and gives up after it has looked at this many nodes.
inline constexpr std::size_t kPlaceTries = 4'000;
inline constexpr std::uint32_t kMaxSpareNodes = 64;  // of a gang in each NVLink domain
// The largest values of three settings of the policy. Subak refuses a policy with a larger value.
inline constexpr std::uint32_t kMaxKeepWhole = 1'000;            // GangSettings::keep_whole
inline constexpr std::uint32_t kMaxTargetGainMilli = 1'000'000;  // FairShareSettings::gain_milli
inline constexpr std::uint32_t kMaxCliqueGangs = 64;             // GangSettings::clique_gangs
// For a balanced gang, the search tries at most this many numbers of domains, the smallest first.
inline constexpr std::uint32_t kBalancedTries = 64;
inline constexpr std::uint32_t kBalancedParts = 1'024;  // the most domains of a balanced gang
// The collector, which computes costly metrics, counts free room for this many request shapes of a
// cluster, the most frequent ones.
inline constexpr std::size_t kSurveyShapes = 16;
inline constexpr std::size_t kSurveyQueue = 1000;    // jobs at the head of the queue
inline constexpr std::size_t kSurveyExplained = 10;  // of these: the collector counts their reasons
// The least time between two runs of the collector, which takes at most a fiftieth of a core.
inline constexpr DurationMs kSurveyEveryMs = 15'000;

// Webhook.
inline constexpr std::size_t kMaxReviewBytes = 3u << 20;  // kube-apiserver's own body limit
inline constexpr std::size_t kMaxHttpHeaderBytes = 32u << 10;
inline constexpr std::size_t kMaxHttpDrainBytes = 64u << 20;  // a longer body: close
// An idle connection stays open for longer than kube-apiserver allows (90 s, client-go's default).
// If the webhook closed the connection first, a review in flight would be lost.
inline constexpr DurationMs kHttpIdleMs = 120'000;
inline constexpr DurationMs kHttpReadMs = 10'000;
inline constexpr DurationMs kHttpAnswerMs = 5'000;  // on the metrics port; then 503
inline constexpr DurationMs kStopMs = 20'000;       // a longer stop kills the process
inline constexpr std::size_t kMaxHttpConnections = 4096;
// Connections from one address. At this limit or at kMaxHttpConnections, Subak closes the
// connection whose request has been incomplete for longest, or else the new one.
inline constexpr std::size_t kMaxHttpConnectionsPerPeer = 1024;
inline constexpr int kWebhookThreads = 2;
inline constexpr std::size_t kMaxWarnings = 16;    // of one answer: the last counts the rest
inline constexpr std::size_t kMaxMistakes = 16;    // of one pod: more are only counted
inline constexpr std::size_t kMaxTemplates = 256;  // with GPUs, in one owner; more: refused
inline constexpr std::size_t kMaxEchoBytes = 256;  // of a value in a message; more is cut
// The message of one error on the wire. A longer message is cut. A gRPC client accepts trailers of
// 8 KiB, and the trailers contain the message three times.
inline constexpr std::size_t kMaxMessageBytes = 1024;

// Without a configured certificate, the service makes a CA, certificate and key with this life.
inline constexpr DurationMs kOwnCaMs = 3650 * kDayMs;
// kNextCaMs before its CA expires, Subak adds the next CA to ca.crt and reports this.
inline constexpr DurationMs kNextCaMs = 180 * kDayMs;
// Subak replaces certificate and key kNextPairMs before they expire, once ca.crt has had both CAs
// for kNextPairMs. If too little time is left, Subak replaces them kLastPairMs before they expire.
inline constexpr DurationMs kNextPairMs = 90 * kDayMs;
inline constexpr DurationMs kLastPairMs = kDayMs;
inline constexpr DurationMs kOwnCaLookMs = kHourMs;  // how often Subak checks this

// At its start, Subak raises RLIMIT_NOFILE to kWantedFiles, or as far as the system allows. If this
// is too low for kOwnFiles and all connections, all connection limits shrink in proportion. A limit
// below kMinConnections prevents the start.
inline constexpr std::size_t kWantedFiles = 65'536;
inline constexpr std::size_t kOwnFiles = 256;  // store, logs, certificates, gRPC's own
inline constexpr std::size_t kMinConnections = 16;
// At the limit, Subak closes a connection that has sent nothing, or else the new connection.
inline constexpr std::size_t kMaxGrpcConnections = 4096;
inline constexpr std::size_t kMaxGrpcConnectionsPerPeer = 1024;
inline constexpr DurationMs kGrpcIdleMs = 60'000;       // without a call; then gRPC sends GOAWAY
inline constexpr std::size_t kReservedConnections = 8;  // of each listener, for Subak's own probes
// Connections of one listener that were asked to close and are not closed yet. At the limit, a new
// connection waits until one of these closes.
inline constexpr std::size_t kMaxLeavingConnections = 32;
inline constexpr DurationMs kProbeEveryMs = 2'000;
inline constexpr DurationMs kProbeAnswerMs = 5'000;     // later: not ready
inline constexpr DurationMs kProbePatienceMs = 30'000;  // a listener dead this long: exit

// A webhook replica refuses a larger copy of the leader's data, and uses its last copy.
inline constexpr std::size_t kMaxAdmissionSnapshotBytes = 128u << 20;
// A replica's wait before its next call to the leader. This wait doubles each time up to the
// maximum. After a copy it begins again at kFollowRetryMs.
inline constexpr DurationMs kFollowRetryMs = 250, kMaxFollowRetryMs = 10'000;
// After kFollowPingMs without a message of the leader, a webhook replica sends a ping. Without an
// answer within kFollowPongMs, the stream is dead.
inline constexpr DurationMs kFollowPingMs = 10'000, kFollowPongMs = 10'000;
// A new webhook replica waits this long for its first copy; then it reports ready without a copy.
inline constexpr DurationMs kFirstCopyMs = 10'000;

// Idempotency: how long a request id is stored, and how many ids. At the limit, a new id drops the
// oldest id of the caller that has the most ids.
inline constexpr DurationMs kRequestIdLifeMs = kDayMs;
inline constexpr std::size_t kMaxRequestIds = 1'000'000;

// Files that commands read. A longer line or more rows is an error that names the line.
inline constexpr std::size_t kMaxTraceLineBytes = 64u << 10;
inline constexpr std::size_t kMaxTraceRows = 10'000'000;
inline constexpr std::size_t kMaxInputFileBytes = 1u << 30;  // 50,000 nodes as kubectl prints them
inline constexpr std::size_t kMaxCaseBytes = 64u << 20;      // sim share

// gRPC. A page ends at its row limit or byte limit, the one that it reaches first. A full queue
// answers RESOURCE_EXHAUSTED, and a stream that its client reads too slowly ends with that code.
inline constexpr std::int32_t kDefaultPageSize = 100;
inline constexpr std::int32_t kMaxPageSize = 10'000;
inline constexpr std::size_t kMaxPageBytes = 3u << 20;  // below 4 MiB, clients' usual limit
inline constexpr int kMaxGrpcMessageBytes = 64 << 20;   // enough to import a large fleet
// Events of one Observe stream that are not durable yet. At this limit the service stops reading.
inline constexpr std::size_t kMaxObserveInFlight = 4096;
inline constexpr std::size_t kMaxWatchBacklog = 16'384;  // unsent rows of a WatchJobs stream
inline constexpr std::size_t kMaxStoreReads = 256;       // ledger and audit reads waiting
// The reasons of one list page may look at this many nodes. Rows after that show no reasons.
inline constexpr std::size_t kMaxNodesLookedAtForList = 50'000;
// One queue page looks at this many waiting jobs. So the page of a small account may be short.
inline constexpr std::size_t kMaxQueueLookedAt = 10'000;
// Up to this many queued jobs, reads show the current order. For a longer queue, a background task
// computes the order, and reads use one snapshot of this order for kQueueSnapshotMs.
inline constexpr std::size_t kQueueOrderedAtOnce = 1'000;
inline constexpr DurationMs kQueueSnapshotMs = 1'000;
// If a part of the follower's turn takes longer, Subak logs this, because reads wait meanwhile.
inline constexpr DurationMs kSlowTurnMs = 200;
inline constexpr int kMaxNodesShown = 16, kMaxVictimsShown = 128;  // of a job; the rest are counted
// Reads wait in two lanes, cheap and expensive (`ExpensiveRead`), so that no cheap read waits for
// an expensive one. A full lane answers RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxCheapReads = 4096;
inline constexpr std::size_t kMaxExpensiveReads = 256;
inline constexpr std::size_t kMaxReadsPerCaller = 64;    // expensive ones, and of the store
inline constexpr std::size_t kMaxStreamsPerCaller = 64;  // of each kind of stream: refused
inline constexpr std::size_t kMaxStreams = 1024;         // of each kind, all callers: refused
// Unsent bytes of all watchers together. With more, the stream that is furthest behind ends.
inline constexpr std::size_t kMaxWatchBytes = 64u << 20;
// Copies of the accounts in memory for Static streams, by which webhook replicas get them. One more
// ends the stream of the oldest copy.
inline constexpr std::size_t kMaxAdmissionSnapshots = 4;
// Bytes of a copy in one message. The service sends a longer copy in several messages.
inline constexpr std::size_t kAdmissionSnapshotPartBytes = 1u << 20;
inline constexpr DurationMs kMaxTimeLimitMs = 3660 * kDayMs;  // of a job
// A token file with a shorter or longer token, or with more tokens, is refused. If a caller sends a
// longer token, the token counts as unknown.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokens = 10'000;
inline constexpr std::size_t kMaxTokenBytes = 1024;
// If a caller lacks rights, Subak writes at most one audit row per caller and subject in this time.
inline constexpr DurationMs kDenialAuditEveryMs = kMinuteMs;
inline constexpr std::size_t kMaxDenialsRemembered = 4096;  // more in that time share one row

// While the service runs, it ignores a step of the wall clock against the boot-time clock that is
// larger than kMaxClockStepMs. The engine's time then continues by the monotonic clock.
inline constexpr DurationMs kMaxClockStepMs = 5 * kMinuteMs;
// For this long, Subak measures all steps of the wall clock from one reading.
inline constexpr DurationMs kClockAnchorMs = kHourMs;
// If at a start the clock is further ahead of the last fact than this, the service is not ready
// until an operator accepts the clock (`admin accept-clock`).
inline constexpr DurationMs kMaxClockAheadMs = 30 * kDayMs;
// The clock of a launcher or node counts as right if its error is at most kClockErrorMs.
inline constexpr DurationMs kClockErrorMs = kSecondMs;
// Two times of one clock contradict each other only if they differ by at least kClockNoiseMs,
// because kubelets write whole seconds.
inline constexpr DurationMs kClockNoiseMs = 2 * kSecondMs;
// A node whose clock is off by kClockOffMs gets a condition, and counts for the alert.
inline constexpr DurationMs kClockOffMs = 5 * kSecondMs;
// For kClockProofMs after a leap of time at a start, the clock may still prove wrong. Then Subak
// refunds up to kMaxLeapRows charges of the leap. No job ends for its time limit meanwhile.
inline constexpr DurationMs kClockProofMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxLeapRows = 100'000;
// Subak ignores a sample of the database's clock that took longer than kClockSampleMs. If two
// samples in a row differ by more than kClockStepMs, a metric counts a step of the clock.
inline constexpr DurationMs kClockSampleMs = 500;
inline constexpr DurationMs kClockStepMs = kSecondMs;
// If the time leaps over many days, Subak writes node totals for each of the last kMaxClosedDays
// days, and one sum for all earlier days.
inline constexpr std::int64_t kMaxClosedDays = 400;

// Subak refuses a longer line of an API server's watch, and a longer kubeconfig.
inline constexpr std::size_t kMaxWatchLineBytes = 8u << 20;  // etcd's limit is 1.5 MiB an object
inline constexpr std::size_t kMaxKubeconfigBytes = 1u << 20;
// If an API server asks for a longer wait before the next call, Subak calls again after this time.
inline constexpr DurationMs kMaxRetryAfterMs = kMinuteMs;
// Concurrent calls to one API server. Up to kMaxKubeCalls further calls wait; more are refused.
inline constexpr std::size_t kKubeCallConnections = 16;
inline constexpr std::size_t kMaxKubeCalls = 16'384;
inline constexpr std::size_t kMaxKubeAnswerBytes = 256u << 20;  // a page of 500 objects
inline constexpr DurationMs kKubeConnectMs = 10'000;            // longer: the call failed
inline constexpr DurationMs kKubeCallMs = 30'000;               // longer: the call failed
// A watch without a message for this long is dead, because a bookmark comes about once a minute.
inline constexpr DurationMs kWatchSilentMs = 150'000;

// After an error with an object or a list, the edge of a cluster retries. The wait before the next
// try doubles each time up to the maximum.
inline constexpr DurationMs kEdgeRetryMs = 250, kMaxEdgeRetryMs = 30'000;
inline constexpr std::size_t kListPageObjects = 500;  // in a page of a list that is not streamed
inline constexpr std::int64_t kWatchLifeS = 480;      // then Subak begins the next watch
// Writes of one edge in flight: one per connection. Further writes and reads wait for a connection.
inline constexpr std::size_t kMaxEdgeWrites = kKubeCallConnections;
// Reports that the loop has and that are not durable yet. Further reports wait, one per object.
inline constexpr std::size_t kMaxEdgePosts = 4096;
// If a pod's gate cannot be opened for kReleaseRefusedMs, or if the scheduler cannot place the pod
// for kUnschedulableMs, the edge reports this to the core.
inline constexpr DurationMs kReleaseRefusedMs = kMinuteMs;
inline constexpr DurationMs kUnschedulableMs = 10'000;
// How long a gated pod waits until its owner object appears, because the owner may say how many
// pods start together. After this time the edge reports the pod without its owner.
inline constexpr DurationMs kOwnerMs = 5'000;
// Namespaces of a cluster whose label names an account. Subak refuses more.
inline constexpr std::size_t kMaxLabelledNamespaces = 10'000;
// How often an edge reports the time up to which it knows its cluster's changes.
inline constexpr DurationMs kSeenUntilEveryMs = kMinuteMs;
// Gates that Subak opens per second in clusters and namespaces that are not in mode `enforce`.
inline constexpr std::size_t kOpenedPerSecond = 20;
// A job that has waited this long gets an event with its reason, and one for each new reason.
inline constexpr DurationMs kTellWaitingMs = kMinuteMs;
// A waiting job gets another event when its start estimate has moved by more than kStartMovedMs,
// and also by more than 1/kStartMovedPart of the remaining wait.
inline constexpr DurationMs kStartMovedMs = 5 * kMinuteMs;
inline constexpr DurationMs kStartMovedPart = 10;
// The API server deletes an Event after an hour (--event-ttl). The edge records an Event again
// after kTellAgainMs if it is still true. It checks one page of waiting jobs every kLookWaitingMs.
inline constexpr DurationMs kTellAgainMs = 45 * kMinuteMs;
inline constexpr DurationMs kLookWaitingMs = 2'000;
// Best-effort writes to one cluster per second, for all objects together. Further writes wait.
inline constexpr std::size_t kEventsPerSecond = 20;
inline constexpr std::size_t kMaxWaitingEvents = 4096;  // one more drops the oldest waiting write
// A stop of the service waits this long for the removal of the leader label from Subak's pod.
inline constexpr DurationMs kPodLabelStopMs = kSecondMs;

// A command that reads a cluster with an operator's kubeconfig requests pages of this size. It
// refuses a cluster that has more than kMaxOperatorObjects objects of a kind, or an endless list.
inline constexpr std::size_t kOperatorPage = 500;
inline constexpr std::size_t kMaxOperatorObjects = 2'000'000;

// Subak refuses a longer token file or exec plugin output. After kExecPluginMs, Subak kills an exec
// plugin and all processes that the plugin started.
inline constexpr std::size_t kMaxCredentialBytes = 256u << 10;
inline constexpr DurationMs kExecPluginMs = 30'000;
// Subak reads a token file again after this time, as client-go does.
inline constexpr DurationMs kTokenFileMs = kMinuteMs;
// Subak renews a credential kCredentialEarlyMs before it expires, but not sooner than
// kCredentialAgainMs after the last renewal.
inline constexpr DurationMs kCredentialEarlyMs = 30'000;
inline constexpr DurationMs kCredentialAgainMs = 10'000;

}  // namespace subak::limits
