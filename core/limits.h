// Every limit of the service, by name. The comment says what happens at the limit, and tests cover
// it. Units are in the names: Ms milliseconds, Bytes bytes, MilliGpu; else a count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// Outside names and texts. A longer one is refused with the field and this number.
inline constexpr std::size_t kMaxNameBytes = 253;     // Kubernetes object name
inline constexpr std::size_t kMaxReasonBytes = 1024;  // --reason of an edit
inline constexpr std::size_t kMaxAccountDepth = 16;   // levels below the root
// Accounts and users together. More are refused; accounts with few below them may use the reserve.
inline constexpr std::size_t kMaxAccounts = 100'000;
inline constexpr std::size_t kAccountsReserve = 10'000;
inline constexpr std::size_t kMaxNamespacesPerAccount = 1024;
inline constexpr std::size_t kMaxProductsPerAccount = 256;  // with a quota or limit of their own
inline constexpr std::size_t kMaxNamespaceModes = 10'000;   // of one cluster; more are refused
inline constexpr std::int64_t kMaxShares = 1'000'000'000;   // of one account; more are refused
// Levels of a tree in a file (sim share); more are refused
inline constexpr std::uint32_t kMaxShareTreeDepth = 256;

// Waiting jobs. More: the submission is refused with RESOURCE_EXHAUSTED, but accounts with few jobs
// may use the reserve (accounting/shared_bound.h).
inline constexpr std::size_t kMaxQueuedJobs = 1'000'000;
inline constexpr std::size_t kQueuedJobsReserve = 100'000;
// Pods behind Subak's gates in one cluster, likewise. A further pod stays gated and belongs to no
// job yet: its edge reports it again until there is room.
inline constexpr std::size_t kMaxGatedPods = 100'000;
inline constexpr std::size_t kGatedPodsReserve = 10'000;
// How often an edge reports such pods again, and how many at first: more at once while they are
// accepted.
inline constexpr DurationMs kPutOffRetryMs = 5'000;
inline constexpr std::size_t kPutOffRetries = 16;
inline constexpr std::uint32_t kMaxPodsPerJob = 10'000;
inline constexpr std::int64_t kMaxGpusPerPod = 64;
// The size of one pod, one job and one node. Webhook, Observe, API and import share these through
// model/bounds.h: the engine accepts what the webhook accepts, and the next start can read it.
// More: refused with the field, the value (cut) and the limit.
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

// A gang without pods waits this long for its controller to make new ones; then it is done. Longer
// than a Kubernetes Job's longest back-off (10 minutes).
inline constexpr DurationMs kGangReturnMs = 15 * kMinuteMs;
// Gang pods that appear only when the first ones run (in::GangSeen) must be bound this long after
// its start, or within the policy's hold if that is longer. Else the attempt ends. It takes time to
// load a model.
inline constexpr DurationMs kLateMembersMs = 30 * kMinuteMs;
// A job whose gates could not be opened waits this long before its next attempt: first, doubled
// each time, and at most.
inline constexpr DurationMs kReleaseRetryMs = 10 * kSecondMs;
inline constexpr DurationMs kMaxReleaseRetryMs = 2 * kHourMs;

// The same wait for a job with pods that the cluster's scheduler refused on two nodes. The job is
// not tried on one of these nodes for as long, counted by node.
inline constexpr DurationMs kFirstBackoffMs = 10 * kSecondMs;
inline constexpr DurationMs kLongestBackoffMs = 10 * kMinuteMs;
// Names of a cluster's extended resources that the webhook knows; it warns about no others.
inline constexpr std::size_t kMaxResourceNames = 1024;
// Of the scheduler's message; an edge cuts it, a longer one is refused.
inline constexpr std::size_t kMaxRefusalBytes = 1024;

// A job that must end at its time limit is expected to be gone this much later: twice the usual
// terminationGracePeriodSeconds.
inline constexpr DurationMs kEndingMs = kMinuteMs;
// If a job outlives its expected end, that end moves to twice the time after its start, at most
// this often. Then Subak expects the job to stay.
inline constexpr std::uint32_t kMaxOverruns = 24;

// Ended jobs that can still be read; then the oldest is dropped (not from the ledger)
inline constexpr std::size_t kDoneJobsKept = 10'000;

// One scheduling pass, bounded by counts, never by the clock. The rest waits for the next pass,
// which is due at once.
inline constexpr std::size_t kMaxStartsPerPass = 4096;
inline constexpr std::size_t kMaxFitChecksPerPass = 65'536;
// The most begin times of a cluster's planned drains between which a search for a promised start
// looks. Nodes with a later one count as drained then.
inline constexpr std::size_t kMaxDrainTimes = 8;
// Rounds of one pass: a reservation that moves, or whose job starts, lets other jobs try again.
inline constexpr std::size_t kMaxPassRounds = 32;
// Jobs, in order, that one round tries on reserved nodes until these are needed. Later jobs wait
// for another round. Slurm bounds its backfill the same way (bf_max_job_test).
inline constexpr std::size_t kMaxFillLooks = 1000;
// The least by which a reservation moves earlier: this time, and this part of its wait when it was
// made. Each move is a fact with all its nodes.
inline constexpr DurationMs kReserveGainMs = kMinuteMs;
inline constexpr DurationMs kReserveGainPart = 64;
// Claims at one time, and those looked for in one pass. The time in which a victim has to be gone.
inline constexpr std::size_t kMaxClaims = 4096, kMaxClaimSteps = 64;
inline constexpr DurationMs kClaimPatienceMs = 2 * kMinuteMs;
// Jobs of one cluster with reserved nodes at the same time: a larger policy is refused.
inline constexpr std::uint32_t kMaxReserveJobs = 64;

// The most live jobs and nodes for which a read runs a dry-run pass on a copy, to say which jobs
// start. Above it, the read reports that no pass has looked yet.
inline constexpr std::size_t kMaxDryRunJobs = 500;

// The forecast of starts: how far ahead it looks, and at how many starts. A later job only gets a
// time before which it does not start.
inline constexpr DurationMs kForecastAheadMs = 30 * kDayMs;
inline constexpr std::size_t kForecastStarts = 50'000;
// It stores where and until when jobs run for this many pairs of job and node, for those that start
// first. Of other jobs it stores only the time.
inline constexpr std::size_t kForecastPlaces = 65'536;
// Calibration of start estimates: the most waiting jobs whose estimate is followed to its outcome,
// and the newest outcomes, for each horizon, from which quantiles are computed.
inline constexpr std::size_t kMaxCalibrationStarts = 10'000;
inline constexpr std::size_t kMaxCalibrationOutcomes = 500;
// The least time between forecasts. A forecast takes a twentieth of a core at most, and is cut at
// kForecastMs. Up to kForecastAtOnce live jobs and nodes, a read computes it at once.
inline constexpr DurationMs kForecastEveryMs = 10'000;
inline constexpr DurationMs kForecastIdleMs = kMinuteMs;  // if only time has passed
inline constexpr DurationMs kForecastRest = 20;
inline constexpr DurationMs kForecastMs = 20'000;
inline constexpr std::size_t kForecastAtOnce = 1'000;
// Jobs and pods copied in one slice for a forecast or a checkpoint, some milliseconds each; the
// follower answers reads between two slices.
inline constexpr std::size_t kCopySlice = 1'000;
// Changes of a job that a forecast tries to find an earlier start; the most live jobs and nodes for
// that. More: refused.
inline constexpr std::size_t kMaxAlternatives = 8;
inline constexpr std::size_t kMaxAlternativesSize = 5'000;
// The fleet by time: the default range, and the most in one answer. That keeps it below
// kMaxPageBytes: rows, columns of each, lanes of each kind in a row, and jobs beside them.
inline constexpr DurationMs kPlanAheadMs = kDayMs;
inline constexpr DurationMs kLeastPlanMs = 10 * kMinuteMs;
inline constexpr std::int32_t kMaxPlanRows = 200;
inline constexpr std::int32_t kMaxPlanColumns = 200;
inline constexpr std::int32_t kMaxPlanLanes = 4;
inline constexpr std::int32_t kMaxPlanJobs = 1'000;
// The assumed run time of a job without a limit and without known similar jobs.
inline constexpr DurationMs kGuessedRunMs = kDayMs;

// GPU pods of all clusters that wait for a node without Subak, for `queue --would` (shadow mode).
// Further pods are skipped until there is room, and the answer says so.
inline constexpr std::size_t kMaxUnmanagedPods = 10'000;
// The most live jobs, nodes and such pods together for that answer. More: refused.
inline constexpr std::size_t kMaxShadowQueue = 150'000;

// Jobs, pods or nodes that a reason names as being in the way (Reason::blockers): the first of
// them.
inline constexpr std::size_t kMaxBlockers = 8;

// The ledger. Running jobs are charged day by day. A UTC day is closed this long after its
// midnight, so that an end that is reported late still counts in its own day. At most this many
// rows are cut in one turn; the rest follows in the next turns, which are due at once.
inline constexpr DurationMs kDayOpenMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxCutRowsPerTurn = 4096;

// Fleet.
inline constexpr std::size_t kMaxNodes = 200'000;  // at once, in all clusters: a new one is refused
// Ever: an id is never reused. One more new node is refused.
inline constexpr std::uint32_t kMaxNodeIds = 800'000;
inline constexpr std::size_t kMaxClusters = 1000;    // a new one is refused
inline constexpr std::size_t kMaxProducts = 10'000;  // GPU products ever seen: then refused
inline constexpr std::size_t kMaxGpusPerNode = 64;
// Groups that a node stands in, each within the next: rack, block, superpod and one more.
inline constexpr std::size_t kTopologyLevels = 4;
// A node without its clique label stays in its clique this long. The labeller removes the label
// while it restarts, and reads the clique again every ten minutes.
inline constexpr DurationMs kCliqueKeptMs = 10 * kMinuteMs;
// Nodes that one snapshot (`FleetView`) may show differently; a larger one is refused. Enough for
// the largest job with one allocation per node, and the domains that they reserve.
inline constexpr std::size_t kMaxFleetViewNodes = 16'384;

// Pods of one cluster whose node has not been seen: reports of more are refused. Half of it is only
// for pods with GPUs.
inline constexpr std::size_t kMaxEarlyPods = 4096;
// Non-GPU pods that count on one node. Further pods do not count, and the edge learns it.
inline constexpr std::size_t kMaxNonGpuPodsPerNode = 1024;

// Node back-off (`bar`): a node that rejected a pod is not tried for these pods this long, doubled
// with each rejection in a row, until one of them runs there.
inline constexpr DurationMs kFirstNodeBackoffMs = 10'000;  // doubled each time
inline constexpr DurationMs kLongestNodeBackoffMs = 2 * kHourMs;
// After the back-off ends without another rejection: the count starts again
inline constexpr DurationMs kNodeBackoffMemoryMs = 2 * kHourMs;
// Nodes and kinds of pods; more: drops the back-off that would end first
inline constexpr std::size_t kMaxNodeBackoffs = 10'000;

// Shell. A full mailbox refuses: watches stop reading, mutations get RESOURCE_EXHAUSTED.
inline constexpr std::size_t kLoopMailbox = 65'536;
inline constexpr std::size_t kMaxBatchInputs = 4096;      // inputs of one turn
inline constexpr std::size_t kMaxEffectBacklog = 65'536;  // per Effects stream, then it is closed

// The loop looks at the clock at least this often
inline constexpr DurationMs kLoopMaxWaitMs = 1000;
inline constexpr DurationMs kWatchdogPatienceMs = 10'000;  // work without progress: not serving
// Queued for the follower; more: it reads the store
inline constexpr std::size_t kFollowerFacts = 262'144;
inline constexpr std::size_t kTraceFileBytes = 64u << 20;  // input trace: then the next file begins
inline constexpr std::size_t kTraceFiles = 4;              // the oldest goes

// Store.
inline constexpr std::uint64_t kCheckpointEveryFacts = 200'000;
// Per transaction, so that commits get in between
inline constexpr std::size_t kCheckpointChunkFacts = 512;
// A job with more pods than fit in this is stored in several facts
inline constexpr std::size_t kCheckpointPartBytes = 1u << 20;
inline constexpr int kWalPages = 4096;  // 16 MiB, then the log is copied into the file
// Larger stores are read completely only once the service runs
inline constexpr std::int64_t kQuickCheckBytes = 256 << 20;
// A copy that would leave less free space is refused
inline constexpr std::int64_t kSpareDiskBytes = 256 << 20;
inline constexpr int kMaxFactDepth = 16;  // records inside records of a stored fact
// Larger facts are neither read nor written: the commit fails. No accepted input makes one.
inline constexpr std::size_t kMaxFactBytes = 16u << 20;
inline constexpr std::size_t kLedgerAuditPageRows = 10'000;
// The first audit after a start waits this long if it reads more rows than this (about a second of
// work).
inline constexpr std::uint64_t kLedgerAuditAtOnceRows = 200'000;
inline constexpr DurationMs kLedgerAuditWaitMs = kMinuteMs;

// A database (server/store/postgres). A connection without traffic for this long is closed, and the
// outcome of the statement is looked up.
inline constexpr DurationMs kDatabaseReplyMs = 10 * kSecondMs;
// A commit without an answer is retried for ever, after a wait that doubles from the first to the
// most. After this time changes are refused until it is done.
inline constexpr DurationMs kDatabaseSlowMs = 2 * kSecondMs;
inline constexpr DurationMs kDatabaseRetryMs = 50;
inline constexpr DurationMs kMaxDatabaseRetryMs = kSecondMs;
// How long after the begin of a confirmation the leader shows answers without a commit.
inline constexpr DurationMs kLeadTrustedMs = 2 * kSecondMs;
// The period of the leader's heartbeat; and the silence after which its lead is over, by a clock
// that runs while a machine sleeps. Longer than the trust, so that the leader shows nothing by
// then.
inline constexpr DurationMs kHeartbeatMs = 500;
inline constexpr DurationMs kLeaderSilentMs = 3 * kSecondMs;
inline constexpr DurationMs kLeadLookMs = 20;  // between looks of a standby that waits to lead
inline constexpr int kLeadTries = 20;          // to lock the leader's row, half a second each
// How long a read waits for the fact that it names, and how often it looks.
inline constexpr DurationMs kSequenceWaitMs = kSecondMs;
inline constexpr DurationMs kSequenceLookMs = 20;
// Of a client: servers in its configuration, and rounds in which it looks for a leader. All rounds
// together take longer than a leader may be silent.
inline constexpr std::size_t kMaxServers = 16;
inline constexpr int kServerRounds = 10;
inline constexpr DurationMs kServerRoundMs = 500;
inline constexpr DurationMs kServerConnectMs = 2 * kSecondMs;  // then the next one is tried
inline constexpr std::size_t kDatabasePageRows = 4096;  // of facts, ledger, audit: read at a time
inline constexpr std::size_t kCopiedFactsAtOnce =
    10'000;  // from one store to another: a transaction

// Metrics page. More accounts: only the upper levels of the tree that fit, since a parent's figures
// include all below it; `subak_accounts_without_series` counts the rest.
inline constexpr std::size_t kMetricAccounts = 10'000;
// A gang of several shapes is placed pod by pod if one shape after the other fails. The search then
// looks at this many nodes for its pods, and gives up.
inline constexpr std::size_t kPlaceTries = 4'000;
// Nodes of one NVLink domain that a gang may leave for replacements.
inline constexpr std::uint32_t kMaxSpareNodes = 64;
// Empty NVLink domains of one cluster and product that may be left to gangs, and gangs with a
// ComputeDomain in one domain: a larger policy is refused.
inline constexpr std::uint32_t kMaxKeepWhole = 1'000;
inline constexpr std::uint32_t kMaxCliqueGangs = 64;
// Numbers of domains that a balanced gang is tried over, from the least possible.
inline constexpr std::uint32_t kBalancedTries = 64;
// The most domains of a balanced gang.
inline constexpr std::uint32_t kBalancedParts = 1'024;
// The most usual ones of a cluster; the rest is left out
inline constexpr std::size_t kSurveyShapes = 16;
inline constexpr std::size_t kSurveyQueue = 1000;  // jobs at the head whose positions are followed
inline constexpr std::size_t kSurveyExplained = 10;  // of these, jobs whose reasons are counted
// At most this often, and at most a fiftieth of a core
inline constexpr DurationMs kSurveyEveryMs = 15'000;

// Webhook.
inline constexpr std::size_t kMaxReviewBytes = 3u << 20;  // kube-apiserver's own body limit
inline constexpr std::size_t kMaxHttpHeaderBytes = 32u << 10;
inline constexpr std::size_t kMaxHttpDrainBytes = 64u << 20;  // a longer body closes the connection
// Longer than kube-apiserver keeps an idle connection (90 s, client-go's default): the sender must
// close first, or a review in flight is lost.
inline constexpr DurationMs kHttpIdleMs = 120'000;
inline constexpr DurationMs kHttpReadMs = 10'000;
inline constexpr DurationMs kHttpAnswerMs = 5'000;  // of the metrics port: then 503
inline constexpr DurationMs kStopMs = 20'000;       // a stop that takes longer ends the process
inline constexpr std::size_t kMaxHttpConnections = 4096;
// More from one address, or in all: closes the connection that has owed a complete request for
// longest; if all are being answered, the new one
inline constexpr std::size_t kMaxHttpConnectionsPerPeer = 1024;
inline constexpr int kWebhookThreads = 2;
inline constexpr std::size_t kMaxWarnings = 16;    // in one answer: the last one counts the rest
inline constexpr std::size_t kMaxMistakes = 16;    // reported for one pod: the rest is counted
inline constexpr std::size_t kMaxTemplates = 256;  // with GPUs, in one owner of pods: then refused
inline constexpr std::size_t kMaxEchoBytes = 256;  // of a value that a message repeats: then cut
// Of one error on the wire: then cut. A gRPC client accepts trailers of 8 KiB, and these contain
// the message three times.
inline constexpr std::size_t kMaxMessageBytes = 1024;

// The life of the CA and the pair that the service makes itself if it has no other.
inline constexpr DurationMs kOwnCaMs = 3650 * kDayMs;
// The next CA stands in ca.crt beside the old one this long before the end, and Subak reports it.
inline constexpr DurationMs kNextCaMs = 180 * kDayMs;
// The pair changes to the next CA this long before the end, but not before both CAs stood there as
// long. With too little time left (the service was away), it changes this long before the end.
inline constexpr DurationMs kNextPairMs = 90 * kDayMs;
inline constexpr DurationMs kLastPairMs = kDayMs;
inline constexpr DurationMs kOwnCaLookMs = kHourMs;  // how often it checks what is due

// Sockets. The start raises RLIMIT_NOFILE to kWantedFiles, or as far as the system allows. The
// files have to suffice for kOwnFiles, for all connections, and for each listener's reserved and
// leaving ones. If they do not, all connection limits shrink by the same part. A start with room
// for fewer than kMinConnections of a kind is refused.
inline constexpr std::size_t kWantedFiles = 65'536;
inline constexpr std::size_t kOwnFiles = 256;  // store, logs, certificates, gRPC's own
inline constexpr std::size_t kMinConnections = 16;
// More of them: one that has sent nothing is closed, else the new one
inline constexpr std::size_t kMaxGrpcConnections = 4096;
inline constexpr std::size_t kMaxGrpcConnectionsPerPeer = 1024;
inline constexpr DurationMs kGrpcIdleMs = 60'000;       // without a call: gRPC sends GOAWAY
inline constexpr std::size_t kReservedConnections = 8;  // of each listener, for our own probes
// Of each listener, asked to close and not closed yet; more at once: a new connection waits for one
// to close
inline constexpr std::size_t kMaxLeavingConnections = 32;
inline constexpr DurationMs kProbeEveryMs = 2'000;
inline constexpr DurationMs kProbeAnswerMs = 5'000;     // later: not ready
inline constexpr DurationMs kProbePatienceMs = 30'000;  // a listener that is dead this long: exit

// A webhook-only replica. It refuses a larger copy of the leader's data, and keeps the last one.
inline constexpr std::size_t kMaxAdmissionSnapshotBytes = 128u << 20;
// The wait before the next call to the leader: the first of these, doubled each time up to the
// most. A copy resets it to the first.
inline constexpr DurationMs kFollowRetryMs = 250;
inline constexpr DurationMs kMaxFollowRetryMs = 10'000;
// A ping to a silent leader, and the wait for its answer; without one the stream is dead.
inline constexpr DurationMs kFollowPingMs = 10'000;
inline constexpr DurationMs kFollowPongMs = 10'000;
// How long a new replica waits for its first copy before it reports ready without one.
inline constexpr DurationMs kFirstCopyMs = 10'000;

// Idempotency: a request id is stored this long, and at most this many of them. Then the oldest one
// of the caller with most is dropped.
inline constexpr DurationMs kRequestIdLifeMs = kDayMs;
inline constexpr std::size_t kMaxRequestIds = 1'000'000;

// Files that commands read. Longer lines and more rows: the file is refused, with the line.
inline constexpr std::size_t kMaxTraceLineBytes = 64u << 10;
inline constexpr std::size_t kMaxTraceRows = 10'000'000;
inline constexpr std::size_t kMaxInputFileBytes = 1u << 30;  // 50,000 nodes as kubectl prints them
inline constexpr std::size_t kMaxCaseBytes = 64u << 20;      // sim share

// gRPC. A page ends at the first of its limits. Full queues answer RESOURCE_EXHAUSTED; a stream
// that is not read in time ends with it, and the client may open it again.
inline constexpr std::int32_t kDefaultPageSize = 100;
inline constexpr std::int32_t kMaxPageSize = 10'000;
inline constexpr std::size_t kMaxPageBytes = 3u << 20;  // below the usual 4 MiB of clients
inline constexpr int kMaxGrpcMessageBytes = 64 << 20;   // received: the import of a large fleet
// Events of one Observe stream that are not durable yet: then reading pauses
inline constexpr std::size_t kMaxObserveInFlight = 4096;
inline constexpr std::size_t kMaxWatchBacklog = 16'384;  // unsent rows of one WatchJobs stream
inline constexpr std::size_t kMaxStoreReads = 256;       // ledger and audit reads waiting
// Nodes that the reasons of one list page may look at; further rows have none.
inline constexpr std::size_t kMaxNodesLookedAtForList = 50'000;
// Waiting jobs that one queue page may look at; a small account's page may be short.
inline constexpr std::size_t kMaxQueueLookedAt = 10'000;
// The order of the queue: up to this many jobs it is always current. For a longer queue a
// background task computes it, and one snapshot serves reads this long.
inline constexpr std::size_t kQueueOrderedAtOnce = 1'000;
inline constexpr DurationMs kQueueSnapshotMs = 1'000;
// A part of the follower's turn that takes longer is logged, since reads wait for it.
inline constexpr DurationMs kSlowTurnMs = 200;
inline constexpr int kMaxNodesShown = 16;  // of one job outside its pods; the rest is counted
// Reads wait in two lanes, cheap and expensive (`ExpensiveRead`), so that no cheap read waits for
// an expensive one. A full lane: RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxCheapReads = 4096;
inline constexpr std::size_t kMaxExpensiveReads = 256;
inline constexpr std::size_t kMaxReadsPerCaller = 64;    // expensive reads, waiting or running
inline constexpr std::size_t kMaxStreamsPerCaller = 64;  // of each kind of stream: refused
inline constexpr std::size_t kMaxStreams = 1024;         // of each kind, all callers: refused
// Buffered for all watchers together: the stream furthest behind ends
inline constexpr std::size_t kMaxWatchBytes = 64u << 20;
// Of the accounts, in memory for Static streams: the stream that reads the oldest ends
inline constexpr std::size_t kMaxAdmissionSnapshots = 4;
// One of its messages; a longer copy goes in several.
inline constexpr std::size_t kAdmissionSnapshotPartBytes = 1u << 20;
inline constexpr DurationMs kMaxTimeLimitMs = 3660 * kDayMs;  // of a job
// Of the token file: refused. A longer token from a caller is unknown.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokens = 10'000;
inline constexpr std::size_t kMaxTokenBytes = 1024;
// Refusals for lack of rights: an audit row at most this often per caller and subject
inline constexpr DurationMs kDenialAuditEveryMs = kMinuteMs;
inline constexpr std::size_t kMaxDenialsRemembered = 4096;  // more in that time: counted in one row

// The clock. A larger step against the boot-time clock while the service runs is ignored: time
// continues by the monotonic clock.
inline constexpr DurationMs kMaxClockStepMs = 5 * kMinuteMs;
// How long one reading of the wall clock is the base from which later steps are measured.
inline constexpr DurationMs kClockAnchorMs = kHourMs;
// At a start, ahead of the last fact: beyond it the service is not ready until the clock is
// accepted (`admin accept-clock`).
inline constexpr DurationMs kMaxClockAheadMs = 30 * kDayMs;
// Clocks of others. A reporter's clock with at most this error counts as right.
inline constexpr DurationMs kClockErrorMs = kSecondMs;
// Two times of one clock contradict each other from this difference on: kubelets write whole
// seconds.
inline constexpr DurationMs kClockNoiseMs = 2 * kSecondMs;
// A node whose clock is off by this much gets a condition, and counts for the alert.
inline constexpr DurationMs kClockOffMs = 5 * kSecondMs;
// After a start with a leap of time, how long the clock may still prove wrong. Then the charges
// over the leap are returned, and until then no job ends for its time limit. The most rows stored
// for that; further rows are not returned.
inline constexpr DurationMs kClockProofMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxLeapRows = 100'000;
// A database's clock. A sample that took longer is not used. If two samples in a row differ by more
// than the step, the clock has stepped, which is counted.
inline constexpr DurationMs kClockSampleMs = 500;
inline constexpr DurationMs kClockStepMs = kSecondMs;
// Days whose node totals are written one by one when time leaps; earlier days are one sum.
inline constexpr std::int64_t kMaxClosedDays = 400;

// Answers of an API server. A longer line of a watch, or a longer kubeconfig, is refused.
inline constexpr std::size_t kMaxWatchLineBytes = 8u << 20;  // etcd takes objects of 1.5 MiB
inline constexpr std::size_t kMaxKubeconfigBytes = 1u << 20;
// If asked to wait longer before the next call, Subak calls again after this.
inline constexpr DurationMs kMaxRetryAfterMs = kMinuteMs;
// Calls of one cluster at once; more wait for a connection, up to this many: then refused.
inline constexpr std::size_t kKubeCallConnections = 16;
inline constexpr std::size_t kMaxKubeCalls = 16'384;
inline constexpr std::size_t kMaxKubeAnswerBytes = 256u
                                                   << 20;  // a page of 500 objects: then refused
inline constexpr DurationMs kKubeConnectMs = 10'000;       // longer: no answer
inline constexpr DurationMs kKubeCallMs = 30'000;          // longer: no answer
// A watch without a message for this long is dead: bookmarks come about once a minute
inline constexpr DurationMs kWatchSilentMs = 150'000;

// The edge of one cluster. After an error with an object or a list, it retries after the first of
// these, doubled each time up to the most.
inline constexpr DurationMs kEdgeRetryMs = 250;
inline constexpr DurationMs kMaxEdgeRetryMs = 30'000;
inline constexpr std::size_t kListPageObjects = 500;  // of a list that cannot be streamed
inline constexpr std::int64_t kWatchLifeS = 480;      // then the server ends it and Subak continues
// Writes in flight at once: as many as connections. A read waits for the first free one, like the
// next write.
inline constexpr std::size_t kMaxEdgeWrites = kKubeCallConnections;
// Sent to the loop and not durable yet: more waits in the edge, coalesced by object.
inline constexpr std::size_t kMaxEdgePosts = 4096;
// A pod keeps its hold this long if its gate cannot be opened, or if the scheduler cannot place it.
// Then the edge reports it to the core.
inline constexpr DurationMs kReleaseRefusedMs = kMinuteMs;
inline constexpr DurationMs kUnschedulableMs = 10'000;
// How long a gated pod waits for its owner object to appear, which may say how many pods start
// together. Then it is reported without.
inline constexpr DurationMs kOwnerMs = 5'000;
// Namespaces of a cluster whose account is set by a label; more are refused.
inline constexpr std::size_t kMaxLabelledNamespaces = 10'000;
// How often the core learns, and stores, up to when a cluster's changes are known.
inline constexpr DurationMs kSeenUntilEveryMs = kMinuteMs;
// Subak's gates that it opens where it does not manage pods, or not any more.
inline constexpr std::size_t kOpenedPerSecond = 20;
// A job that has waited this long gets an event with the reason, and another when it changes; how
// often a page of waiting jobs is checked.
inline constexpr DurationMs kTellWaitingMs = kMinuteMs;
// Also when its start estimate moved by more than this, and by more than this part of the remaining
// wait.
inline constexpr DurationMs kStartMovedMs = 5 * kMinuteMs;
inline constexpr DurationMs kStartMovedPart = 10;
// An Event lives an hour (kube-apiserver --event-ttl). If it still holds, it is recorded again
// after this.
inline constexpr DurationMs kTellAgainMs = 45 * kMinuteMs;
inline constexpr DurationMs kLookWaitingMs = 2'000;
// Best-effort writes in the cluster, of all objects together; more wait, in order.
inline constexpr std::size_t kEventsPerSecond = 20;
inline constexpr std::size_t kMaxWaitingEvents = 4096;  // that wait: then the oldest is dropped
// How long a stop waits to remove the leader label from Subak's pod.
inline constexpr DurationMs kPodLabelStopMs = kSecondMs;

// A command that reads a cluster with an operator's kubeconfig requests pages of this size. A kind
// with more objects than this is refused, as is a server whose list never ends.
inline constexpr std::size_t kOperatorPage = 500;
inline constexpr std::size_t kMaxOperatorObjects = 2'000'000;

// Subak's credentials at an API server. A longer token file, or exec plugin output, is refused. A
// plugin that takes longer is killed with all processes that it started.
inline constexpr std::size_t kMaxCredentialBytes = 256u << 10;
inline constexpr DurationMs kExecPluginMs = 30'000;
// A token file is read again, as client-go does.
inline constexpr DurationMs kTokenFileMs = kMinuteMs;
// Renewed this long before it expires, but not sooner than this after the last time.
inline constexpr DurationMs kCredentialEarlyMs = 30'000;
inline constexpr DurationMs kCredentialAgainMs = 10'000;

}  // namespace subak::limits
