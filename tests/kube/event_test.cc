#include "kube/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

constexpr TimeMs kAt = 1'700'000'000'042;

KubeEvent queued() {
  KubeEvent e;
  e.name = "train.17a2";
  e.regarding = {"batch/v1", "Job", "team-a", "train", "u1"};
  e.reason = "Queued";
  e.action = "Queue";
  e.note = "waits for 8 GPUs of \"H100\"";
  e.instance = "subak-0";
  e.at_ms = kAt;
  return e;
}

TEST(KubeEventTest, Body) {
  EXPECT_EQ(event_body(queued()),
            R"({"apiVersion":"events.k8s.io/v1","kind":"Event",)"
            R"("metadata":{"name":"train.17a2","namespace":"team-a"},)"
            R"("eventTime":"2023-11-14T22:13:20.042000Z",)"
            R"("reportingController":"subak.gpu/subakd","reportingInstance":"subak-0",)"
            R"("action":"Queue","reason":"Queued","type":"Normal",)"
            R"("note":"waits for 8 GPUs of \"H100\"",)"
            R"("regarding":{"apiVersion":"batch/v1","kind":"Job","namespace":"team-a",)"
            R"("name":"train","uid":"u1"}})");
}

TEST(KubeEventTest, OfWhatHasNoNamespaceAndTooLong) {
  KubeEvent e = queued();
  e.regarding.ns = {};
  const std::string note(5000, 'x'), word(500, 'y');
  e.note = note;
  e.reason = e.action = e.instance = word;
  e.warning = true;
  const std::string body = event_body(e);
  simdjson::dom::parser parser;
  const json::Value v = parser.parse(body);
  EXPECT_EQ(json::text(*json::member(v, "metadata"), "namespace"), "default");
  EXPECT_FALSE(json::member(*json::member(v, "regarding"), "namespace"));
  EXPECT_LE(json::text(v, "note").size(), 1024u);
  EXPECT_THAT(std::string(json::text(v, "note")), HasSubstr("more bytes"));
  EXPECT_EQ(json::text(v, "reason").size(), 128u);
  EXPECT_EQ(json::text(v, "reportingInstance").size(), 128u);
  EXPECT_EQ(json::text(v, "type"), "Warning");
}

TEST(KubeEventTest, Again) {
  EXPECT_EQ(event_again(7, kAt),
            R"({"series":{"count":7,"lastObservedTime":"2023-11-14T22:13:20.042000Z"}})");
}

}  // namespace
}  // namespace subak
