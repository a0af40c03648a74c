// Every limit of the service, by name. What happens when one is reached is written beside it and
// tested. Units are in the names: Ms milliseconds, Bytes bytes, MilliGpu; else a count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// Names and texts from outside. Longer: refused with the field and this number.
inline constexpr std::size_t kMaxNameBytes = 253;     // Kubernetes object name
inline constexpr std::size_t kMaxReasonBytes = 1024;  // --reason of an edit
inline constexpr std::size_t kMaxAccountDepth = 16;   // levels below the root
// Accounts and users together: then refused; but where there are few below an account, as far as the reserve.
inline constexpr std::size_t kMaxAccounts = 100'000;
inline constexpr std::size_t kAccountsReserve = 10'000;
inline constexpr std::size_t kMaxNamespacesPerAccount = 1024;
inline constexpr std::size_t kMaxProductsPerAccount = 256;  // with a quota or limit of their own
inline constexpr std::size_t kMaxNamespaceModes = 10'000;   // of one cluster: then refused
inline constexpr std::int64_t kMaxShares = 1'000'000'000;   // of one account: then refused
// Levels of a written tree (sim share): refused
inline constexpr std::uint32_t kMaxShareTreeDepth = 256;

// Jobs that wait. More: the submission is refused with RESOURCE_EXHAUSTED; but accounts that have few may go on as far
// as the reserve (accounting/shared_bound.h).
inline constexpr std::size_t kMaxQueuedJobs = 1'000'000;
inline constexpr std::size_t kQueuedJobsReserve = 100'000;
// Pods that wait behind our gates in one cluster, likewise. One more stays gated and is no part of a job yet: its edge
// tells it again until there is room.
inline constexpr std::size_t kMaxGatedPods = 100'000;
inline constexpr std::size_t kGatedPodsReserve = 10'000;
// How often an edge tells such pods again, and how many at first: as long as they are taken, more at once.
inline constexpr DurationMs kPutOffRetryMs = 5'000;
inline constexpr std::size_t kPutOffRetries = 16;
inline constexpr std::uint32_t kMaxPodsPerJob = 10'000;
inline constexpr std::int64_t kMaxGpusPerPod = 64;
// What one pod, one job and one node may carry. Webhook, Observe, API and import share these by way
// of engine/bounds.h: what the gate lets pass, the engine takes, and what the engine takes, the
// next start reads. More: refused with the field, the value (cut) and the limit.
inline constexpr std::size_t kMaxSelectorTerms = 64;  // per pod, selectors + affinity + tolerations
inline constexpr std::size_t kMaxTermValues = 64;     // values of one requirement
inline constexpr std::size_t kMaxPodListItems = 64;   // host ports, resources, products of a pod
inline constexpr std::size_t kMaxNodeListItems = 1024;  // labels, taints, resources of a node
inline constexpr std::size_t kMaxTextBytes = 512;       // any key or value in a request or node
inline constexpr std::size_t kMaxPodRequestBytes = 16u << 10;  // one pod's request, as stored
inline constexpr std::size_t kMaxJobRequestBytes = 2u << 20;   // a whole gang's, as stored
inline constexpr std::size_t kMaxNodeBytes = 256u << 10;       // one node, as stored
inline constexpr std::int64_t kMaxCpuMilli = 1'000'000'000;    // 10^6 cores in one pod or node
inline constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 50;    // 1Pi in one pod or node
inline constexpr std::int64_t kMaxResourceCount = std::int64_t{1} << 50;  // some count bytes
inline constexpr TimeMs kMaxTimeMs = 253'402'300'799'999;  // the end of the year 9999
inline constexpr std::size_t kMaxBatchJobs = 1000;         // BatchCreateJobs
inline constexpr MilliGpu kMaxMilliGpu = 1'000'000'000;    // 10^6 GPUs in any one quantity

// A gang of which no pod is left waits this long for its controller to make them anew; then it is
// done. Longer than a Kubernetes Job's longest back-off (10 minutes).
inline constexpr DurationMs kGangReturnMs = 15 * kMinuteMs;
// Pods of a gang that come only when the first of them run (in::GangSeen) have this long from its start
// until all are bound, or the policy's hold if that is longer; then the attempt is over, as any that is
// not bound in time. It takes time to load a model.
inline constexpr DurationMs kLateMembersMs = 30 * kMinuteMs;
// A job whose gates could not be opened waits before its next attempt: first, and doubled each time
// up to the most.
inline constexpr DurationMs kReleaseRetryMs = 10 * kSecondMs;
inline constexpr DurationMs kMaxReleaseRetryMs = 2 * kHourMs;

// A job of which the cluster's scheduler refused pods on two nodes waits before its next attempt, likewise. On
// one of these nodes it is not tried again for as long, counted by node.
inline constexpr DurationMs kFirstBackoffMs = 10 * kSecondMs;
inline constexpr DurationMs kLongestBackoffMs = 10 * kMinuteMs;
// Names of extended resources of a cluster that the webhook knows; of others it warns nobody.
inline constexpr std::size_t kMaxResourceNames = 1024;
// Of the scheduler's words; an edge cuts more, else they are refused.
inline constexpr std::size_t kMaxRefusalBytes = 1024;

// A job that is asked to end since it has had its time limit is taken to be gone so much later: twice
// the usual terminationGracePeriodSeconds.
inline constexpr DurationMs kEndingMs = kMinuteMs;
// Each time that a job is still there at the end that it was taken to have, that end is put off to twice
// as long after its start, so many times; then it is taken to stay.
inline constexpr std::uint32_t kMaxOverruns = 24;

// Ended jobs that can still be asked for; then the oldest is forgotten (the ledger is not)
inline constexpr std::size_t kDoneJobsKept = 10'000;

// One scheduling pass: bounded by counts, never by the clock. What is left waits for the next pass,
// which is due at once.
inline constexpr std::size_t kMaxStartsPerPass = 4096;
inline constexpr std::size_t kMaxFitChecksPerPass = 65'536;
// Times at which planned drains of a cluster begin that a promised start is looked for between; nodes with a
// later one count as drained then.
inline constexpr std::size_t kMaxDrainTimes = 8;
// Rounds of one pass: a reservation that moves, or whose job starts, gives others another chance.
inline constexpr std::size_t kMaxPassRounds = 32;
// Jobs that one round looks at to use kept nodes until they are needed, in the order. Those further
// behind wait for another round: Slurm bounds its backfill the same way (bf_max_job_test).
inline constexpr std::size_t kMaxFillLooks = 1000;
// A reservation moves earlier by no less than this, and than one part in so many of the time that it was
// to take when it was made: each move is a fact with all its nodes.
inline constexpr DurationMs kReserveGainMs = kMinuteMs;
inline constexpr DurationMs kReserveGainPart = 64;
// Jobs of one cluster that nodes may be kept for at the same time: a larger policy is refused.
inline constexpr std::uint32_t kMaxReserveJobs = 64;

// Live jobs and nodes together up to which a read plays the next pass on a copy, to say who starts
// in it. More: it says that nobody has looked yet.
inline constexpr std::size_t kMaxRehearsed = 500;

// The forecast of starts: it looks so far ahead, and at so many starts; who starts later has only a time
// before which it does not.
inline constexpr DurationMs kForecastAheadMs = 30 * kDayMs;
inline constexpr std::size_t kForecastStarts = 50'000;
// It keeps where jobs start, and until when, as long as it has room for so many pairs of job and node: of those
// that start first. Of the others only the time is known.
inline constexpr std::size_t kForecastPlaces = 65'536;
// Jobs that wait and whose told start is followed, to see how it comes: more are not. And of how many that
// came the odds are made, for each horizon: the newest.
inline constexpr std::size_t kToldStarts = 10'000;
inline constexpr std::size_t kToldOutcomes = 500;
// A forecast is made anew at most so often, and so rarely that it takes a twentieth of a core at most; one
// that takes longer than that is cut short. Up to so many live jobs and nodes a read has it made at once.
inline constexpr DurationMs kForecastEveryMs = 10'000;
inline constexpr DurationMs kForecastIdleMs = kMinuteMs;  // where nothing but time has changed
inline constexpr DurationMs kForecastRest = 20;
inline constexpr DurationMs kForecastMs = 20'000;
inline constexpr std::size_t kForecastAtOnce = 1'000;
// What a forecast is made of is copied in slices of so many jobs and pods, some milliseconds each; the reading
// side answers reads between two of them.
inline constexpr std::size_t kForecastCopySlice = 1'000;
// Changes of a job that are put to a forecast when it is asked how it would start sooner; up to so many
// live jobs and nodes. More: refused.
inline constexpr std::size_t kMaxAlternatives = 8;
inline constexpr std::size_t kMaxAlternativesSize = 5'000;
// The fleet by time: so far ahead where nobody says how far, and at most so much of it in one answer, which
// keeps that below kMaxPageBytes: rows, columns of each, lanes of each kind in a row, and jobs beside them.
inline constexpr DurationMs kPlanAheadMs = kDayMs;
inline constexpr DurationMs kLeastPlanMs = 10 * kMinuteMs;
inline constexpr std::int32_t kMaxPlanRows = 200;
inline constexpr std::int32_t kMaxPlanColumns = 200;
inline constexpr std::int32_t kMaxPlanLanes = 4;
inline constexpr std::int32_t kMaxPlanJobs = 1'000;
// A job without any limit, of which no other like it is known, is taken to run so long.
inline constexpr DurationMs kGuessedRunMs = kDayMs;

// Pods with GPUs that wait for a node without us, of all clusters, which are remembered so that
// `queue --would` can tell of them. More are passed over until there is room, and it says so.
inline constexpr std::size_t kMaxPendingPods = 10'000;
// Live jobs, nodes and such pods together up to which it is told. More: refused.
inline constexpr std::size_t kMaxWouldQueue = 150'000;

// Jobs, pods or nodes that a reason names as being in the way (Reason::blockers): the first of them.
inline constexpr std::size_t kMaxBlockers = 8;

// The books. What runs on is charged day by day: a UTC day is closed this long after its midnight,
// so that an end that is reported late still counts in its own day. At most so many rows of it in
// one turn; the rest comes in the next turns, which are due at once.
inline constexpr DurationMs kDayOpenMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxCutRowsPerTurn = 4096;

// Fleet.
inline constexpr std::size_t kMaxNodes = 200'000;  // at once, in all clusters: a new one is refused
// Ever: an id is not given twice. A new node more is refused.
inline constexpr std::uint32_t kMaxNodeIds = 800'000;
inline constexpr std::size_t kMaxClusters = 1000;    // a new one more is refused
inline constexpr std::size_t kMaxProducts = 10'000;  // GPU products ever named: then refused
inline constexpr std::size_t kMaxGpusPerNode = 64;
// Groups that a node stands in, one in the other: rack, block, superpod and one more.
inline constexpr std::size_t kTopologyLevels = 4;
// A node whose clique label is gone stays in its clique for so long: what makes the label takes it away
// while it restarts, and asks for the clique anew every ten minutes.
inline constexpr DurationMs kCliqueKeptMs = 10 * kMinuteMs;
// Nodes that one picture may show otherwise than they are. More: that picture is refused. Enough
// for the allocations of the largest job, one on each node, and the domains that they keep.
inline constexpr std::size_t kMaxPictureNodes = 16'384;

// Pods of one cluster whose node has not been seen: what was said of more is refused. Half of it is
// for pods with GPUs alone.
inline constexpr std::size_t kMaxEarlyPods = 4096;
// Pods without GPUs that count on one node. More: the edge is told, and they do not.
inline constexpr std::size_t kMaxLightPodsPerNode = 1024;

// A node that turned a pod away is not tried for such pods for so long: longer with each time in a
// row, until one of them runs there.
inline constexpr DurationMs kFirstBarMs = 10'000;  // doubled each time
inline constexpr DurationMs kLongestBarMs = 2 * kHourMs;
// After the bar's end without another: the times are counted anew
inline constexpr DurationMs kBarMemoryMs = 2 * kHourMs;
// Nodes and kinds of pods; more: the one that would be forgotten first is forgotten now
inline constexpr std::size_t kMaxBars = 10'000;

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
// A job with more pods than fit in this is kept in several facts
inline constexpr std::size_t kCheckpointPartBytes = 1u << 20;
inline constexpr int kWalPages = 4096;  // 16 MiB, then the log is copied into the file
// Larger stores are read whole only once the service runs
inline constexpr std::int64_t kQuickCheckBytes = 256 << 20;
// A copy that would leave less free is refused
inline constexpr std::int64_t kSpareDiskBytes = 256 << 20;
inline constexpr int kMaxFactDepth = 16;  // records inside records of a stored fact
// Not read, so not written either: the commit ends with an error. No accepted input makes one.
inline constexpr std::size_t kMaxFactBytes = 16u << 20;
inline constexpr std::size_t kLedgerAuditPageRows = 10'000;
// The first audit after a start waits so long if it reads more rows than these (a second of work or so).
inline constexpr std::uint64_t kLedgerAuditAtOnceRows = 200'000;
inline constexpr DurationMs kLedgerAuditWaitMs = kMinuteMs;

// A database (server/store/postgres). Nothing came or went on a line for so long: it is cut, and what became of
// the statement is looked up.
inline constexpr DurationMs kDatabaseReplyMs = 10 * kSecondMs;
// A commit without an answer is tried again for ever, after a wait that doubles from the first to the most. Once it
// has waited for so long, changes are refused until it is done.
inline constexpr DurationMs kDatabaseSlowMs = 2 * kSecondMs;
inline constexpr DurationMs kDatabaseRetryMs = 50;
inline constexpr DurationMs kMaxDatabaseRetryMs = kSecondMs;
// Whoever leads shows answers without a commit for so long after a confirmation of it began.
inline constexpr DurationMs kLeadTrustedMs = 2 * kSecondMs;
// Its sign of life comes so often; who shows none for so long is taken to lead no longer, by a clock that goes on
// while a machine sleeps. Longer than the trust, so that it shows nothing any more then.
inline constexpr DurationMs kBeatMs = 500;
inline constexpr DurationMs kLeaderSilentMs = 3 * kSecondMs;
inline constexpr DurationMs kLeadLookMs = 20;  // between looks of who waits to lead
inline constexpr int kLeadTries = 20;          // to lock the row of who leads, half a second each
// A read that names the fact it wants to see waits for so long, and looks so often.
inline constexpr DurationMs kSequenceWaitMs = kSecondMs;
inline constexpr DurationMs kSequenceLookMs = 20;
// Of a client: servers that it is given, and rounds in which it looks for one that leads. All rounds together are
// longer than a leader may be silent.
inline constexpr std::size_t kMaxServers = 16;
inline constexpr int kServerRounds = 10;
inline constexpr DurationMs kServerRoundMs = 500;
inline constexpr DurationMs kServerConnectMs = 2 * kSecondMs;  // then the next one is tried
inline constexpr std::size_t kDatabasePageRows = 4096;  // of facts, ledger, audit: read at a time
inline constexpr std::size_t kCopiedFactsAtOnce =
    10'000;  // from one store to another: a transaction

// Metrics page. More accounts: only whole levels of the tree that fit, since a parent's figures
// include all below it; `subak_accounts_without_series` says how many are left out.
inline constexpr std::size_t kMetricAccounts = 10'000;
// A gang of several shapes is put pod by pod where one shape after the other finds no place: so many
// nodes are looked at for its pods, then there is none.
inline constexpr std::size_t kPlaceTries = 4'000;
// Nodes of one NVLink domain that a gang may leave for replacements.
inline constexpr std::uint32_t kMaxSpareNodes = 64;
// Empty NVLink domains of one cluster and product that may be left to gangs, and gangs with a ComputeDomain that
// may be allowed in one: a larger policy is refused.
inline constexpr std::uint32_t kMaxKeepWhole = 1'000;
inline constexpr std::uint32_t kMaxCliqueGangs = 64;
// A balanced gang is tried over so many numbers of domains, from the least that may do.
inline constexpr std::uint32_t kBalancedTries = 64;
// It is never over more.
inline constexpr std::uint32_t kBalancedParts = 1'024;
// Of a cluster, the most usual: the rest is left out
inline constexpr std::size_t kSurveyShapes = 16;
inline constexpr std::size_t kSurveyQueue = 1000;  // jobs at the head whose positions are followed
inline constexpr std::size_t kSurveyExplained = 10;  // of these, whose reasons are counted
// At most this often, and at most a fiftieth of a core
inline constexpr DurationMs kSurveyEveryMs = 15'000;

// Webhook.
inline constexpr std::size_t kMaxReviewBytes = 3u << 20;  // kube-apiserver's own body limit
inline constexpr std::size_t kMaxHttpHeaderBytes = 32u << 10;
inline constexpr std::size_t kMaxHttpDrainBytes = 64u << 20;  // a longer body closes the connection
// Longer than kube-apiserver keeps an idle connection (90 s, client-go's default): who closes first
// must be the one that sends, or a review is lost that was just under way.
inline constexpr DurationMs kHttpIdleMs = 120'000;
inline constexpr DurationMs kHttpReadMs = 10'000;
inline constexpr DurationMs kHttpAnswerMs = 5'000;  // of the metrics port: then 503
inline constexpr DurationMs kStopMs = 20'000;       // a stop that takes longer ends the process
inline constexpr std::size_t kMaxHttpConnections = 4096;
// More from one address, or more in all: the connection goes that has owed us a whole request for
// longest; if all are being answered, the new one is closed
inline constexpr std::size_t kMaxHttpConnectionsPerPeer = 1024;
inline constexpr int kWebhookThreads = 2;
inline constexpr std::size_t kMaxWarnings = 16;    // of one answer: the rest is counted in the last
inline constexpr std::size_t kMaxMistakes = 16;    // told of one pod: the rest is counted
inline constexpr std::size_t kMaxTemplates = 256;  // with GPUs, in one owner of pods: then refused
inline constexpr std::size_t kMaxEchoBytes = 256;  // of a value that a message repeats: then cut
// Of one error as it leaves: then cut. A gRPC client takes trailers of 8 KiB, in which the message
// is told three times.
inline constexpr std::size_t kMaxMessageBytes = 1024;

// The CA and the pair that the service makes itself, as it has no other, live so long.
inline constexpr DurationMs kOwnCaMs = 3650 * kDayMs;
// So long before they end the next CA stands in ca.crt beside the old one, and people are told.
inline constexpr DurationMs kNextCaMs = 180 * kDayMs;
// The pair changes to it so long before the end, but not before both have stood there for as long; where
// too little time is left for that (the service was away), so long before the end.
inline constexpr DurationMs kNextPairMs = 90 * kDayMs;
inline constexpr DurationMs kLastPairMs = kDayMs;
inline constexpr DurationMs kOwnCaLookMs = kHourMs;  // how often it is asked what is due

// Sockets. RLIMIT_NOFILE is raised to kWantedFiles at the start, or as far as the system lets us.
// Where it is less than kOwnFiles, all connections and what is reserved need, all limits of
// connections shrink alike; a start that could not hold kMinConnections of each kind is refused.
inline constexpr std::size_t kWantedFiles = 65'536;
inline constexpr std::size_t kOwnFiles = 256;  // store, logs, certificates, gRPC's own
inline constexpr std::size_t kMinConnections = 16;
// More of them: one that has not said a word goes, else the new one is closed
inline constexpr std::size_t kMaxGrpcConnections = 4096;
inline constexpr std::size_t kMaxGrpcConnectionsPerPeer = 1024;
inline constexpr DurationMs kGrpcIdleMs = 60'000;       // without a call: gRPC says goodbye
inline constexpr std::size_t kReservedConnections = 8;  // of each listener, for our own probes
// Of each listener, told to go and not yet closed; more at once: who is to come waits until one has
inline constexpr std::size_t kMaxLeavingConnections = 32;
inline constexpr DurationMs kProbeEveryMs = 2'000;
inline constexpr DurationMs kProbeAnswerMs = 5'000;     // later: not ready
inline constexpr DurationMs kProbePatienceMs = 30'000;  // a listener that is dead this long: exit

// A webhook-only replica. A larger copy of what the leader knows is refused, and the last one stays.
inline constexpr std::size_t kMaxStaticCopyBytes = 128u << 20;
// The leader is asked again after the first of these, doubled each time up to the most; after a copy
// that was taken from the first.
inline constexpr DurationMs kFollowRetryMs = 250;
inline constexpr DurationMs kMaxFollowRetryMs = 10'000;
// A leader that says nothing is asked whether it is there; no answer: the stream is dead.
inline constexpr DurationMs kFollowPingMs = 10'000;
inline constexpr DurationMs kFollowPongMs = 10'000;
// So long a new replica waits for its first copy before it says that it is ready without one.
inline constexpr DurationMs kFirstCopyMs = 10'000;

// Idempotency: a request id is remembered for this long, and at most this many of them: then the
// oldest of the caller who has most is forgotten.
inline constexpr DurationMs kRequestIdLifeMs = kDayMs;
inline constexpr std::size_t kMaxRequestIds = 1'000'000;

// Files that commands read. Longer lines and more rows: the file is refused, with the line.
inline constexpr std::size_t kMaxTraceLineBytes = 64u << 10;
inline constexpr std::size_t kMaxTraceRows = 10'000'000;
inline constexpr std::size_t kMaxInputFileBytes = 1u << 30;  // 50,000 nodes as kubectl prints them
inline constexpr std::size_t kMaxCaseBytes = 64u << 20;      // sim share

// GRPC. A page ends at whichever of its limits comes first. Full queues answer RESOURCE_EXHAUSTED;
// a stream that is not read in time is ended with it and may be asked for again.
inline constexpr std::int32_t kDefaultPageSize = 100;
inline constexpr std::int32_t kMaxPageSize = 10'000;
inline constexpr std::size_t kMaxPageBytes = 3u << 20;  // below the usual 4 MiB of clients
inline constexpr int kMaxGrpcMessageBytes = 64 << 20;   // received: the import of a large fleet
// Events of one Observe stream that are not durable yet: then it is not read further
inline constexpr std::size_t kMaxObserveInFlight = 4096;
inline constexpr std::size_t kMaxWatchBacklog = 16'384;  // unsent rows of one WatchJobs stream
inline constexpr std::size_t kMaxStoreReads = 256;       // ledger and audit reads waiting
// Nodes looked at for the reasons of one page of a list; rows beyond have none.
inline constexpr std::size_t kMaxNodesLookedAtForList = 50'000;
// Waiting jobs looked at for one page of the queue: of a small account's it may come out short.
inline constexpr std::size_t kMaxQueueLookedAt = 10'000;
// The order of the queue: up to so many jobs it is always that of the moment. Of a longer queue it
// is made beside the reads, and one picture of it serves them for so long.
inline constexpr std::size_t kQueueOrderedAtOnce = 1'000;
inline constexpr DurationMs kQueuePictureMs = 1'000;
inline constexpr int kMaxNodesShown = 16;  // of one job outside its pods; the rest is counted
// Reads wait in lanes, so that a cheap one is never behind a dear one.
// A full lane: RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxCheapReads = 4096;
inline constexpr std::size_t kMaxDearReads = 256;
inline constexpr std::size_t kMaxReadsPerCaller = 64;    // dear ones waiting or running
inline constexpr std::size_t kMaxStreamsPerCaller = 64;  // of each kind of stream: refused
inline constexpr std::size_t kMaxStreams = 1024;         // of each kind, all callers: refused
// Buffered for all watchers together: the one that is furthest behind is ended
inline constexpr std::size_t kMaxWatchBytes = 64u << 20;
// Of the accounts, in memory for Static streams: whoever still reads the oldest is ended
inline constexpr std::size_t kMaxStaticCopies = 4;
// One of its messages; a longer copy goes in several.
inline constexpr std::size_t kStaticPartBytes = 1u << 20;
inline constexpr DurationMs kMaxTimeLimitMs = 3660 * kDayMs;  // of a job
// Of the token file: refused. A longer token that a caller shows is unknown.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokens = 10'000;
inline constexpr std::size_t kMaxTokenBytes = 1024;
// Refusals for lack of rights: an audit row at most this often per caller and subject
inline constexpr DurationMs kDenialAuditEveryMs = kMinuteMs;
inline constexpr std::size_t kMaxDenialsRemembered = 4096;  // more in that time: counted in one row

// The clock. A step against the boot-time clock of more than this while the service runs is not
// taken: time runs on by the monotonic clock.
inline constexpr DurationMs kMaxClockStepMs = 5 * kMinuteMs;
// Steps are measured from where the wall clock was this long ago
inline constexpr DurationMs kClockAnchorMs = kHourMs;
// At a start, ahead of the last fact: beyond it the service is not ready until the clock is
// accepted (`admin accept-clock`).
inline constexpr DurationMs kMaxClockAheadMs = 30 * kDayMs;
// Clocks of others. A reporter's clock that is off by no more than this counts as right.
inline constexpr DurationMs kClockErrorMs = kSecondMs;
// Two times of one clock contradict each other from here on: kubelets write whole seconds.
inline constexpr DurationMs kClockNoiseMs = 2 * kSecondMs;
// A node whose clock is off by so much has it in its condition, and counts for the alert.
inline constexpr DurationMs kClockOffMs = 5 * kSecondMs;
// So long after a start with a leap of time the clock may still prove wrong: what was charged over the leap is given
// back then, and until then nobody is ended for a time limit. Rows that are remembered for that; more
// are not given back.
inline constexpr DurationMs kClockProofMs = 10 * kMinuteMs;
inline constexpr std::size_t kMaxLeapRows = 100'000;
// A database's clock. A sample that was under way for longer is not used; two that follow each other are further apart
// than that: it has stepped, which is counted.
inline constexpr DurationMs kClockSampleMs = 500;
inline constexpr DurationMs kClockStepMs = kSecondMs;
// Days of which each node's totals are written one by one when time leaps; what is before them is one sum.
inline constexpr std::int64_t kMaxClosedDays = 400;

// What an API server says. A longer line of a watch, or a longer kubeconfig, is refused.
inline constexpr std::size_t kMaxWatchLineBytes = 8u << 20;  // etcd takes objects of 1.5 MiB
inline constexpr std::size_t kMaxKubeconfigBytes = 1u << 20;
// Asked to wait longer before the next call: it is asked again after this.
inline constexpr DurationMs kMaxRetryAfterMs = kMinuteMs;
// Calls of one cluster at once; more wait for a connection, up to so many: then refused.
inline constexpr std::size_t kKubeCallConnections = 16;
inline constexpr std::size_t kMaxKubeCalls = 16'384;
inline constexpr std::size_t kMaxKubeAnswerBytes = 256u
                                                   << 20;  // a page of 500 objects: then refused
inline constexpr DurationMs kKubeConnectMs = 10'000;       // longer: no answer
inline constexpr DurationMs kKubeCallMs = 30'000;          // longer: no answer
// A watch on which nothing comes for so long is dead: bookmarks come about once a minute
inline constexpr DurationMs kWatchSilentMs = 150'000;

// The edge of one cluster. What goes wrong with an object, or with a list, is tried again after the
// first of these, doubled each time up to the most.
inline constexpr DurationMs kEdgeRetryMs = 250;
inline constexpr DurationMs kMaxEdgeRetryMs = 30'000;
inline constexpr std::size_t kListPageObjects = 500;  // of a list that cannot be streamed
inline constexpr std::int64_t kWatchLifeS = 480;      // then the server ends it and we go on
// Writes under way at once: as many as there are connections. A read waits for the first of them that
// is free, like the next write.
inline constexpr std::size_t kMaxEdgeWrites = kKubeCallConnections;
// Told to the loop and not durable yet: more waits in the edge, folded by object.
inline constexpr std::size_t kMaxEdgePosts = 4096;
// A gate that cannot be opened, and a pod whose way the scheduler does not find, keep their place for
// so long; then the core is told.
inline constexpr DurationMs kReleaseRefusedMs = kMinuteMs;
inline constexpr DurationMs kUnschedulableMs = 10'000;
// A gated pod waits so long for the object that makes it to be seen, as that may say how many start
// together; then it is told as it is.
inline constexpr DurationMs kOwnerMs = 5'000;
// Namespaces of a cluster that name their account by a label; more are refused.
inline constexpr std::size_t kMaxLabelledNamespaces = 10'000;
// How often the core is told, and keeps, up to when it is known what happened in a cluster.
inline constexpr DurationMs kSeenUntilEveryMs = kMinuteMs;
// Gates of ours that are opened where we do not manage pods, or not any more.
inline constexpr std::size_t kOpenedPerSecond = 20;
// A job that has waited for so long is told why, and again when the reason changes; a page of those
// that wait is looked at so often.
inline constexpr DurationMs kTellWaitingMs = kMinuteMs;
// Also when its start is another than was told by more than this, and by more than one part in so many of
// what is left to wait.
inline constexpr DurationMs kStartMovedMs = 5 * kMinuteMs;
inline constexpr DurationMs kStartMovedPart = 10;
// An Event is kept for an hour (kube-apiserver --event-ttl). What still holds is told again so much later.
inline constexpr DurationMs kTellAgainMs = 45 * kMinuteMs;
inline constexpr DurationMs kLookWaitingMs = 2'000;
// What people are told in the cluster, of all objects together; more waits, in order.
inline constexpr std::size_t kToldPerSecond = 20;
inline constexpr std::size_t kMaxTold = 4096;  // that wait: then the oldest goes untold
// A stop waits so long for the label of who leads to be taken off our pod.
inline constexpr DurationMs kPodLabelStopMs = kSecondMs;

// A command that reads a cluster with an operator's kubeconfig asks for pages of so many objects; a kind
// of which there are more than that is refused, as is a server whose list never ends.
inline constexpr std::size_t kOperatorPage = 500;
inline constexpr std::size_t kMaxOperatorObjects = 2'000'000;

// Who we are at an API server. A longer token file, or more than that from an exec plugin, is refused;
// a plugin that takes longer is killed with all that it has started.
inline constexpr std::size_t kMaxCredentialBytes = 256u << 10;
inline constexpr DurationMs kExecPluginMs = 30'000;
// A token file is read again, as client-go does.
inline constexpr DurationMs kTokenFileMs = kMinuteMs;
// Renewed so long before it expires, but not again before so long after the last time.
inline constexpr DurationMs kCredentialEarlyMs = 30'000;
inline constexpr DurationMs kCredentialAgainMs = 10'000;

}  // namespace subak::limits
