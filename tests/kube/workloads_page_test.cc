// The tables of keys in docs/workloads.md against the code: each name that we write or read is there, and each
// value that the page names is taken, each limit is where the page says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "core/text.h"
#include "kube/pod.h"
#include "model/policy.h"
#include "pods.h"

namespace subak {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The section under a heading of the third level.
std::string section(const std::string& heading) {
  const std::string page = text_of_file("docs/workloads.md");
  const std::size_t at = page.find("\n### " + heading + "\n");
  if (at == std::string::npos) return "";
  const std::size_t end = page.find("\n#", at + 2);
  return page.substr(at, end - at);
}

// The cells of each row that begins with a name of ours, by that name. One name may have two rows.
std::multimap<std::string, std::vector<std::string>> rows_of(const std::string& heading) {
  std::multimap<std::string, std::vector<std::string>> rows;
  std::istringstream lines(section(heading));
  for (std::string line; std::getline(lines, line);) {
    std::smatch name;
    if (!std::regex_search(line, name, std::regex(R"(^\| `(subak\.gpu/[A-Za-z-]+)` \|)"))) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    rows.emplace(name[1], cells);
  }
  return rows;
}

// What stands in backticks.
std::vector<std::string> quoted_in(const std::string& cell) {
  std::vector<std::string> out;
  const std::regex quotes("`([^`]+)`");
  for (std::sregex_iterator at(cell.begin(), cell.end(), quotes), end; at != end; ++at) {
    out.push_back((*at)[1]);
  }
  return out;
}

std::set<std::string> names_in(const std::string& path) {
  const std::string text = text_of_file(path);
  const std::regex name(R"re("(subak\.gpu/[A-Za-z-]+)")re");
  std::set<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    out.insert((*at)[1]);
  }
  return out;
}

// Each name of ours that the code writes or reads.
std::set<std::string> names_in_code() {
  std::set<std::string> out = names_in("core/names.h");
  out.merge(names_in("kube/domain/domain_objects.h"));
  each_wish([&](const auto& wish) {
    if (!wish.key.empty()) out.emplace(wish.key);
  });
  return out;
}

constexpr int kValues = 2, kDefault = 3;  // cells of a row

class PodKeysOfThePage : public ::testing::Test {
 protected:
  // The record of a pod with this key, or without it, beside the keys that it wants; the mistakes if
  // there are any.
  std::string read(const std::string& key, const std::optional<std::string>& value) {
    std::string keys = R"("x":"y")";
    const auto add = [&](const std::string& other, const std::string& its) {
      keys += ",\"subak.gpu/" + other + "\":\"" + its + "\"";
    };
    if (key.ends_with("/balanced") || key.ends_with("/spare")) add("topology", "nvlink");
    if (key.ends_with("/gang-size") || key.ends_with("/spare")) add("job", "j");
    if (key.ends_with("/spare")) add("gang-size", "64");
    if (value) keys += ",\"" + key + "\":\"" + *value + "\"";
    text_ = test::pod(test::container("nvidia.com/gpu", "1"),
                      R"("name":"p","namespace":"a","annotations":{)" + keys + "}");
    const Pod pod = read_pod(parser_.parse(text_), {});
    EXPECT_THAT(pod.not_read.keys, ::testing::IsEmpty());
    std::string mistakes;
    for (const Error& mistake : pod.mistakes) mistakes += "mistake: " + mistake.message() + "\n";
    // The webhook judges the priority, because it needs the policy.
    if (const PodKey& priority = pod.keys.priority; priority.set) {
      const auto judged = read_priority(Policy(), "", priority.value);
      if (!judged) mistakes += "mistake: " + judged.error().message() + "\n";
    }
    return mistakes.empty() ? to_text(pod_record(pod, false)) : mistakes;
  }
  bool takes(const std::string& key, const std::string& value) {
    return !read(key, value).starts_with("mistake");
  }

 private:
  simdjson::dom::parser parser_;
  std::string text_;
};

TEST_F(PodKeysOfThePage, EachValueOfTheTableIsTaken) {
  const auto rows = rows_of("On pods and templates");
  ASSERT_FALSE(rows.empty());
  for (const auto& [key, cells] : rows) {
    // Only the first sentences name values: after "Beside" and "Above" come other keys'.
    std::string values = cells.at(kValues);
    values = values.substr(0, std::min(values.find("Beside"), values.find("Above")));
    if (key == "subak.gpu/user") continue;  // characters; the webhook judges them
    for (const std::string& value : quoted_in(values)) {
      EXPECT_TRUE(takes(key, value)) << key << " " << value << ": " << read(key, value);
    }
  }
}

TEST_F(PodKeysOfThePage, NothingElseIsTakenWhereValuesAreListed) {
  for (const auto& [key, cells] : rows_of("On pods and templates")) {
    if (quoted_in(cells.at(kValues)).empty() || key == "subak.gpu/user") continue;
    for (const char* other : {"", "maybe", "-1x", "1.5", "prefer:prefer:node"}) {
      EXPECT_FALSE(takes(key, other)) << key << " \"" << other << "\"";
    }
  }
}

TEST_F(PodKeysOfThePage, RangesEndWhereTheTableSays) {
  int ranges = 0;
  const std::regex range("`(-?[0-9]+)` to `([0-9]+)`");
  for (const auto& [key, cells] : rows_of("On pods and templates")) {
    std::smatch found;
    if (!std::regex_search(cells.at(kValues), found, range)) continue;
    ++ranges;
    EXPECT_FALSE(takes(key, std::to_string(std::stoll(found[1]) - 1))) << key;
    EXPECT_FALSE(takes(key, std::to_string(std::stoll(found[2]) + 1))) << key;
  }
  EXPECT_EQ(ranges, 5);
}

TEST_F(PodKeysOfThePage, DurationsAndNamesEndWhereTheTableSays) {
  const std::string limit = "subak.gpu/time-limit", job = "subak.gpu/job";
  std::smatch most;
  const auto rows = rows_of("On pods and templates");
  const std::string& durations = rows.find(limit)->second.at(kValues);
  ASSERT_TRUE(std::regex_search(durations, most, std::regex("up to `([0-9]+)d`")));
  EXPECT_FALSE(takes(limit, std::to_string(std::stoi(most[1]) + 1) + "d"));
  EXPECT_FALSE(takes(limit, "0s"));
  const std::string& names = rows.find(job)->second.at(kValues);
  ASSERT_TRUE(std::regex_search(names, most, std::regex("of 1 to ([0-9]+) bytes")));
  const auto bytes = static_cast<std::size_t>(std::stoi(most[1]));
  EXPECT_TRUE(takes(job, std::string(bytes, 'a')));
  EXPECT_FALSE(takes(job, std::string(bytes + 1, 'a')));
  EXPECT_FALSE(takes(job, ""));
}

TEST_F(PodKeysOfThePage, TheDefaultIsAsIfTheKeyWereNotThere) {
  int defaults = 0;
  for (const auto& [key, cells] : rows_of("On pods and templates")) {
    const std::vector<std::string> values = quoted_in(cells.at(kDefault));
    if (values.empty() || key == "subak.gpu/time-limit") continue;
    ++defaults;
    const bool last = key == "subak.gpu/gang-size";  // "as the owner says, else 1"
    const std::string& value = last ? values.back() : values.front();
    EXPECT_EQ(read(key, value), read(key, std::nullopt)) << key << " " << value;
  }
  EXPECT_EQ(defaults, 7);
}

TEST(WorkloadsPage, EachNameOfOursIsInOneOfItsTables) {
  std::set<std::string> on_page;
  for (const char* heading :
       {"On pods and templates", "On namespaces and nodes", "Written by Subak"}) {
    for (const auto& [name, cells] : rows_of(heading)) on_page.insert(name);
  }
  EXPECT_EQ(on_page, names_in_code());
}

TEST(WorkloadsPage, EachKeyThatAPodMayHaveIsInTheTableOfPods) {
  for (const std::string& name : names_in_code()) {
    simdjson::dom::parser parser;
    const std::string text = test::pod(test::container("nvidia.com/gpu", "1"),
                                       R"("name":"p","annotations":{")" + name + R"(":"1"})");
    const Pod pod = read_pod(parser.parse(text), {});
    const PodKeys& k = pod.keys;
    bool read = false;
    for (const PodKey* key :
         {&k.account, &k.user, &k.job, &k.gang_size, &k.rank, &k.time_limit, &k.priority}) {
      read = read || key->set;
    }
    for (const PodKey& key : k.wishes) read = read || key.set;
    EXPECT_EQ(rows_of("On pods and templates").count(name), read ? 1u : 0u) << name;
  }
}

}  // namespace
}  // namespace subak
