#include "sim/report/svg.h"

#include <gtest/gtest.h>

#include "sim/report.h"
#include "tests/sim/temp_dir.h"

namespace subak::sim {
namespace {

TEST(Ticks, AreRoundNumbersInside) {
  const auto ticks = linear_ticks(21, 35, 14);
  ASSERT_EQ(ticks.size(), 15u);
  EXPECT_EQ(ticks.front().label, "21");
  EXPECT_EQ(ticks.back().label, "35");
  EXPECT_EQ(linear_ticks(0, 100, 5, " %")[1].label, "20 %");
  EXPECT_EQ(linear_ticks(0, 0.5, 5)[1].label, "0.1");
  EXPECT_EQ(linear_ticks(0, 1785, 4)[1].label, "500");
  for (const Tick& t : linear_ticks(0.3, 108.9, 14)) {
    EXPECT_GE(t.at, 0.3);
    EXPECT_LE(t.at, 108.9 + 1e-3);
  }
}

TEST(Frame, MapsDataToTheCanvas) {
  Frame f;
  f.left = 10, f.top = 20, f.width = 100, f.height = 50;
  f.x1 = 10, f.y1 = 5;
  EXPECT_EQ(f.map(0, 0).x, 10);
  EXPECT_EQ(f.map(0, 0).y, 70);
  EXPECT_EQ(f.map(10, 5).x, 110);
  EXPECT_EQ(f.map(10, 5).y, 20);
}

TEST(Svg, EscapesText) {
  Svg svg(10, 10);
  svg.text({1, 1}, "a<b&c>", 12);
  EXPECT_NE(svg.finish().find("a&lt;b&amp;c&gt;"), std::string::npos);
}

TEST(Svg, GroupsHaveAClassAndSayWhatTheyAre) {
  Svg svg(10, 10, ".bar{fill:#123456}");
  svg.open("bar", "two <b> & \x1b\xEF\xBF\xBE");
  svg.rect(1, 2, 3, 4, kInherit);
  svg.close();
  const std::string text = svg.finish();
  EXPECT_NE(text.find("<style>.bar{fill:#123456}</style>"), std::string::npos);
  EXPECT_NE(text.find("<g class=\"ground\">"), std::string::npos);
  EXPECT_NE(text.find("<g class=\"bar\"><title>two &lt;b&gt; &amp; \\u001b\\ufffe</title>"),
            std::string::npos);
  EXPECT_EQ(text.find("#ffffff"), std::string::npos) << "the style sheet says what is behind it";
}

TEST(Plot, WritesOneFilePerPictureAndNamesEachTeamOnce) {
  Workload w;
  w.from_ms = kTraceEpochMs;
  w.to_ms = kTraceEpochMs + 3 * kDayMs;
  w.capacity = 8000;
  SimResult r;
  r.policy = "drf";
  r.waits_s = {0, 5, 7200};
  for (int i = 0; i < 15; ++i) {
    r.teams.emplace_back().team = "team" + std::to_string(i);
    r.teams.back().received_gpu_h = 100 - i;
    r.received_by_hour.emplace_back(72, 0.5);
    r.entitled_by_hour.emplace_back(72, 0.4);
    r.queued_by_hour.emplace_back(72, 2.0);
  }
  TempDir dir;
  const std::string into = dir.path("deep/er");
  ASSERT_FALSE(write_plots(w, {r}, into).has_value());
  for (const char* name : {"waits.svg", "share-drf.svg", "load-drf.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(into + "/" + name)) << name;
  }
  const std::string picture = share_plot(w, r);
  EXPECT_NE(picture.find(">team9<"), std::string::npos);
  EXPECT_EQ(picture.find(">team10<"), std::string::npos);
  EXPECT_NE(picture.find(">5 others<"), std::string::npos);
  EXPECT_TRUE(write_plots(w, {r}, dir.write("file", "") + "/x").has_value());
}

}  // namespace
}  // namespace subak::sim
