#include "core/account_path.h"

#include <gtest/gtest.h>

namespace subak {
namespace {

TEST(AccountPath, ParentEndsAtTheFirstSlashOrElseAtTheLastDot) {
  EXPECT_EQ(parent_path("ml.vision.slam"), "ml.vision");
  EXPECT_EQ(parent_path("ml"), "");
  EXPECT_EQ(parent_path(""), "");
  EXPECT_EQ(parent_path("ml.vision/ana"), "ml.vision");
  EXPECT_EQ(parent_path("ml.vision/ana.lee@x.org"), "ml.vision");
}

TEST(AccountPath, WithinIsTheAccountAndAllBelow) {
  EXPECT_TRUE(is_path_within("ml", "ml"));
  EXPECT_TRUE(is_path_within("ml.vision", "ml"));
  EXPECT_TRUE(is_path_within("ml/ana", "ml"));
  EXPECT_TRUE(is_path_within("ml", ""));
  EXPECT_TRUE(is_path_within("", ""));
  EXPECT_FALSE(is_path_within("mlops", "ml"));
  EXPECT_FALSE(is_path_within("ml", "ml.vision"));
  EXPECT_FALSE(is_path_within("", "ml"));
}

}  // namespace
}  // namespace subak
