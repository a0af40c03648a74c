// Every limit of the service, by name. What happens when one is reached is written beside it and
// tested.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// Names and texts from outside. Longer: refused with the field and this number.
inline constexpr std::size_t kMaxNameBytes = 253;     // Kubernetes object name
inline constexpr std::size_t kMaxReasonBytes = 1024;  // --reason of an edit
inline constexpr std::size_t kMaxAccountDepth = 16;   // levels below the root
inline constexpr std::size_t kMaxAccounts = 100'000;  // accounts and users together: then refused
inline constexpr std::size_t kMaxNamespacesPerAccount = 1024;
inline constexpr std::int64_t kMaxShares = 1'000'000'000;  // of one account: then refused
// Levels of a written tree (sim share): refused
inline constexpr std::uint32_t kMaxShareTreeDepth = 256;

// Jobs. More: the submission is refused with RESOURCE_EXHAUSTED; gated pods stay gated and are
// retried.
inline constexpr std::size_t kMaxQueuedJobs = 1'000'000;
inline constexpr std::uint32_t kMaxPodsPerJob = 10'000;
inline constexpr std::int64_t kMaxGpusPerPod = 64;
inline constexpr std::size_t kMaxSelectorTerms = 64;  // per pod, selectors + affinity + tolerations
inline constexpr std::size_t kMaxBatchJobs = 1000;    // BatchCreateJobs
inline constexpr MilliGpu kMaxMilliGpu = 1'000'000'000;  // 10^6 GPUs in any one quantity

// Ended jobs that can still be asked for; then the oldest is forgotten (the ledger is not)
inline constexpr std::size_t kDoneJobsKept = 10'000;

// One scheduling pass: bounded by counts, never by the clock. What is left waits for the next pass,
// which is due at once.
inline constexpr std::size_t kMaxStartsPerPass = 4096;
inline constexpr std::size_t kMaxFitChecksPerPass = 65'536;

// Fleet.
inline constexpr std::size_t kMaxNodes = 200'000;
inline constexpr std::size_t kMaxGpusPerNode = 64;

// Shell. A full mailbox refuses: watches stop reading, mutations get RESOURCE_EXHAUSTED.
inline constexpr std::size_t kLoopMailbox = 65'536;
inline constexpr std::size_t kFollowerMailbox = 65'536;
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
inline constexpr int kWalPages = 4096;  // 16 MiB, then the log is copied into the file
// Larger files: only the small tables on open
inline constexpr std::int64_t kQuickCheckBytes = 256 << 20;
// A copy that would leave less free is refused
inline constexpr std::int64_t kSpareDiskBytes = 256 << 20;
inline constexpr int kMaxFactDepth = 16;  // records inside records of a stored fact
inline constexpr std::size_t kMaxFactBytes = 16u << 20;
inline constexpr std::size_t kLedgerAuditPageRows = 10'000;

// Metrics page. More accounts: only whole levels of the tree that fit, since a parent's figures
// include all below it; `subak_accounts_without_series` says how many are left out.
inline constexpr std::size_t kMetricAccounts = 10'000;
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
inline constexpr DurationMs kHttpIdleMs = 90'000;
inline constexpr DurationMs kHttpReadMs = 10'000;
inline constexpr DurationMs kHttpAnswerMs = 5'000;  // of the metrics port: then 503
inline constexpr DurationMs kStopMs = 20'000;       // a stop that takes longer ends the process
inline constexpr std::size_t kMaxHttpConnections = 4096;

// Idempotency: a request id is remembered for this long, and at most this many of them.
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
inline constexpr std::size_t kMaxPageBytes = 3u << 20;    // below the usual 4 MiB of clients
inline constexpr int kMaxGrpcMessageBytes = 64 << 20;     // received: the import of a large fleet
inline constexpr std::size_t kMaxObserveInFlight = 4096;  // events of one stream not yet durable
inline constexpr std::size_t kMaxWatchBacklog = 16'384;  // rows that one WatchJobs stream waits for
inline constexpr std::size_t kMaxStoreReads = 256;       // ledger and audit reads waiting
inline constexpr DurationMs kMaxTimeLimitMs = 3660 * kDayMs;  // of a job
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokens = 10'000;

}  // namespace subak::limits
