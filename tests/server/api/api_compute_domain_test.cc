// What the API says of the ComputeDomains that an edge of the service made.
#include "api_fixture.h"

namespace subak {
namespace {

class ApiComputeDomainTest : public ApiTest {
 protected:
  ApiComputeDomainTest() {
    options_.reads.compute_domains = [this](std::string_view cluster) {
      asked_ = cluster;
      return std::make_shared<const std::vector<ComputeDomainRow>>(rows_);
    };
    start();
  }
  v1::ListDomainsResponse domains() {
    v1::ListDomainsResponse out;
    EXPECT_TRUE(run([&](auto* c) { return clusters_->ListDomains(c, {}, &out); }).ok());
    return out;
  }

  // What the edge says. A test sets the rows before it calls.
  std::vector<ComputeDomainRow> rows_;
  std::string asked_;
};

TEST_F(ApiComputeDomainTest, AJobAndTheDomainsOfItsNodesShowIt) {
  ASSERT_TRUE(import_nodes(2).ok());
  ASSERT_TRUE(create_account("ml").ok());
  const std::string id = submit(job_request("ml", 1, 8));
  rows_ = {{"a/other", "1-99", 1, ComputeDomainState::kReady, 1, 1, {}},
           {"a/subak-t", id, 1, ComputeDomainState::kNotReady, 2, 1, {"n1"}}};
  const v1::Job job = get_job(id);
  EXPECT_EQ(asked_, "default");
  EXPECT_EQ(job.compute_domain_state().name(), "a/subak-t");
  EXPECT_EQ(job.compute_domain_state().state(), "not_ready");
  EXPECT_EQ(job.compute_domain_state().ready_nodes(), 1);
  EXPECT_EQ(job.compute_domain_state().not_ready(0), "n1");
  v1::ExplainJobRequest why;
  why.set_job_id(id);
  v1::Explanation explained;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ExplainJob(c, why, &explained); }).ok());
  EXPECT_EQ(explained.job().compute_domain_state().name(), "a/subak-t");
  int shown = 0;
  const v1::ListDomainsResponse all = domains();
  for (const v1::Domain& domain : all.domains()) {
    for (const v1::ComputeDomain& one : domain.compute_domains()) {
      EXPECT_EQ(one.job_id(), id);
      ++shown;
    }
  }
  EXPECT_EQ(shown, 1) << "the domain of its one node";
  rows_.clear();
  EXPECT_FALSE(get_job(id).has_compute_domain_state());
}

}  // namespace
}  // namespace subak
