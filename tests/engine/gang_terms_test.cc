// The table of wishes: both records have each wish, under its name and numbers of its own.
#include "model/gang_terms.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/text.h"
#include "model/input.h"

namespace subak {
namespace {

struct Numbers {
  std::map<std::string, int, std::less<>> by_field = {};
  template <class T>
  void operator()(int number, std::string_view field, const T&) {
    EXPECT_TRUE(by_field.emplace(field, number).second) << field << " is visited twice";
  }
};

template <class Record>
std::map<std::string, int, std::less<>> numbers_of() {
  Record record;
  Numbers numbers;
  record.fields(numbers);
  std::set<int> distinct;
  int last = 0;
  for (const auto& [field, number] : numbers.by_field) distinct.insert(number);
  for (const int number : distinct) last = number;
  EXPECT_EQ(distinct.size(), numbers.by_field.size());
  EXPECT_EQ(static_cast<std::size_t>(last), distinct.size()) << "a number is left out";
  return numbers.by_field;
}

TEST(GangTerms, EachRecordVisitsEachWishOnce) {
  const auto request = numbers_of<GangRequest>(), pod = numbers_of<PodRecord>();
  each_wish([&](const auto& wish) {
    ASSERT_TRUE(request.contains(wish.field) && pod.contains(wish.field)) << wish.field;
    EXPECT_EQ(request.find(wish.field)->second, wish.in_request) << wish.field;
    EXPECT_EQ(pod.find(wish.field)->second, wish.in_pod) << wish.field;
  });
}

// The texts of inputs, traces and scenarios: fields come by number, whatever the table's order.
TEST(GangTerms, TextOfRecords) {
  PodRecord pod;
  pod.terms = {Topology::kNvlink, true, 4, true, true, 2, true};
  pod.priority = 7;
  const std::string text = to_text(pod);
  EXPECT_NE(text.find("topology=nvlink prefer=true segment=4 priority=7"), std::string::npos);
  EXPECT_NE(text.find("mixed_products=true balanced=true spare=2 compute_domain=true"),
            std::string::npos);
  EXPECT_EQ(from_text<PodRecord>(text)->terms, pod.terms);
  GangRequest request;
  request.terms = pod.terms;
  EXPECT_EQ(to_text(request),
            "topology=nvlink prefer=true segment=4 mixed_products=true balanced=true spare=2 "
            "compute_domain=true");
}

TEST(GangTerms, TextForPeople) {
  EXPECT_EQ(terms_text({}), "any");
  EXPECT_EQ(terms_text({Topology::kNvlink, true, 4, true, true, 2, true}),
            "prefer:nvlink in segments of 4, balanced, with 2 spare, of mixed products, with a "
            "ComputeDomain");
  each_wish([&]<class T>(const Wish<T>& wish) {
    GangTerms terms;
    terms.*wish.member = static_cast<T>(1);
    EXPECT_NE(terms_text(terms), terms_text({})) << wish.field;
  });
}

TEST(GangTerms, Topology) {
  GangTerms terms;
  EXPECT_TRUE(read_topology("prefer:rack", terms));
  EXPECT_EQ(topology_text(terms), "prefer:rack");
  for (const char* text : {"", "prefer:", "prefer:prefer:rack", "near"}) {
    EXPECT_FALSE(read_topology(text, terms)) << text;
  }
  EXPECT_EQ(topology_text(terms), "prefer:rack");
  EXPECT_TRUE(read_topology("node", terms));
  EXPECT_FALSE(terms.prefer);
  EXPECT_EQ(wish_of<&GangTerms::mixed_products>().flag(), "mixed-products");
}

}  // namespace
}  // namespace subak
