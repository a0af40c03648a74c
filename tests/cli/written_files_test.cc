// Every YAML file that people write is read whole or refused with its line, by one rule: configurations, account files
// and kubeconfigs. For each, a corpus of mistakes and of forms that are none.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>

#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "core/edge_limits.h"
#include "server/config/config.h"
#include "server/edge/client/kubeconfig.h"
#include "server/yaml/written_file.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A reader, and a good file of it: it ends with a map of some keys, in block form.
struct Reader {
  const char* name;
  std::string good;
  std::function<std::string(const std::string&)> refusal;  // "" where it reads all
  std::string at_line(std::size_t line) const {
    return std::string(name == std::string("kubeconfig") ? "kubeconfig line " : "f.yaml:") +
           std::to_string(line) + ":";
  }
  std::size_t lines() const {
    return static_cast<std::size_t>(std::count(good.begin(), good.end(), '\n'));
  }
};

std::string config_refusal(const std::string& text) {
  Config config;
  std::vector<Origin> origins;
  return apply_yaml(text, "f.yaml", config, origins).value_or("");
}

std::string accounts_refusal(const std::string& text) {
  try {
    cli::parse_account_file(text, "f.yaml");
  } catch (const cli::Failure& failure) {
    return failure.what;
  }
  return "";
}

std::string kubeconfig_refusal(const std::string& text) {
  const auto read = read_kubeconfig(text, "/etc", "");
  return read.ok() ? "" : read.error().message();
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{
      {"config",
       "apiVersion: subak.gpu/v1\nkind: Configuration\nhold: 2m\nclusters:\n- name: main\n"
       "  mode: warn\n",
       config_refusal},
      {"accounts", "accounts:\n- path: ml\n  shares: 2\n- path: ml.vision\n  shares: 3\n",
       accounts_refusal},
      {"kubeconfig",
       "current-context: x\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\nusers:\n"
       "- name: u\n  user: {token: abc}\nclusters:\n- name: c\n  cluster:\n"
       "    server: https://api:6443\n",
       kubeconfig_refusal},
  };
  return all;
}

// Behind the good file: text, on which of its lines the mistake is (0: on no line of ours), and a part of the words.
struct Mistake {
  std::string text;
  std::size_t line;
  const char* words;
};

std::vector<Mistake> mistakes() {
  return {
      {"---\nmore: 1\n", 1, "a second document begins"},
      {"---\n", 1, "a second document begins"},
      {"...\n---\n- path: x\n", 2, "a second document begins"},
      {"---\n# nothing\n", 1, "a second document begins"},
      {"? [a, b]\n: 1\n", 1, "a key that is no text"},
      {"[a]: 1\n", 1, "a key that is no text"},
      {"{a: 1}: 1\n", 1, "a key that is no text"},
      {": 1\n", 1, "a key that is no text"},
      {"x: 1\n'x': 2\n", 2, "x: was \"x\", want each key once"},
      {"x: {y: 1, y: 2}\n", 1, "y: was \"y\", want each key once"},
      {"x:\n  y: 1\n  z: 2\n  \"y\": 3\n", 4, "y: was \"y\", want each key once"},
      {"x: \"a\\0b\"\n", 1, "a control character"},
      {"x: \"a\\x04b\"\n", 1, "a control character"},
      {"\"a\\x1bb\": 1\n", 1, "a control character"},
      {std::string("x: a\0b\n", 7), 1, "a control character"},
      {"\x04\nrest: 1\n", 1, "a control character"},
      {"x: 1 # \x07\n", 1, "a control character"},
      {"x: a\x7f\n", 1, "a control character"},
      {"x: 1\ny: \xff\xfe\n", 2, "no UTF-8"},
      {"x: \xc3\n", 1, "no UTF-8"},
      {"x: \xed\xa0\x80\n", 1, "no UTF-8"},
      {"x: !!binary YWJj\n", 1, "want the value without a tag"},
      {"x: !mine [1]\n", 1, "want the value without a tag"},
      {"x: !!set {a, b}\n", 1, "want the value without a tag"},
      {"x: !!int 5\n", 1, "want the value without a tag"},
      {"x: *nowhere\n", 1, "not YAML"},
      {"x: [1, 2\n", 0, "not YAML"},
      {"x: {a: 1\n", 0, "not YAML"},
      {"x: 'a\n", 1, "not YAML"},
      {"x: 'it''s\n", 1, "not YAML"},
      {"x: \"a\\\"\n", 0, "not YAML"},
      {"x: &n 'ä\n", 1, "not YAML"},
      {"x: \"\\q\"\n", 1, "not YAML"},
      {"x: @a\n", 1, "not YAML"},
      {"x: " + std::string(3000, '[') + std::string(3000, ']') + "\n", 1, "not YAML"},
      {"nobody: 1\n", 1, "nobody"},
      {"<<: {a: 1}\n", 1, "<<"},
      {"x: &a 1\n", 1, "x"},
  };
}

TEST(WrittenFiles, AMistakeIsRefusedWithItsLine) {
  for (const Reader& reader : readers()) {
    ASSERT_THAT(reader.refusal(reader.good), IsEmpty()) << reader.name;
    for (const Mistake& mistake : mistakes()) {
      const std::string got = reader.refusal(reader.good + mistake.text);
      SCOPED_TRACE(std::string(reader.name) + ": " + mistake.text.substr(0, 60));
      EXPECT_THAT(got, HasSubstr(mistake.words));
      if (mistake.line == 0) continue;
      EXPECT_THAT(got, StartsWith(reader.at_line(reader.lines() + mistake.line)));
    }
  }
}

// The key stands above, so the second one is found wherever it is.
TEST(WrittenFiles, EveryKeyOfTheGoodFilesIsRefusedWhereItStandsTwice) {
  for (const Reader& reader : readers()) {
    const std::string first = reader.good.substr(0, reader.good.find('\n') + 1);
    EXPECT_THAT(reader.refusal(reader.good + first), StartsWith(reader.at_line(reader.lines() + 1)))
        << reader.name;
    const std::string last =
        reader.good.substr(reader.good.rfind('\n', reader.good.size() - 2) + 1);
    EXPECT_THAT(reader.refusal(reader.good + last), HasSubstr("want each key once")) << reader.name;
  }
}

TEST(WrittenFiles, ADocumentBeforeItIsRefusedToo) {
  for (const Reader& reader : readers()) {
    EXPECT_THAT(reader.refusal("a: 1\n---\n" + reader.good), StartsWith(reader.at_line(2)));
    EXPECT_THAT(reader.refusal("---\n---\n" + reader.good), StartsWith(reader.at_line(2)));
  }
}

TEST(WrittenFiles, UnknownKeysBelowAreRefused) {
  EXPECT_THAT(config_refusal(readers()[0].good + "  colour: red\n"),
              HasSubstr("f.yaml:7: clusters[0].colour"));
  EXPECT_THAT(accounts_refusal(readers()[1].good + "  colour: red\n"),
              HasSubstr("f.yaml:6: colour"));
  EXPECT_THAT(accounts_refusal("accounts: []\nprune: true\n"), HasSubstr("f.yaml:2: prune"));
  EXPECT_THAT(kubeconfig_refusal(readers()[2].good + "    tls-servername: a\n"),
              HasSubstr("clusters[c].cluster line 12: was \"tls-servername\""));
  EXPECT_THAT(
      kubeconfig_refusal("current-context: x\ncontexts:\n- name: x\n  context: {clutser: c}\n"),
      HasSubstr("line 4: was \"clutser\""));
}

TEST(WrittenFiles, OtherFormsOfTheSameAreRead) {
  for (const Reader& reader : readers()) {
    std::string crlf;
    for (const char c : reader.good) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    for (const std::string& text :
         {"---\n" + reader.good, "# first\n---\n" + reader.good, reader.good + "...\n",
          reader.good + "# last\n", "\xef\xbb\xbf" + reader.good, crlf,
          "%YAML 1.2\n---\n" + reader.good, reader.good.substr(0, reader.good.size() - 1)}) {
      EXPECT_THAT(reader.refusal(text), IsEmpty()) << reader.name << ": " << text.substr(0, 20);
    }
  }
  EXPECT_THAT(accounts_refusal("- &a {path: ml, shares: &s 2}\n- {path: x, shares: *s}\n"),
              IsEmpty());
  EXPECT_THAT(accounts_refusal("- {path: !!str ml}\n"), IsEmpty());
  EXPECT_THAT(accounts_refusal("{\"accounts\": [{\"path\": \"ml\"}]}"), IsEmpty());
}

TEST(WrittenFiles, AFileWithoutEndIsNotReadToTheEnd) {
  const auto read = read_written_file("/dev/zero", "--config");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message(), "--config: was \"/dev/zero\", want a file of at most 64 MiB");
  EXPECT_FALSE(read_written_file("/", "--config").ok());
  EXPECT_FALSE(read_written_file("/no/such/file", "--config").ok());
}

}  // namespace
}  // namespace subak
