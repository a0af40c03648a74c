// What each version of the durable form has: kinds, fields with number and type, values of enums.
// One text for each version, tests/golden/format/vN.txt. A kind, field or value that is added
// without the version that brings it changes the text of an old version, and this test fails.
// SUBAK_REWRITE=1 rewrites the texts; that of a released version never changes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>

#include "core/versions.h"
#include "model/fact.h"

namespace subak {
namespace {

// Field visitor that writes a line for each field that the version has.
class Lines {
 public:
  Lines(std::uint32_t version, std::string path, std::string& out)
      : version_(version), path_(std::move(path)), out_(out) {}

  template <class T>
  void operator()(FieldNumber field, std::string_view name, T&) {
    EXPECT_LE(field.version, kFactVersion) << path_ << "." << name;
    if (field.version > version_) return;
    const std::string path = path_ + "." + std::string(name);
    out_ += path + " " + std::to_string(field.number) + " ";
    if constexpr (IsVector<T>) {
      out_ += "list of ";
      type<typename T::value_type>(path);
    } else {
      type<T>(path);
    }
  }

 private:
  template <class T>
  void type(const std::string& path) {
    if constexpr (std::is_enum_v<T>) {
      out_ += "enum";
      for (std::size_t i = 0; i < EnumText<T>::names.size(); ++i) {
        const auto brought = version_of_value(static_cast<T>(i));
        EXPECT_LE(brought, kFactVersion) << path << " " << EnumText<T>::names[i];
        if (brought <= version_) out_ += " " + std::string(EnumText<T>::names[i]);
      }
      out_ += "\n";
    } else if constexpr (std::is_class_v<T> && !IsSmallId<T> && !std::same_as<T, JobId> &&
                         !std::same_as<T, std::string>) {
      out_ += "record\n";
      Lines nested(version_, path, out_);
      T record{};
      record.fields(nested);
    } else {
      out_ += std::string(scalar<T>()) + "\n";
    }
  }

  template <class T>
  static constexpr std::string_view scalar() {
    if constexpr (std::same_as<T, bool>) return "bool";
    if constexpr (std::same_as<T, std::string>) return "string";
    if constexpr (std::same_as<T, double>) return "double";
    if constexpr (std::same_as<T, JobId>) return "job id";
    if constexpr (IsSmallId<T>) return sizeof(T) == 2 ? "id of 16 bits" : "id of 32 bits";
    if constexpr (std::signed_integral<T>) return sizeof(T) == 4 ? "int32" : "int64";
    return sizeof(T) == 4 ? "uint32" : "uint64";
  }

  std::uint32_t version_;
  std::string path_;
  std::string& out_;
};

template <std::size_t... I>
std::string text_of(std::uint32_t version, std::index_sequence<I...>) {
  std::string out;
  const auto kind = [&]<class T>(std::size_t number, T record) {
    if (number > kKindsOfVersion[version - 1]) return;
    out += std::to_string(number) + " " + std::string(T::kName) + "\n";
    Lines lines(version, std::string(T::kName), out);
    record.fields(lines);
  };
  (kind(I + 1, std::variant_alternative_t<I, fact::Kinds>{}), ...);
  return out;
}

class Format : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Format, HasWhatItHad) {
  const std::string path = "tests/golden/format/v" + std::to_string(GetParam()) + ".txt";
  const std::string text =
      text_of(GetParam(), std::make_index_sequence<std::variant_size_v<fact::Kinds>>());
  if (std::getenv("SUBAK_REWRITE") != nullptr) std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << "declare what is new with the version that brings it: "
                                     "kKindsOfVersion, in_version<N>, values_of_version";
}

INSTANTIATE_TEST_SUITE_P(Versions, Format, testing::Range(1u, kFactVersion + 1),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

}  // namespace
}  // namespace subak
