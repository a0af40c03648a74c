// A fixture for tests that report pods and nodes over the stream Observe, and read usage.
#pragma once

#include "api_fixture.h"

namespace subak {

class ApiStreamTest : public ApiTest {
 protected:
  using Observe = grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>;

  ApiStreamTest() {
    start();
    EXPECT_TRUE(create_account("ml").ok());
    EXPECT_TRUE(import_nodes(2).ok());
  }
  // Sends an event and waits for its acknowledgement. Returns the errors of the answers.
  std::vector<v1::ObserveError> send(Observe& stream, v1::ObserveRequest event) {
    event.set_sequence(++sequence_);
    EXPECT_TRUE(stream.Write(event));
    std::vector<v1::ObserveError> errors;
    v1::ObserveResponse ack;
    do {
      if (!stream.Read(&ack)) {
        ADD_FAILURE() << "the stream ended";
        break;
      }
      errors.insert(errors.end(), ack.errors().begin(), ack.errors().end());
      if (ack.session() != 0) session_ = ack.session();
    } while (ack.acknowledged_sequence() < sequence_);
    return errors;
  }
  static v1::ObserveRequest bound(const std::string& job, int rank, const std::string& node) {
    v1::ObserveRequest event;
    event.mutable_pod_bound()->mutable_pod()->set_job_id(job);
    event.mutable_pod_bound()->mutable_pod()->set_rank(rank);
    event.mutable_pod_bound()->set_node(node);
    return event;
  }
  static v1::ObserveRequest running(const std::string& job, int rank) {
    v1::ObserveRequest event;
    event.mutable_pod_running()->mutable_pod()->set_job_id(job);
    event.mutable_pod_running()->mutable_pod()->set_rank(rank);
    return event;
  }
  static v1::ObserveRequest gone(const std::string& job, int rank) {
    v1::ObserveRequest event;
    event.mutable_pod_gone()->mutable_pod()->set_job_id(job);
    event.mutable_pod_gone()->mutable_pod()->set_rank(rank);
    event.mutable_pod_gone()->set_cause(v1::CAUSE_FINISHED);
    return event;
  }
  static v1::ObserveRequest node_seen(const std::string& name) {
    v1::ObserveRequest event;
    auto* node = event.mutable_node_seen()->mutable_node();
    node->set_name(name);
    node->set_product(kH100);
    node->set_gpus(8);
    return event;
  }
  std::vector<v1::LedgerRow> ledger(const v1::ListLedgerRequest& in) {
    v1::ListLedgerResponse out;
    EXPECT_TRUE(run([&](auto* c) { return usage_->ListLedger(c, in, &out); }).ok());
    return {out.rows().begin(), out.rows().end()};
  }

  std::uint64_t sequence_ = 0;
  std::uint64_t session_ = 0;  // the last session of an acknowledgement
};

class ApiUsageTest : public ApiStreamTest {
 protected:
  // Runs a job of 8 GPUs for one hour, from its binding to its end.
  void run_job(const std::string& user) {
    auto in = job_request("ml", 1, 8);
    in.mutable_job()->set_user(user);
    const std::string id = submit(in);
    grpc::ClientContext context;
    prepare(context);
    sequence_ = 0;
    auto observe = clusters_->Observe(&context);
    const std::string node = get_job(id, true).pods(0).node();
    EXPECT_TRUE(send(*observe, bound(id, 0, node)).empty());
    move_clock(kHourMs);
    EXPECT_TRUE(send(*observe, gone(id, 0)).empty());
    observe->WritesDone();
    EXPECT_TRUE(observe->Finish().ok());
  }
  v1::ReportUsageResponse report(const v1::ReportUsageRequest& in) {
    v1::ReportUsageResponse out;
    EXPECT_TRUE(run([&](auto* c) { return usage_->ReportUsage(c, in, &out); }).ok());
    return out;
  }
};

}  // namespace subak
