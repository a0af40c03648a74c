// The metrics of receivers.
#include "server/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace subak::metrics {
namespace {

using ::testing::HasSubstr;

TEST(NoticesPage, HasEachReceiver) {
  Families none;
  write_notices(none, {});
  EXPECT_EQ(none.text(), "");
  Families page;
  write_notices(page, {{"ml", 5, 1, 2, 3}, {"bio", 0, 0, 0, 0}});
  for (const char* line : {"subak_notices_sent_total{receiver=\"ml\"} 5\n",
                           "subak_notices_lost_total{receiver=\"ml\"} 1\n",
                           "subak_notice_failures_total{receiver=\"ml\"} 2\n",
                           "subak_notices_waiting{receiver=\"ml\"} 3\n",
                           "subak_notices_lost_total{receiver=\"bio\"} 0\n"}) {
    EXPECT_THAT(page.text(), HasSubstr(line));
  }
}

}  // namespace
}  // namespace subak::metrics
