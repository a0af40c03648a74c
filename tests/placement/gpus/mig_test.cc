#include "model/mig.h"

#include <gtest/gtest.h>

#include <string>

namespace subak {
namespace {

TEST(Mig, CostsAreMemoryUnits) {
  const auto cost = mig_slice_milligpu;
  EXPECT_EQ(cost("NVIDIA-H100-80GB-HBM3", "1g.10gb"), 125);
  EXPECT_EQ(cost("NVIDIA-H100-80GB-HBM3", "1g.20gb"), 250);
  EXPECT_EQ(cost("NVIDIA-H100-80GB-HBM3", "2g.20gb"), 250);
  EXPECT_EQ(cost("NVIDIA-H100-80GB-HBM3", "3g.40gb"), 500);
  EXPECT_EQ(cost("NVIDIA-H100-80GB-HBM3", "4g.40gb"), 500);
  EXPECT_EQ(cost("NVIDIA-H100-80GB-HBM3", "7g.80gb"), 1000);
  EXPECT_EQ(cost("NVIDIA-A30", "1g.6gb"), 250);
  EXPECT_EQ(cost("NVIDIA-A30", "4g.24gb"), 1000);
  EXPECT_EQ(cost("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "1g.24gb"), 250);
  EXPECT_EQ(cost("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "2g.48gb"), 500);
}

TEST(Mig, IdentityIsProductAndProfile) {
  // The same name is one unit on 80 GB cards and two on 40 GB cards.
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-A100-SXM4-80GB", "1g.10gb"), 125);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-A100-SXM4-40GB", "1g.10gb"), 250);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-H200", "1g.35gb"), 250);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-GB300", "1g.35gb"), 125);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-H100-80GB-HBM3", "1g.5gb"), std::nullopt);
  EXPECT_EQ(least_mig_slice_milligpu("1g.10gb"), 125) << "250 on a card of 40 GB";
  EXPECT_EQ(least_mig_slice_milligpu("1g.1gb"), 0);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-L40S", "1g.10gb"), std::nullopt);
  EXPECT_EQ(mig_geometry("NVIDIA-L40S"), nullptr);
  EXPECT_EQ(mig_geometry(""), nullptr);
}

TEST(Mig, ProductNamesFindTheirFamily) {
  struct Case {
    const char *product, *seven;
  };
  const Case cases[] = {{"A100-SXM4-40GB", "7g.40gb"},
                        {"NVIDIA-A100-PCIE-40GB", "7g.40gb"},
                        {"NVIDIA-A100-80GB-PCIe", "7g.80gb"},
                        {"NVIDIA-A800-SXM4-80GB", "7g.80gb"},
                        {"NVIDIA-H100-PCIe", "7g.80gb"},
                        {"NVIDIA-H100-NVL", "7g.94gb"},
                        {"NVIDIA-H20", "7g.96gb"},
                        {"NVIDIA-GH200-480GB", "7g.96gb"},
                        {"NVIDIA-GH200-144G-HBM3e", "7g.144gb"},
                        {"NVIDIA-H200-NVL", "7g.141gb"},
                        {"NVIDIA-B200", "7g.180gb"},
                        {"NVIDIA-GB200", "7g.186gb"},
                        {"NVIDIA-GB200", "7g.189gb"},
                        {"NVIDIA-B300-SXM6-AC", "7g.269gb"},
                        {"NVIDIA-GB300", "7g.278gb"}};
  for (const Case& c : cases) EXPECT_EQ(mig_slice_milligpu(c.product, c.seven), 1000) << c.product;
}

TEST(Mig, SuffixesAndSpellings) {
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "1g.10gb"), 125);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-H100-80GB-HBM3", "1g.10gb+me"), 125);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-H100-80GB-HBM3", "1g.10gb.me"), 125);
  EXPECT_EQ(mig_slice_milligpu("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "1g.24gb-me"), 250);
}

TEST(Mig, ProfilesThatNoCardHas) {
  for (const char* known : {"1g.5gb", "1g.10gb+me", "4g.24gb", "1g.24gb-me", "7g.278gb"}) {
    EXPECT_TRUE(is_mig_profile(known)) << known;
  }
  for (const char* unknown : {"", "9g.90gb", "1g.10g", "1g.10gb.me.me", "1G.10GB"}) {
    EXPECT_FALSE(is_mig_profile(unknown)) << unknown;
  }
  EXPECT_EQ(mig_profiles_text({"NVIDIA-L40S", "NVIDIA-A30", "NVIDIA-A30"}),
            "want one of 1g.6gb, 1g.6gb.me, 2g.12gb, 2g.12gb.me, 4g.24gb");
  EXPECT_EQ(mig_profiles_text({"NVIDIA-L40S"}), "want a profile that some card has, as 1g.10gb");
}

TEST(Mig, GeometriesAreSound) {
  for (const char* product : {"NVIDIA-A30", "NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-NVL",
                              "NVIDIA-GB200", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}) {
    const MigGeometry* g = mig_geometry(product);
    ASSERT_NE(g, nullptr);
    for (const MigProfile& p : g->profiles) {
      EXPECT_LE(p.max_count * p.units, g->card_units) << product << ' ' << p.name;
      EXPECT_LE(p.max_count, static_cast<int>(p.starts.size())) << product << ' ' << p.name;
      for (const int start : p.starts) EXPECT_LE(start + p.units, g->card_units) << p.name;
      EXPECT_EQ(p.name[0] - '0', p.compute) << p.name;
    }
  }
}

}  // namespace
}  // namespace subak
