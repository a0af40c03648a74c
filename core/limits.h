// Every limit of the service, by name. Its comment says what happens at the limit, and tests cover
// this. Names with the end Ms, Bytes or MilliGpu have that unit. All other limits are counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// Names and texts from outside. A longer text is refused, with the field and this number.
inline constexpr std::size_t kMaxNameBytes = 253;     // Kubernetes object name
inline constexpr std::size_t kMaxReasonBytes = 1024;  // --reason of an edit
inline constexpr std::size_t kMaxAccountDepth = 16;   // levels below the root
// Accounts and users. More are refused, but accounts with few below them may use the reserve too.
inline constexpr std::size_t kMaxAccounts = 100'000;
inline constexpr std::size_t kAccountsReserve = 10'000;
inline constexpr std::size_t kMaxNamespacesPerAccount = 1024;
inline constexpr std::size_t kMaxProductsPerAccount = 256;  // with a quota or limit of their own
inline constexpr std::size_t kMaxNamespaceModes = 10'000;   // of one cluster; more are refused
inline constexpr std::int64_t kMaxShares = 1'000'000'000;   // of one account; more are refused
inline constexpr std::size_t kMaxPriorityClasses = 64;    // also the accounts that one class names
inline constexpr std::uint32_t kMaxShareTreeDepth = 256;  // levels in a file; more are refused

// Waiting jobs. A further job is refused with RESOURCE_EXHAUSTED, but accounts with few jobs may
// use the reserve too (accounting/shared_bound.h).
inline constexpr std::size_t kMaxQueuedJobs = 1'000'000;
inline constexpr std::size_t kQueuedJobsReserve = 100'000;
// Pods behind Subak's gates in one cluster, with a reserve of the same kind. A further pod stays
// gated and belongs to no job yet. Its edge reports it again until there is room.
inline constexpr std::size_t kMaxGatedPods = 100'000;
inline constexpr std::size_t kGatedPodsReserve = 10'000;
// How often an edge reports such pods again, and how many pods at once. While the core accepts all
// these pods, the edge doubles the number each time.
inline constexpr DurationMs kPutOffRetryMs = 5'000;
inline constexpr std::size_t kPutOffRetries = 16;
inline constexpr std::uint32_t kMaxPodsPerJob = 10'000;
inline constexpr std::int64_t kMaxGpusPerPod = 64;
// The size of one pod, one job and one node. Webhook, Observe, API and import all check these
// limits (model/bounds.h). So the engine accepts what the webhook accepts, and a later start can
// read it. A larger value is refused with the field, the value (cut) and the limit.
inline constexpr std::size_t kMaxSelectorTerms = 64;  // per pod, selectors + affinity + tolerations
inline constexpr std::size_t kMaxTermValues = 64;     // values of one requirement
inline constexpr std::size_t kMaxPodListItems = 64;   // host ports, resources, products of a pod
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

// A gang without pods waits this long for its controller to make new pods; then the gang is done.
// The time is longer than a Kubernetes Job's longest back-off (10 minutes).
inline constexpr DurationMs kGangReturnMs = 15 * kMinuteMs;
// Some pods of a gang appear only when its first pods run (in::GangSeen), perhaps after a model is
// loaded. The late pods must be bound within this time after the gang's start, or within the
// policy's hold if that is longer. Else the attempt ends.
inline constexpr DurationMs kLateMembersMs = 30 * kMinuteMs;
// A job whose gates could not be opened waits before its next attempt: first kReleaseRetryMs, then
// twice as long each time, up to the maximum.
inline constexpr DurationMs kReleaseRetryMs = 10 * kSecondMs;
inline constexpr DurationMs kMaxReleaseRetryMs = 2 * kHourMs;

// The same two values for a job whose pods the cluster's scheduler refused on two nodes. Each of
// these nodes has such a back-off too: until its end Subak does not try the node for the job.
inline constexpr DurationMs kFirstBackoffMs = 10 * kSecondMs;
inline constexpr DurationMs kLongestBackoffMs = 10 * kMinuteMs;
// Names of a cluster's extended resources in the webhook's data. Further names are left out.
inline constexpr std::size_t kMaxResourceNames = 1024;
// The scheduler's message. An edge cuts it to this size, and the core refuses a longer message.
inline constexpr std::size_t kMaxRefusalBytes = 1024;

// Subak expects that a job which must end at its time limit is gone this long after it: twice the
// usual terminationGracePeriodSeconds.
inline constexpr DurationMs kEndingMs = kMinuteMs;
// Each time that a job outlives its expected end, Subak doubles its expected run time. After this
// many times Subak expects that the job stays.
inline constexpr std::uint32_t kMaxOverruns = 24;

// Ended jobs that can still be read. One more drops the oldest job, but not from the ledger.
inline constexpr std::size_t kDoneJobsKept = 10'000;

// The work of one scheduling pass. Counts bound it, never the clock. Work that is left waits for
// the next pass, which is due at once.
inline constexpr std::size_t kMaxStartsPerPass = 4096;
inline constexpr std::size_t kMaxFitChecksPerPass = 65'536;
// A search for a promised start considers this many planned drains of the cluster, the first ones,
// one by one. For a start after these drains, every node with a planned drain counts as drained.
inline constexpr std::size_t kMaxDrainTimes = 8;
// Rounds of one pass: a reservation that moves, or whose job starts, lets other jobs try again.
inline constexpr std::size_t kMaxPassRounds = 32;
// The most jobs that one round tries, in order, on nodes that are reserved for a later time.
// Further jobs wait for another round. Slurm bounds its backfill the same way (bf_max_job_test).
inline constexpr std::size_t kMaxFillLooks = 1000;
// A reservation moves only to a start that is earlier by at least kReserveGainMs, and by
// 1/kReserveGainPart of its first wait. Each move costs a fact with all nodes.
inline constexpr DurationMs kReserveGainMs = kMinuteMs, kReserveGainPart = 64;
// Claims at one time, sets of jobs that one search tries, searches in a pass (a gang is several)
inline constexpr std::size_t kMaxClaims = 4096, kMaxClaimSets = 256, kMaxClaimSteps = 512;
inline constexpr std::size_t kClaimStepsOfGang = 8;
inline constexpr DurationMs kClaimPatienceMs = kMinuteMs;  // of a victim, after its grace period
// Jobs of one cluster with reserved nodes at the same time. A policy with more is refused.
inline constexpr std::uint32_t kMaxReserveJobs = 64;

// The most live jobs and nodes for which a read runs a dry-run pass on a copy, to say which jobs
// start. With more, the read reports that no pass has looked at the jobs yet.
inline constexpr std::size_t kMaxDryRunJobs = 500;

// The forecast of starts: how far ahead it looks, and at how many starts. For jobs beyond that, it
// says only a time before which the job does not start.
inline constexpr DurationMs kForecastAheadMs = 30 * kDayMs;
inline constexpr std::size_t kForecastStarts = 50'000;
// For the jobs that start first, the forecast stores nodes and end: for this many pairs of job and
// node. For all other jobs it stores only the start.
inline constexpr std::size_t kForecastPlaces = 65'536;
// Calibration of start estimates. For this many waiting jobs Subak compares the estimate with the
// start. It computes the quantiles of each horizon from this many of the newest outcomes.
inline constexpr std::size_t kMaxCalibrationStarts = 10'000;
inline constexpr std::size_t kMaxCalibrationOutcomes = 500;
// The least time between forecasts. All forecasts take at most 1/kForecastRest of a core. One
// forecast ends after kForecastMs. Up to kForecastAtOnce live jobs and nodes, a read runs one.
inline constexpr DurationMs kForecastEveryMs = 10'000;
inline constexpr DurationMs kForecastIdleMs = kMinuteMs;  // if only time has passed
inline constexpr DurationMs kForecastRest = 20;
inline constexpr DurationMs kForecastMs = 20'000;
inline constexpr std::size_t kForecastAtOnce = 1'000;
// Jobs and pods that are copied in one slice, for a forecast or a checkpoint. A slice takes some
// milliseconds. The follower answers reads between two slices.
inline constexpr std::size_t kCopySlice = 1'000;
// To find an earlier start, a forecast tries this many changes of a job. A service with more live
// jobs and nodes than kMaxAlternativesSize refuses the question.
inline constexpr std::size_t kMaxAlternatives = 8;
inline constexpr std::size_t kMaxAlternativesSize = 5'000;
// The fleet timeline: its default and least range; and the most rows, columns, lanes of each kind
// in a row, and jobs of one answer. So an answer stays below kMaxPageBytes.
inline constexpr DurationMs kPlanAheadMs = kDayMs;
inline constexpr DurationMs kLeastPlanMs = 10 * kMinuteMs;
inline constexpr std::int32_t kMaxPlanRows = 200;
inline constexpr std::int32_t kMaxPlanColumns = 200;
inline constexpr std::int32_t kMaxPlanLanes = 4;
inline constexpr std::int32_t kMaxPlanJobs = 1'000;
// The assumed run time of a job without a limit and without known similar jobs.
inline constexpr DurationMs kGuessedRunMs = kDayMs;

// GPU pods of all clusters that wait for a node and that Subak does not manage. `queue --would`
// (shadow mode) reads these pods. It skips further pods until there is room, and says so.
inline constexpr std::size_t kMaxUnmanagedPods = 10'000;
// The most live jobs, nodes and such pods together for `queue --would`, which else is refused.
inline constexpr std::size_t kMaxShadowQueue = 150'000;

// How many jobs, pods or nodes in the way a reason names (Reason::blockers).
inline constexpr std::size_t kMaxBlockers = 8;

// The ledger. Running jobs are charged day by day. The books of a UTC day close this long after the
// day's last midnight, so that an end that is reported late counts in its own day. One turn writes
// at most kMaxCutRowsPerTurn rows. The next turns, due at once, write the other rows.
inline constexpr DurationMs kDayOpenMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxCutRowsPerTurn = 4096;

// Fleet. The nodes at one time, summed over all clusters. At the limit, Subak refuses a new node.
inline constexpr std::size_t kMaxNodes = 200'000;
// All nodes that ever were: an id is never reused. A further new node is refused.
inline constexpr std::uint32_t kMaxNodeIds = 800'000;
inline constexpr std::size_t kMaxClusters = 1000;    // a new one is refused
inline constexpr std::size_t kMaxProducts = 10'000;  // GPU products ever seen: then refused
inline constexpr std::size_t kMaxGpusPerNode = 64;
// Levels of groups of nodes, each group inside the next: rack, block, superpod and one more.
inline constexpr std::size_t kTopologyLevels = 4;
// A node that loses its clique label stays in its clique this long. NVIDIA's labeller removes the
// label while it restarts, and reads the clique again every ten minutes.
inline constexpr DurationMs kCliqueKeptMs = 10 * kMinuteMs;
// In one snapshot (`FleetView`), at most so many nodes differ from the fleet; more are refused.
// This is enough for the largest job with one pod per node, and for the domains that it reserves.
inline constexpr std::size_t kMaxFleetViewNodes = 16'384;

// Pods of one cluster whose node Subak has not seen yet. Reports of further pods are refused. Half
// of the number is only for pods with GPUs.
inline constexpr std::size_t kMaxEarlyPods = 4096;
// Non-GPU pods that count on one node. Further pods do not count, and their reports are refused.
inline constexpr std::size_t kMaxNonGpuPodsPerNode = 1024;

// Node back-off (`bar`): a node that rejected a pod is not tried for pods of this kind for a time.
// The time doubles with each rejection in a row, until such a pod runs on the node.
inline constexpr DurationMs kFirstNodeBackoffMs = 10'000;  // doubled each time
inline constexpr DurationMs kLongestNodeBackoffMs = 2 * kHourMs;
// If a back-off has ended and this time passes without a new rejection, the count starts again.
inline constexpr DurationMs kNodeBackoffMemoryMs = 2 * kHourMs;
// Back-offs of nodes and kinds of pods. One more drops the back-off that would end first.
inline constexpr std::size_t kMaxNodeBackoffs = 10'000;

// The runtime. If a mailbox is full, watches stop reading, and mutations get RESOURCE_EXHAUSTED.
inline constexpr std::size_t kLoopMailbox = 65'536;
inline constexpr std::size_t kMaxBatchInputs = 4096;      // inputs of one turn
inline constexpr std::size_t kMaxEffectBacklog = 65'536;  // per Effects stream, then it is closed

// The loop looks at the clock at least this often.
inline constexpr DurationMs kLoopMaxWaitMs = 1000;
inline constexpr DurationMs kWatchdogPatienceMs = 10'000;  // work without progress: not serving
// Facts that wait for the follower. If more wait, the follower reads facts from the store.
inline constexpr std::size_t kFollowerFacts = 262'144;
inline constexpr std::size_t kTraceFileBytes = 64u << 20;  // input trace: then the next file begins
inline constexpr std::size_t kTraceFiles = 4;              // the oldest goes

// Store.
inline constexpr std::uint64_t kCheckpointEveryFacts = 200'000;
// Facts of a checkpoint in one transaction. Other commits get in between two transactions.
inline constexpr std::size_t kCheckpointChunkFacts = 512;
// A checkpoint stores a larger job in several facts.
inline constexpr std::size_t kCheckpointPartBytes = 1u << 20;
inline constexpr int kWalPages = 4096;  // 16 MiB, then the log is copied into the file
// At a start, a larger store is checked completely only when the service already runs.
inline constexpr std::int64_t kQuickCheckBytes = 256 << 20;
// A copy that would leave less free space on the disk is refused.
inline constexpr std::int64_t kSpareDiskBytes = 256 << 20;
inline constexpr int kMaxFactDepth = 16;  // records inside records of a stored fact
// A larger fact is neither read nor written: the commit fails. No accepted input makes such a fact.
inline constexpr std::size_t kMaxFactBytes = 16u << 20;
inline constexpr std::size_t kLedgerAuditPageRows = 10'000;
// The first audit after a start waits for kLedgerAuditWaitMs if it reads more rows than
// kLedgerAuditAtOnceRows (about a second of work).
inline constexpr std::uint64_t kLedgerAuditAtOnceRows = 200'000;
inline constexpr DurationMs kLedgerAuditWaitMs = kMinuteMs;

// A database (server/store/postgres). If no answer comes for this long, Subak closes the connection
// and looks up whether the statement had its effect.
inline constexpr DurationMs kDatabaseReplyMs = 10 * kSecondMs;
// Subak retries a commit without an answer for ever. The wait doubles from kDatabaseRetryMs up to
// the maximum. After kDatabaseSlowMs, changes are refused until the commit is done.
inline constexpr DurationMs kDatabaseSlowMs = 2 * kSecondMs;
inline constexpr DurationMs kDatabaseRetryMs = 50;
inline constexpr DurationMs kMaxDatabaseRetryMs = kSecondMs;
// The leader asks the database to confirm that it leads. For this long after the request, the
// leader gives answers that need no commit.
inline constexpr DurationMs kLeadTrustedMs = 2 * kSecondMs;
// The leader's heartbeat, and the silence after which its lead is over. This clock also runs while
// a machine sleeps. kLeadTrustedMs is shorter, so a leader stops its answers before that.
inline constexpr DurationMs kHeartbeatMs = 500;
inline constexpr DurationMs kLeaderSilentMs = 3 * kSecondMs;
inline constexpr DurationMs kLeadLookMs = 20;  // between looks of a standby that waits to lead
inline constexpr int kLeadTries = 20;          // to lock the leader's row, half a second each
// How long a read waits for the fact whose sequence it names, and how often it looks.
inline constexpr DurationMs kSequenceWaitMs = kSecondMs;
inline constexpr DurationMs kSequenceLookMs = 20;
// A client: the servers in its configuration, and the rounds in which it looks for a leader. All
// rounds together take longer than kLeaderSilentMs.
inline constexpr std::size_t kMaxServers = 16;
inline constexpr int kServerRounds = 10;
inline constexpr DurationMs kServerRoundMs = 500;
inline constexpr DurationMs kServerConnectMs = 2 * kSecondMs;  // then the next server is tried
inline constexpr std::size_t kDatabasePageRows = 4096;  // of facts, ledger, audit: read at a time
inline constexpr std::size_t kCopiedFactsAtOnce =
    10'000;  // from one store to another: a transaction

// Metrics page. With more accounts, it shows only the upper levels of the tree that fit: a parent's
// figures include all below it. `subak_accounts_without_series` counts the other accounts.
inline constexpr std::size_t kMetricAccounts = 10'000;
// A search for a gang of several shapes first places one shape after the other. If that fails, it
// tries pod by pod, and gives up after it has looked at this many nodes.
inline constexpr std::size_t kPlaceTries = 4'000;
// Nodes of one NVLink domain that a gang may leave free for replacements.
inline constexpr std::uint32_t kMaxSpareNodes = 64;
// The most empty NVLink domains of one cluster and product that a policy may leave to gangs, and
// the most gangs with a ComputeDomain in one domain. A larger policy is refused.
inline constexpr std::uint32_t kMaxKeepWhole = 1'000;
inline constexpr std::uint32_t kMaxCliqueGangs = 64;
// How many different numbers of domains the search tries for a balanced gang, the least first.
inline constexpr std::uint32_t kBalancedTries = 64;
// The most domains of a balanced gang.
inline constexpr std::uint32_t kBalancedParts = 1'024;
// The collector counts room for this many request shapes, the most usual ones of a cluster.
inline constexpr std::size_t kSurveyShapes = 16;
inline constexpr std::size_t kSurveyQueue = 1000;  // jobs at the head whose positions are followed
inline constexpr std::size_t kSurveyExplained = 10;  // of these, jobs whose reasons are counted
// The collector runs at most this often, and takes at most a fiftieth of a core.
inline constexpr DurationMs kSurveyEveryMs = 15'000;

// Webhook.
inline constexpr std::size_t kMaxReviewBytes = 3u << 20;  // kube-apiserver's own body limit
inline constexpr std::size_t kMaxHttpHeaderBytes = 32u << 10;
inline constexpr std::size_t kMaxHttpDrainBytes = 64u << 20;  // a longer body closes the connection
// A connection may be idle for longer than kube-apiserver allows (90 s, client-go's default),
// because the sender must close first. Else a review in flight is lost.
inline constexpr DurationMs kHttpIdleMs = 120'000;
inline constexpr DurationMs kHttpReadMs = 10'000;
inline constexpr DurationMs kHttpAnswerMs = 5'000;  // of the metrics port: then 503
inline constexpr DurationMs kStopMs = 20'000;       // a stop that takes longer ends the process
inline constexpr std::size_t kMaxHttpConnections = 4096;
// Connections from one address. One more (here or in all) closes the connection whose request has
// been incomplete for longest. If all requests are complete, it closes the new connection.
inline constexpr std::size_t kMaxHttpConnectionsPerPeer = 1024;
inline constexpr int kWebhookThreads = 2;
inline constexpr std::size_t kMaxWarnings = 16;    // in one answer: the last one counts the others
inline constexpr std::size_t kMaxMistakes = 16;    // reported for one pod: others are only counted
inline constexpr std::size_t kMaxTemplates = 256;  // with GPUs, in one owner of pods: then refused
inline constexpr std::size_t kMaxEchoBytes = 256;  // of a value that a message repeats: then cut
// The message of one error on the wire. A longer message is cut. A gRPC client accepts trailers of
// 8 KiB, and these contain the message three times.
inline constexpr std::size_t kMaxMessageBytes = 1024;

// The life of the CA, certificate and key that the service makes if its configuration names none.
inline constexpr DurationMs kOwnCaMs = 3650 * kDayMs;
// This long before the end of the CA, Subak adds the next CA to ca.crt and reports it.
inline constexpr DurationMs kNextCaMs = 180 * kDayMs;
// Certificate and key change to the next CA kNextPairMs before their end, once ca.crt has had both
// CAs for that long. If the service was away and too little time is left: kLastPairMs before.
inline constexpr DurationMs kNextPairMs = 90 * kDayMs;
inline constexpr DurationMs kLastPairMs = kDayMs;
inline constexpr DurationMs kOwnCaLookMs = kHourMs;  // how often it checks what is due

// Sockets. The start raises RLIMIT_NOFILE to kWantedFiles, or as far as the system allows. The
// result must suffice for kOwnFiles, for all connections, and for each listener's reserved and
// leaving connections. If it does not, all connection limits shrink in proportion. A start with
// room for fewer than kMinConnections of a kind is refused.
inline constexpr std::size_t kWantedFiles = 65'536;
inline constexpr std::size_t kOwnFiles = 256;  // store, logs, certificates, gRPC's own
inline constexpr std::size_t kMinConnections = 16;
// One more closes a connection that has sent nothing, or else the new connection.
inline constexpr std::size_t kMaxGrpcConnections = 4096;
inline constexpr std::size_t kMaxGrpcConnectionsPerPeer = 1024;
inline constexpr DurationMs kGrpcIdleMs = 60'000;       // without a call: gRPC sends GOAWAY
inline constexpr std::size_t kReservedConnections = 8;  // of each listener, for our own probes
// Connections of one listener that were asked to close and are not closed yet. If there are so
// many, a new connection waits until one of them closes.
inline constexpr std::size_t kMaxLeavingConnections = 32;
inline constexpr DurationMs kProbeEveryMs = 2'000;
inline constexpr DurationMs kProbeAnswerMs = 5'000;     // later: not ready
inline constexpr DurationMs kProbePatienceMs = 30'000;  // a listener that is dead this long: exit

// A webhook-only replica. It refuses a larger copy of the leader's data, and uses its last copy.
inline constexpr std::size_t kMaxAdmissionSnapshotBytes = 128u << 20;
// A replica's wait before its next call to the leader. The wait doubles each time up to the
// maximum, and begins again at kFollowRetryMs after a copy.
inline constexpr DurationMs kFollowRetryMs = 250;
inline constexpr DurationMs kMaxFollowRetryMs = 10'000;
// After this silence of the leader a replica sends a ping. Without an answer within kFollowPongMs,
// the stream is dead.
inline constexpr DurationMs kFollowPingMs = 10'000;
inline constexpr DurationMs kFollowPongMs = 10'000;
// How long a new replica waits for its first copy before it reports ready without one.
inline constexpr DurationMs kFirstCopyMs = 10'000;

// Idempotency: how long a request id is stored, and how many ids. One more id drops the oldest id
// of the caller that has the most ids.
inline constexpr DurationMs kRequestIdLifeMs = kDayMs;
inline constexpr std::size_t kMaxRequestIds = 1'000'000;

// Files that commands read. A file with a longer line or more rows is refused, with the line.
inline constexpr std::size_t kMaxTraceLineBytes = 64u << 10;
inline constexpr std::size_t kMaxTraceRows = 10'000'000;
inline constexpr std::size_t kMaxInputFileBytes = 1u << 30;  // 50,000 nodes as kubectl prints them
inline constexpr std::size_t kMaxCaseBytes = 64u << 20;      // sim share

// gRPC. A page ends at the first of its limits. A full queue answers RESOURCE_EXHAUSTED. A stream
// that the client does not read in time ends with the same code. The client may open it again.
inline constexpr std::int32_t kDefaultPageSize = 100;
inline constexpr std::int32_t kMaxPageSize = 10'000;
inline constexpr std::size_t kMaxPageBytes = 3u << 20;  // below the usual 4 MiB of clients
inline constexpr int kMaxGrpcMessageBytes = 64 << 20;   // received: the import of a large fleet
// Events of one Observe stream that are not durable yet. With so many, reading pauses.
inline constexpr std::size_t kMaxObserveInFlight = 4096;
inline constexpr std::size_t kMaxWatchBacklog = 16'384;  // unsent rows of one WatchJobs stream
inline constexpr std::size_t kMaxStoreReads = 256;       // ledger and audit reads waiting
// Nodes that the reasons of one list page may look at. The rows after that show no reasons.
inline constexpr std::size_t kMaxNodesLookedAtForList = 50'000;
// Waiting jobs that one queue page may look at. So a page about a small account may be short.
inline constexpr std::size_t kMaxQueueLookedAt = 10'000;
// With up to this many queued jobs, reads always show the current order. For a longer queue a
// background task computes the order, and one snapshot of it serves reads for kQueueSnapshotMs.
inline constexpr std::size_t kQueueOrderedAtOnce = 1'000;
inline constexpr DurationMs kQueueSnapshotMs = 1'000;
// A longer part of the follower's turn is logged, because reads wait for it.
inline constexpr DurationMs kSlowTurnMs = 200;
inline constexpr int kMaxNodesShown = 16, kMaxVictimsShown = 128;  // of one job; the rest: a count
// Reads wait in two lanes, cheap and expensive (`ExpensiveRead`), so that no cheap read waits for
// an expensive one. A full lane answers RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxCheapReads = 4096;
inline constexpr std::size_t kMaxExpensiveReads = 256;
inline constexpr std::size_t kMaxReadsPerCaller = 64;    // expensive reads, waiting or running
inline constexpr std::size_t kMaxStreamsPerCaller = 64;  // of each kind of stream: refused
inline constexpr std::size_t kMaxStreams = 1024;         // of each kind, all callers: refused
// Bytes that wait for all watchers together. With more, the stream furthest behind ends.
inline constexpr std::size_t kMaxWatchBytes = 64u << 20;
// Copies of the accounts in memory for Static streams. One more ends the stream of the oldest copy.
inline constexpr std::size_t kMaxAdmissionSnapshots = 4;
// One message of such a copy. A longer copy is sent in several messages.
inline constexpr std::size_t kAdmissionSnapshotPartBytes = 1u << 20;
inline constexpr DurationMs kMaxTimeLimitMs = 3660 * kDayMs;  // of a job
// The token file. A file with a shorter or longer token, or with more tokens, is refused. A
// caller's longer token counts as unknown.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokens = 10'000;
inline constexpr std::size_t kMaxTokenBytes = 1024;
// Refusals for lack of rights write an audit row at most this often per caller and subject.
inline constexpr DurationMs kDenialAuditEveryMs = kMinuteMs;
inline constexpr std::size_t kMaxDenialsRemembered = 4096;  // more in that time: counted in one row

// The clock. While the service runs, it ignores a larger step of the wall clock, compared with the
// boot-time clock. Time then continues by the monotonic clock.
inline constexpr DurationMs kMaxClockStepMs = 5 * kMinuteMs;
// For this long, later steps are measured from one reading of the wall clock.
inline constexpr DurationMs kClockAnchorMs = kHourMs;
// If at a start the clock is further ahead of the last fact than this, the service is not ready
// until an operator accepts the clock (`admin accept-clock`).
inline constexpr DurationMs kMaxClockAheadMs = 30 * kDayMs;
// Clocks of launchers and nodes. A clock with at most this error counts as right.
inline constexpr DurationMs kClockErrorMs = kSecondMs;
// Two times of one clock contradict each other only if they differ by at least this, because
// kubelets write whole seconds.
inline constexpr DurationMs kClockNoiseMs = 2 * kSecondMs;
// A node whose clock is off by this much gets a condition, and counts for the alert.
inline constexpr DurationMs kClockOffMs = 5 * kSecondMs;
// For this long after a leap of time at a start, the clock may still prove wrong. If it does, Subak
// refunds the charges over the leap, at most kMaxLeapRows rows. No job ends meanwhile for its time
// limit.
inline constexpr DurationMs kClockProofMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxLeapRows = 100'000;
// A database's clock. A sample that took longer is not used. If two samples in a row differ by more
// than kClockStepMs, the clock has stepped, and a metric counts the step.
inline constexpr DurationMs kClockSampleMs = 500;
inline constexpr DurationMs kClockStepMs = kSecondMs;
// When time leaps, node totals are written for this many days, and one sum for all earlier days.
inline constexpr std::int64_t kMaxClosedDays = 400;

// Answers of an API server. A longer line of a watch, or a longer kubeconfig, is refused.
inline constexpr std::size_t kMaxWatchLineBytes = 8u << 20;  // etcd takes objects of 1.5 MiB
inline constexpr std::size_t kMaxKubeconfigBytes = 1u << 20;
// If an API server asks for a longer wait before the next call, Subak calls again after this time.
inline constexpr DurationMs kMaxRetryAfterMs = kMinuteMs;
// Calls of one cluster at once. Up to kMaxKubeCalls further calls wait; more are refused.
inline constexpr std::size_t kKubeCallConnections = 16;
inline constexpr std::size_t kMaxKubeCalls = 16'384;
inline constexpr std::size_t kMaxKubeAnswerBytes = 256u
                                                   << 20;  // a page of 500 objects: then refused
inline constexpr DurationMs kKubeConnectMs = 10'000;       // longer: no answer
inline constexpr DurationMs kKubeCallMs = 30'000;          // longer: no answer
// A watch without a message for this long is dead: bookmarks come about once a minute.
inline constexpr DurationMs kWatchSilentMs = 150'000;

// The edge of one cluster. After an error with an object or a list, it retries. The wait doubles
// each time up to the maximum.
inline constexpr DurationMs kEdgeRetryMs = 250;
inline constexpr DurationMs kMaxEdgeRetryMs = 30'000;
inline constexpr std::size_t kListPageObjects = 500;  // of a list that cannot be streamed
inline constexpr std::int64_t kWatchLifeS = 480;      // then the server ends it and Subak continues
// Writes in flight at once: as many as connections. Further writes and reads wait for a connection.
inline constexpr std::size_t kMaxEdgeWrites = kKubeCallConnections;
// Reports that the loop has and that are not durable yet. Further ones wait, coalesced by object.
inline constexpr std::size_t kMaxEdgePosts = 4096;
// If a pod's gate cannot be opened for kReleaseRefusedMs, or if the scheduler cannot place the pod
// for kUnschedulableMs, the edge reports this to the core.
inline constexpr DurationMs kReleaseRefusedMs = kMinuteMs;
inline constexpr DurationMs kUnschedulableMs = 10'000;
// How long a gated pod waits until its owner object appears, because the owner may say how many
// pods start together. After this time the edge reports the pod without its owner.
inline constexpr DurationMs kOwnerMs = 5'000;
// Namespaces of a cluster that name their account by a label; more are refused.
inline constexpr std::size_t kMaxLabelledNamespaces = 10'000;
// How often an edge reports, and the core stores, up to what time the cluster's changes are known.
inline constexpr DurationMs kSeenUntilEveryMs = kMinuteMs;
// How fast Subak opens its own gates in clusters and namespaces that are not in enforce mode.
inline constexpr std::size_t kOpenedPerSecond = 20;
// A job that has waited this long gets an event with the reason, and an event when it changes.
inline constexpr DurationMs kTellWaitingMs = kMinuteMs;
// Such a job gets another event when its start estimate has moved by more than kStartMovedMs, and
// also by more than 1/kStartMovedPart of the remaining wait.
inline constexpr DurationMs kStartMovedMs = 5 * kMinuteMs;
inline constexpr DurationMs kStartMovedPart = 10;
// An Event lives an hour (kube-apiserver --event-ttl). If it is still true, the edge records it
// again after kTellAgainMs. Every kLookWaitingMs the edge checks one page of waiting jobs.
inline constexpr DurationMs kTellAgainMs = 45 * kMinuteMs;
inline constexpr DurationMs kLookWaitingMs = 2'000;
// Best-effort writes in one cluster, for all objects together. Further writes wait in order.
inline constexpr std::size_t kEventsPerSecond = 20;
inline constexpr std::size_t kMaxWaitingEvents = 4096;  // that wait: then the oldest is dropped
// How long a stop waits to remove the leader label from Subak's pod.
inline constexpr DurationMs kPodLabelStopMs = kSecondMs;

// A command that reads a cluster with an operator's kubeconfig requests pages of this size. If a
// kind has more than kMaxOperatorObjects objects, or a list never ends, it refuses the cluster.
inline constexpr std::size_t kOperatorPage = 500;
inline constexpr std::size_t kMaxOperatorObjects = 2'000'000;

// Subak's credentials at an API server. A longer token file, or exec plugin output, is refused. A
// plugin that takes longer than kExecPluginMs is killed with all processes that it started.
inline constexpr std::size_t kMaxCredentialBytes = 256u << 10;
inline constexpr DurationMs kExecPluginMs = 30'000;
// A token file is read again after this time, as client-go does.
inline constexpr DurationMs kTokenFileMs = kMinuteMs;
// A credential is renewed kCredentialEarlyMs before it expires, but not sooner than
// kCredentialAgainMs after the last renewal.
inline constexpr DurationMs kCredentialEarlyMs = 30'000;
inline constexpr DurationMs kCredentialAgainMs = 10'000;

}  // namespace subak::limits
