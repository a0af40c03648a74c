// The table is whole: every field of every input has its bound, and one beyond is refused by name.
#include "model/bounds/bounds.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/limits.h"
#include "core/stored_size.h"

namespace subak {
namespace {

constexpr std::size_t kInputs = std::variant_size_v<in::Kinds>;

template <std::size_t... I>
in::Body make(std::size_t index, std::index_sequence<I...>) {
  in::Body body;
  ((index == I ? void(body.emplace<I>()) : void()), ...);
  return body;
}
in::Body make(std::size_t index) { return make(index, std::make_index_sequence<kInputs>()); }

// Walks all fields of a record, with one item in each list, and puts the `target`-th of those that
// have a bound one beyond it.
struct OneBeyond {
  std::size_t target;
  std::size_t seen = 0;
  std::string within = "";
  std::string broken = "";  // its name
  std::int64_t most = 0;

  template <class T>
  void operator()(int, std::string_view field, T& value) {
    if constexpr (std::same_as<T, std::string>) {
      if (const auto* row = next(field)) value.assign(to_size(row->most) + 1, 'x');
    } else if constexpr (IsVector<T>) {
      if (const auto* row = next(field)) return value.resize(to_size(row->most) + 1);
      inside(field, value.emplace_back());
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      const auto* row = next(field);
      constexpr auto kMost = std::numeric_limits<T>::max();
      if (row != nullptr && std::cmp_less(row->most, kMost)) value = static_cast<T>(row->most + 1);
      if (row != nullptr && std::cmp_greater_equal(row->most, kMost)) broken.clear();  // cannot be
    } else if constexpr (requires { value.fields(*this); }) {
      inside(field, value);
    }
  }

 private:
  static std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

  const bounds::Row* next(std::string_view field) {
    const auto* row = bounds::row_of(field, within);
    EXPECT_NE(row, nullptr) << within << "." << field << " has no bound";
    if (row == nullptr || seen++ != target) return nullptr;
    broken = field;
    most = row->most;
    return row;
  }
  template <class T>
  void inside(std::string_view field, T& value) {
    if constexpr (std::same_as<T, std::string>) {
      if (seen++ != target) return;
      value.assign(limits::kMaxTextBytes + 1, 'x');
      broken = field;
      most = static_cast<std::int64_t>(limits::kMaxTextBytes);
    } else {
      const std::string outer = std::exchange(within, std::string(field));
      value.fields(*this);
      within = outer;
    }
  }
};

TEST(Bounds, EveryFieldOfEveryInputIsRefusedOneBeyond) {
  std::size_t refused = 0;
  for (std::size_t kind = 0; kind < kInputs; ++kind) {
    for (std::size_t target = 0;; ++target) {
      in::Body body = make(kind);
      OneBeyond beyond{target};
      std::visit([&](auto& record) { record.fields(beyond); }, body);
      if (beyond.seen <= target) break;
      if (beyond.broken.empty()) continue;
      const auto error = bounds::check(body);
      ASSERT_TRUE(error) << beyond.broken << " of input " << kind;
      EXPECT_NE(error->field.find(beyond.broken), std::string::npos)
          << error->message() << " for " << beyond.broken;
      EXPECT_NE(error->want.find(std::to_string(beyond.most)), std::string::npos)
          << error->message() << " for " << beyond.broken;
      EXPECT_LE(error->got.size(), limits::kMaxEchoBytes + 3);
      ++refused;
    }
  }
  EXPECT_GT(refused, 150u);
}

TEST(Bounds, ActorAndRequestIdHaveTheirs) {
  Input input;
  input.body = in::Pass{};
  EXPECT_FALSE(bounds::check(input));
  input.request_id.assign(limits::kMaxNameBytes + 1, 'r');
  EXPECT_EQ(bounds::check(input)->field, "request_id");
  input.request_id.clear();
  input.actor.assign(limits::kMaxNameBytes + 1, 'a');
  EXPECT_EQ(bounds::check(input)->field, "actor");
}

PodShape gpus(std::int64_t n) {
  PodShape shape;
  shape.kind = GpuKind::kWhole;
  shape.gpus = n;
  return shape;
}

// One requirement with `values` values of `bytes` each.
PodShape wordy(std::size_t values, std::size_t bytes) {
  PodShape shape = gpus(1);
  Requirement r{"key", "In", {}};
  r.values.assign(values, std::string(bytes, 'v'));
  shape.affinity.push_back({{r}});
  return shape;
}

TEST(Bounds, SumsAreBoundedToo) {
  EXPECT_FALSE(bounds::check({{{1, wordy(30, 512)}}}, "request"));
  EXPECT_EQ(bounds::check({{{1, wordy(64, 512)}}}, "request")->message(),
            "request.groups[0].shape: was \"32981 bytes\", want at most 16384 bytes as it is "
            "stored");
  GangRequest gang;
  for (int i = 0; i < 135; ++i) gang.groups.push_back({1, wordy(30, 500)});
  ASSERT_FALSE(bounds::check(gang, "request"));
  while (gang.groups.size() < 140) gang.groups.push_back({1, wordy(30, 510)});
  EXPECT_EQ(bounds::check(gang, "request")->field, "request.groups");

  NodeSpec node;
  node.name = "n1";
  node.labels.assign(limits::kMaxNodeListItems, {std::string(100, 'k'), std::string(100, 'v')});
  EXPECT_FALSE(bounds::check(node));
  for (Label& label : node.labels) label.value.assign(200, 'v');
  EXPECT_EQ(bounds::check(node)->field, "labels, taints, extended");
  EXPECT_EQ(bounds::check(in::Body(in::ImportNodes{"c", {node}, "", false}))->field,
            "node n1: labels, taints, extended");
}

TEST(Bounds, TermsCountTogether) {
  PodRecord pod;
  pod.shape = gpus(1);
  pod.shape.tolerations.resize(32);
  pod.shape.affinity.resize(16);
  pod.shape.affinity[0].requirements.resize(16);
  EXPECT_FALSE(bounds::check(pod));
  pod.shape.node_selector.resize(1);
  EXPECT_EQ(bounds::check(pod)->field, "shape.node_selector, affinity, tolerations");
}

TEST(Bounds, RulesOverSeveralFields) {
  const auto message = [](const GangRequest& r) {
    const auto error = bounds::check(r, "request");
    return error ? error->message() : std::string();
  };
  EXPECT_EQ(message({{{1, gpus(0)}}}),
            "request.groups[0].shape.gpus: was \"0\", want at least 1 for this GPU kind");
  EXPECT_EQ(message({}), "request.pods: was \"0\", want 1 to 10000");
  EXPECT_EQ(message({{{9000, gpus(1)}, {1001, gpus(2)}}}),
            "request.pods: was \"10001\", want 1 to 10000");
  EXPECT_EQ(message({{{1, gpus(65)}}}), "request.groups[0].shape.gpus: was \"65\", want 0 to 64");
  EXPECT_EQ(message({{{6, gpus(1)}}, Topology::kNvlink, false, 4}),
            "request.segment: was \"4\", want a divisor of the 6 pods");
  for (const Topology topology : {Topology::kAny, Topology::kNode, Topology::kNvlinkExclusive}) {
    EXPECT_EQ(
        message({{{6, gpus(1)}}, topology, false, 0, false, true}),
        "request.balanced: was \"true\", want it beside topology nvlink or prefer:nvlink, or a "
        "segment of topology any");
  }
  EXPECT_EQ(message({{{6, gpus(1)}}, Topology::kNvlink, true, 0, false, true}), "");
  EXPECT_EQ(message({{{6, gpus(1)}}, Topology::kAny, false, 2, true, true}), "");
  for (const Topology topology : {Topology::kAny, Topology::kNode, Topology::kRack}) {
    EXPECT_EQ(message({{{6, gpus(1)}}, topology, true, 0, false, false, 2}),
              "request.spare: was \"2\", want it beside topology nvlink or nvlink-exclusive, also "
              "as a wish, or a segment of topology any");
  }
  EXPECT_EQ(message({{{2, gpus(1)}}, Topology::kNvlink, false, 0, false, false, 3}),
            "request.spare: was \"3\", want at most as many spare nodes as the gang has pods, 2");
  EXPECT_EQ(message({{{2, gpus(1)}}, Topology::kNvlink, false, 0, false, false, 65}),
            "request.spare: was \"65\", want 0 to 64");
  EXPECT_EQ(message({{{6, gpus(1)}}, Topology::kNvlinkExclusive, false, 0, false, false, 2}), "");
  EXPECT_EQ(message({{{6, gpus(1)}}, Topology::kAny, false, 2, false, true, 2}), "");
  const GangTerms both = {.balanced = true,
                          .spare = 3};  // a request names the one, a pod the other
  EXPECT_EQ(bounds::check(GangRequest{{{2, gpus(1)}}, both}, "request")->field, "request.spare");
  PodRecord pod;
  pod.shape = gpus(1);
  pod.terms = both;
  EXPECT_EQ(bounds::check(pod)->field, "balanced");
  pod.terms = {};
  pod.terms.spare = 1;
  EXPECT_EQ(bounds::check(pod)->field, "spare");
  pod.terms.spare = 0;
  pod.terms.balanced = true;
  EXPECT_EQ(bounds::check(pod)->field, "balanced");
  pod.terms.topology = Topology::kNvlink;
  EXPECT_FALSE(bounds::check(pod));
}

TEST(Bounds, LongValuesAreCutBetweenCharacters) {
  EXPECT_EQ(bounds::cut("abc", 3), "abc");
  EXPECT_EQ(bounds::cut("abcd", 3), "abc...");
  EXPECT_EQ(bounds::cut("ab\xc3\xa4", 3), "ab...");
}

}  // namespace
}  // namespace subak
