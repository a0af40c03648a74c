#include "tools/demo_edge/checks/checks.h"

#include <set>
#include <tuple>

#include "subak/v1/usage_service.grpc.pb.h"

namespace subak::demo {
namespace {

using Allocation = std::tuple<std::string, int, int>;  // job, rank, attempt

std::int64_t milligpu_ms(const v1::GpuTime& t) {
  return t.gpu_seconds() * 1'000'000 + t.rest_milligpu_ms();
}

std::int64_t ms_of(const google::protobuf::Timestamp& t) {
  return t.seconds() * 1000 + t.nanos() / 1'000'000;
}

std::string text_of(const v1::GpuTime& t) {
  return milligpu_ms(t) == 0 ? "0" : std::to_string(milligpu_ms(t)) + " mGPU-ms";
}

// Compares; the finding is "x of y".
Check equal(const std::string& what, std::int64_t found, std::int64_t want) {
  return {what, found == want,
          found == want ? std::to_string(found)
                        : std::to_string(found) + ", want " + std::to_string(want)};
}

std::vector<v1::LedgerRow> ledger(Door& door) {
  std::vector<v1::LedgerRow> rows;
  v1::ListLedgerRequest request;
  request.set_page_size(10'000);
  do {
    v1::ListLedgerResponse page;
    const grpc::Status status =
        door.call<v1::UsageService>([&](v1::UsageService::Stub& stub, grpc::ClientContext* c) {
          page.Clear();
          return stub.ListLedger(c, request, &page);
        });
    if (!status.ok()) return {};
    rows.insert(rows.end(), page.rows().begin(), page.rows().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return rows;
}

std::vector<v1::Job> ended_jobs(Door& door) {
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest request;
  request.set_state(v1::JOB_STATE_DONE);
  request.set_page_size(1000);
  do {
    v1::ListJobsResponse page;
    const grpc::Status status =
        door.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* c) {
          page.Clear();
          return stub.ListJobs(c, request, &page);
        });
    if (!status.ok()) return {};
    jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return jobs;
}

void check_ledger(const Story& story, const std::vector<v1::LedgerRow>& rows, Books& books,
                  Checks& out) {
  std::map<Allocation, std::int64_t> charged, own;
  std::set<std::tuple<Allocation, std::int64_t>> begins;
  std::int64_t twice = 0, strange = 0;
  for (const v1::LedgerRow& row : rows) {
    const Allocation allocation{row.job_id(), row.rank(), row.attempt()};
    const bool fresh = begins.insert({allocation, ms_of(row.from())}).second;
    if (row.corrects() == 0 && !fresh) ++twice;
    if (row.state() == v1::USAGE_STATE_USED) {
      charged[allocation] += milligpu_ms(row.amount());
      books.used_milligpu_ms += milligpu_ms(row.amount());
      if (row.corrects() > 0) books.refunded_milligpu_ms -= milligpu_ms(row.amount());
    } else if (row.corrects() > 0) {
      charged[allocation] += milligpu_ms(row.amount());
      books.taken_over_milligpu_ms += milligpu_ms(row.amount());
    } else if (row.state() != v1::USAGE_STATE_HELD) {
      ++strange;
    }
  }
  for (const Pod& pod : story.pods) {
    if (pod.bound_ms == 0 || pod.ended_ms <= pod.bound_ms) continue;
    own[{pod.job, pod.place.rank(), pod.attempt}] +=
        pod.place.milligpu() * (pod.ended_ms - pod.bound_ms);
  }
  std::int64_t different = 0;
  std::string first;
  for (const auto& [allocation, amount] : own) {
    if (charged[allocation] == amount) continue;
    if (different++ == 0) {
      first = "; job " + std::get<0>(allocation) + " " + std::to_string(charged[allocation]) +
              " for " + std::to_string(amount) + " mGPU-ms";
    }
  }
  books.charged_pods = static_cast<std::int64_t>(charged.size());
  out.push_back(equal("pods charged that the edge did not run", books.charged_pods,
                      static_cast<std::int64_t>(own.size())));
  out.back().what = "every bound pod charged, no other";
  out.push_back({"charged = bound to ended, to the millisecond", different == 0,
                 different == 0 ? std::to_string(books.used_milligpu_ms) + " mGPU-ms"
                                : std::to_string(different) + " pods differ" + first});
  out.push_back({"no interval charged twice", twice == 0 && !rows.empty(),
                 std::to_string(rows.size()) + " rows"});
  out.push_back(equal("rows of lost, foreign or unbound time", strange, 0));
}

// The budgets of account ml add up, and their total is what its ledger rows say.
void check_budgets(const std::vector<v1::LedgerRow>& rows, Door& door, Checks& out) {
  v1::ListBudgetsRequest request;
  request.set_account("ml");
  v1::ListBudgetsResponse budgets;
  const grpc::Status status =
      door.call<v1::AccountService>([&](v1::AccountService::Stub& stub, grpc::ClientContext* c) {
        budgets.Clear();
        return stub.ListBudgets(c, request, &budgets);
      });
  std::int64_t charged = 0;
  for (const v1::LedgerRow& row : rows) {
    if (row.payer().starts_with("ml")) charged += milligpu_ms(row.amount());
  }
  bool ok = status.ok() && budgets.rows_size() == 2 && charged > 0;
  std::string found = std::to_string(charged) + " mGPU-ms spent";
  for (const v1::BudgetRow& row : budgets.rows()) {
    const std::int64_t spent = milligpu_ms(row.spent()), left = milligpu_ms(row.left());
    const bool adds_up = milligpu_ms(row.granted()) == spent + milligpu_ms(row.held()) + left;
    const bool is_right =
        !row.soft() || spent == charged;  // the other one begins again at midnight
    if (adds_up && is_right && left >= 0) continue;
    ok = false;
    found += "; " + row.budget() + " says " + std::to_string(spent);
  }
  out.push_back({"budget: granted = spent + held + left, nothing overdrawn", ok, found});
}

void check_jobs(const Story& story, const std::vector<v1::Job>& jobs, Checks& out) {
  std::int64_t api = 0, pods = 0, other = 0, bad_end = 0;
  for (const v1::Job& job : jobs) {
    const bool cancelled = job.id() == story.cancelled_job;
    const v1::Cause want = cancelled ? v1::CAUSE_CANCELLED : v1::CAUSE_FINISHED;
    bad_end += job.cause() != want;
    if (job.origin() == v1::JOB_ORIGIN_API) {
      ++api;
    } else if (job.origin() == v1::JOB_ORIGIN_PODS) {
      pods += job.gang_size();
    } else {
      ++other;
    }
  }
  out.push_back(equal("jobs submitted once each, none doubled", api,
                      static_cast<std::int64_t>(story.jobs.size())));
  out.push_back(equal("gated pods that the service knows", pods, story.counts.gated));
  out.push_back(equal("jobs that no client asked for", other, 0));
  out.push_back(equal("jobs that ended otherwise than they should", bad_end, 0));
}

void check_counts(const Story& story, Checks& out) {
  std::int64_t wanted = story.counts.gated + story.counts.preempted;  // these wait and run again
  for (const JobPlan& plan : story.jobs) wanted += plan.request.job().request().groups(0).count();
  out.push_back(
      equal("every pod placed once, and once more if preempted", story.counts.placed, wanted));
  out.push_back(
      equal("every placed pod released and bound", story.counts.bound, story.counts.placed));
  out.push_back(equal("every bound pod ended", story.counts.ended, story.counts.bound));
}

}  // namespace

Books check_books(const Story& story, Door& door, Checks& out) {
  Books books;
  check_counts(story, out);
  check_jobs(story, ended_jobs(door), out);
  const std::vector<v1::LedgerRow> rows = ledger(door);
  check_ledger(story, rows, books, out);
  check_budgets(rows, door, out);
  v1::VerifyUsageResponse verified;
  const grpc::Status status =
      door.call<v1::UsageService>([&](v1::UsageService::Stub& stub, grpc::ClientContext* c) {
        verified.Clear();
        return stub.VerifyUsage(c, {}, &verified);
      });
  books.drift = status.ok() ? text_of(verified.drift()) : status.error_message();
  books.residual = status.ok() ? text_of(verified.residual()) : status.error_message();
  out.push_back({"drift: ledger added up again = balances",
                 books.drift == "0" && verified.differences().empty() && verified.rows() > 0,
                 books.drift});
  out.push_back(
      {"residual: every GPU-ms of every node has a payer", books.residual == "0", books.residual});
  const std::string first = story.complaints.empty() ? "" : ": " + story.complaints.front();
  out.push_back({"events refused, answers not understood", story.complaints.empty(),
                 std::to_string(story.complaints.size()) + first});
  return books;
}

}  // namespace subak::demo
