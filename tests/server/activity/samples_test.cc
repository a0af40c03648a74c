// The reader of a Prometheus server's answer: labels as dcgm-exporter writes them and as Prometheus
// renames them, and values that cannot be right.
#include "server/activity/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/edge_limits.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

constexpr char kEngine[] = "DCGM_FI_PROF_GR_ENGINE_ACTIVE";
constexpr char kUtil[] = "DCGM_FI_DEV_GPU_UTIL";

// `labels`: further members, each with a comma after it.
std::string series(const std::string& name, const std::string& value, const std::string& labels) {
  return R"({"metric":{)" + labels + R"("__name__":")" + name + R"("},"value":[1767225600.5,")" +
         value + R"("]})";
}
std::string answer(const std::vector<std::string>& all) {
  std::string out = R"({"status":"success","data":{"resultType":"vector","result":[)";
  for (std::size_t i = 0; i < all.size(); ++i) out += (i > 0 ? "," : "") + all[i];
  return out + "]}}";
}
std::string gpu(int index, const std::string& more = "") {
  return R"("Hostname":"n1","gpu":")" + std::to_string(index) + R"(","UUID":"GPU-)" +
         std::to_string(index) + R"(",)" + more;
}

TEST(Samples, ReadsTheMetricsOfOneDevice) {
  const std::string labels = gpu(3, R"("namespace":"ml","pod":"train-0","modelName":"H100",)");
  const auto read =
      read_samples(answer({series(kUtil, "97", labels), series(kEngine, "0.5", labels),
                           series("DCGM_FI_DEV_FB_USED", "71000", labels),
                           series("DCGM_FI_DEV_POWER_USAGE", "643.25", labels)}));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->time_ms, 1767225600500);
  EXPECT_EQ(read->series, 4u);
  ASSERT_EQ(read->devices.size(), 1u);
  const DeviceSample& d = read->devices.front();
  EXPECT_EQ(d.node, "n1");
  EXPECT_EQ(d.gpu, "3");
  EXPECT_EQ(d.uuid, "GPU-3");
  EXPECT_EQ(d.pod, "ml/train-0");
  EXPECT_EQ(d.activity, 0.5) << "the engine's activity comes before GPU_UTIL";
  EXPECT_EQ(d.framebuffer_mib, 71000);
  EXPECT_EQ(d.watts, 643.25);
}

TEST(Samples, TakesGpuUtilWithoutTheEnginesActivity) {
  const auto read = read_samples(answer(
      {series(kUtil, "25", gpu(0)), series(kEngine, "NaN", gpu(0)), series(kUtil, "0", gpu(1))}));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->devices.size(), 2u);
  EXPECT_EQ(read->devices[0].activity, 0.25);
  EXPECT_EQ(read->devices[1].activity, 0.0);
  EXPECT_EQ(read->invalid, 1u);
}

TEST(Samples, TellsMigInstancesApart) {
  const auto instance = [](const std::string& id) {
    return gpu(0, R"("GPU_I_ID":")" + id + R"(","GPU_I_PROFILE":"1g.10gb",)");
  };
  const auto read = read_samples(
      answer({series(kEngine, "0.1", instance("7")), series(kEngine, "0.9", instance("8"))}));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->devices.size(), 2u);
  EXPECT_EQ(read->devices[0].instance, "7");
  EXPECT_EQ(read->devices[0].profile, "1g.10gb");
  EXPECT_EQ(read->devices[1].activity, 0.9);
}

TEST(Samples, IgnoresTheExportersOwnPod) {
  const std::string own = R"("namespace":"gpu-operator","pod":"exporter",)";
  const std::string held = R"("exported_namespace":"ml","exported_pod":"train-0",)";
  const auto read = read_samples(
      answer({series(kEngine, "1", gpu(0, own + held)), series(kEngine, "0.3", gpu(1, own))}));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->devices.size(), 2u);
  EXPECT_EQ(read->devices[0].pod, "ml/train-0");
  EXPECT_EQ(read->devices[1].pod, "");
}

TEST(Samples, ReadsTheNewNamesOfLabels) {
  const auto read = read_samples(answer(
      {series(kEngine, "1",
              R"("hostname":"n1.example.com","node":"n1","uuid":"GPU-0","cluster":"east",)")}));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->devices.size(), 1u);
  EXPECT_EQ(read->devices[0].node, "n1.example.com");
  EXPECT_EQ(read->devices[0].other_node, "n1");
  EXPECT_EQ(read->devices[0].uuid, "GPU-0");
  EXPECT_EQ(read->devices[0].cluster, "east");
}

TEST(Samples, AValueOutOfRangeIsNoValue) {
  for (const char* const bad : {"NaN", "+Inf", "-0.5", "1.01", "1e400", "x", "", " 1", "0x1"}) {
    const auto read = read_samples(answer({series(kEngine, bad, gpu(0))}));
    ASSERT_TRUE(read.ok()) << bad;
    ASSERT_EQ(read->devices.size(), 1u) << bad;
    EXPECT_FALSE(read->devices[0].activity.has_value()) << bad;
    EXPECT_EQ(read->invalid, 1u) << bad;
  }
}

TEST(Samples, OtherMetricsAndLabelsAreIgnored) {
  const auto read = read_samples(
      answer({series("up", "1", R"("job":"x",)"), series(kEngine, "1", gpu(0, R"("x":"y",)"))}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->devices.size(), 1u);
  EXPECT_EQ(read->series, 2u);
}

TEST(Samples, RefusesWhatIsNoAnswer) {
  const std::string whole = answer({series(kEngine, "1", gpu(0))});
  for (const std::string& bad :
       {std::string(), std::string("<html>"), std::string("{}"), std::string("[]"),
        std::string(R"({"status":"success"})"), whole.substr(0, whole.size() - 30),
        std::string(R"({"status":"success","data":{"resultType":"vector","result":[1]}})")}) {
    const auto read = read_samples(bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().field, "prometheus") << bad;
  }
  const auto matrix =
      read_samples(R"({"status":"success","data":{"resultType":"matrix","result":[]}})");
  ASSERT_FALSE(matrix.ok());
  EXPECT_EQ(matrix.error().field, "prometheus.resultType");
  const auto error = read_samples(R"({"status":"error","errorType":"bad_data","error":"no \n"})");
  ASSERT_FALSE(error.ok());
  EXPECT_THAT(error.error().message(), HasSubstr("no \\n"));
}

TEST(Samples, ReadsAsManySeriesAsTheLimitAndNoMore) {
  std::string body = R"({"status":"success","data":{"resultType":"vector","result":[)";
  const std::string one = R"({"metric":{"__name__":"x"},"value":[1,"1"]})";
  body += one;
  for (std::size_t i = 1; i < limits::kMaxActivitySeries; ++i) body += "," + one;
  EXPECT_TRUE(read_samples(body + "]}}").ok());
  const auto more = read_samples(body + "," + one + "]}}");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().field, "prometheus.result");
}

TEST(Samples, TheQueryAsksForEachMetricThatIsRead) {
  const std::string query = activity_query();
  for (const char* const name : {kEngine, kUtil, "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE",
                                 "by (__name__", "exported_pod", "GPU_I_ID"}) {
    EXPECT_THAT(query, HasSubstr(name));
  }
}

}  // namespace
}  // namespace subak
