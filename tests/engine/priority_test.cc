#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/policy.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

Policy with_classes() {
  Policy policy;
  policy.priority_classes = {{"batch", 0, false, {}}, {"prod", 1000, true, {"ml.serving"}}};
  return policy;
}

std::string why_not(const Policy& policy, std::string_view account, std::string_view text) {
  const auto read = read_priority(policy, account, text);
  return read ? "" : read.error().message();
}

TEST(Priority, IsANumberWhileThereIsNoClass) {
  const Policy none;
  for (const auto& [text, value] : std::map<std::string, std::int32_t>{
           {"low", -1000}, {"normal", 0}, {"high", 1000}, {"-7", -7}, {"2147483647", 2147483647}}) {
    EXPECT_EQ(read_priority(none, "a", text).value(), (Priority{value, false})) << text;
  }
  for (const char* text : {"", "7x", "+7", " 7", "prod", "2147483648"}) {
    EXPECT_THAT(why_not(none, "a", text), HasSubstr("want low, normal, high or a whole number"));
  }
}

TEST(Priority, IsAClassOnceThereIsOne) {
  const Policy policy = with_classes();
  EXPECT_EQ(read_priority(policy, "ml", "batch").value(), (Priority{0, true}));
  for (const char* account : {"ml.serving", "ml.serving.chat", "ml.serving/ana"}) {
    EXPECT_EQ(read_priority(policy, account, "prod").value(), (Priority{1000, true})) << account;
  }
  for (const char* account : {"ml", "ml.servings", "ml.s", ""}) {
    EXPECT_THAT(why_not(policy, account, "prod"), HasSubstr(": batch")) << account;
  }
  for (const char* text : {"0", "high", "Prod", ""}) {
    EXPECT_THAT(why_not(policy, "ml.serving", text), HasSubstr("for ml.serving: batch, prod"));
  }
}

TEST(Priority, NoClassMayBeForAnAccount) {
  Policy policy = with_classes();
  policy.priority_classes.erase(policy.priority_classes.begin());
  EXPECT_THAT(why_not(policy, "ml", "prod"),
              HasSubstr("want it unset: no priority class is for ml"));
}

TEST(Priority, ClassesAreFoundByTheirPriority) {
  const Policy policy = with_classes();
  EXPECT_EQ(class_with(policy, 1000, "ml.serving")->name, "prod");
  EXPECT_EQ(class_with(policy, 1000, "ml"), nullptr);
  EXPECT_EQ(class_with(policy, 7, "ml"), nullptr);
}

TEST(Priority, NamesOfClassesAreNoNumbers) {
  for (const char* name : {"a", "prod-1", "high"}) EXPECT_TRUE(is_class_name(name)) << name;
  for (const char* name : {"", "7", "-a", "a-", "A", "a_b", "a b"})
    EXPECT_FALSE(is_class_name(name)) << name;
  EXPECT_FALSE(is_class_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace subak
