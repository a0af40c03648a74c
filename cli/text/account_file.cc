#include "cli/text/account_file.h"

#include <algorithm>
#include <set>

#include "cli/text/failure.h"

namespace subak::cli {
namespace {

const std::string kForm = "account apply --help shows the form of the file";

class FileReader {
 public:
  FileReader(const std::string& name, const std::string& form) : name_(name), form_(form) {}

  std::vector<AccountWish> read(const std::string& text) {
    const YamlDocument read = read_yaml(text);
    if (read.mistake) throw usage_failure(at(read.mistake->line) + read.mistake->what, form_);
    const YAML::Node& root = read.root;
    return read_list(root.IsMap() ? find(root, "accounts") : root);
  }

  std::vector<AccountWish> read_list(const YAML::Node& list) {
    if (!list.IsSequence()) fail(list, "want a list of accounts");
    std::vector<AccountWish> wishes;
    for (const YAML::Node& item : list) {
      AccountWish wish = read_wish(item);
      if (!paths_.insert(wish.path).second)
        fail(item, "path: \"" + wish.path + "\" is there twice");
      wishes.push_back(std::move(wish));
    }
    std::sort(wishes.begin(), wishes.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return wishes;
  }

 private:
  std::string at(std::size_t line) const { return name_ + ":" + std::to_string(line) + ": "; }
  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    throw usage_failure(at(line_of(node)) + what, form_);
  }

  YAML::Node find(const YAML::Node& map, const std::string& key) const {
    for (const auto& member : map) {
      if (member.first.Scalar() == key) continue;
      fail(member.first, member.first.Scalar() + ": not a key of this file, want " + key);
    }
    if (map.size() == 0) fail(map, "want the key " + key);
    return map[key];
  }

  std::string scalar(const YAML::Node& value, const std::string& key) const {
    if (!value.IsScalar()) fail(value, key + ": want one value");
    return value.Scalar();
  }
  bool truth(const YAML::Node& value, const std::string& key) const {
    const std::string text = scalar(value, key);
    if (text != "true" && text != "false")
      fail(value, key + ": was \"" + text + "\", want true or false");
    return text == "true";
  }
  std::vector<std::string> list(const YAML::Node& value, const std::string& key) const {
    std::vector<std::string> items;
    if (value.IsSequence()) {
      for (const YAML::Node& item : value) items.push_back(scalar(item, key));
    } else if (!value.IsNull()) {
      items.push_back(scalar(value, key));
    }
    return items;
  }

  AccountWish read_wish(const YAML::Node& item) const {
    if (!item.IsMap()) fail(item, "want an account with its path");
    AccountWish wish;
    bool named = false;
    for (const auto& member : item) {
      const std::string key = member.first.Scalar();
      named = named || key == "path";
      if (!read_field(wish, key, member.second))
        fail(member.first, key + ": not a field of an account");
    }
    if (!named) fail(item, "path: missing");
    return wish;
  }

  bool read_field(AccountWish& wish, const std::string& key, const YAML::Node& value) const {
    if (key == "path")
      wish.path = scalar(value, key);
    else if (key == "shares")
      wish.shares = scalar(value, key);
    else if (key == "quota")
      wish.quota = scalar(value, key);
    else if (key == "limit")
      wish.limit = scalar(value, key);
    else if (key == "user-limit")
      wish.user_limit = scalar(value, key);
    else if (key == "budget")
      wish.budget = scalar(value, key);
    else if (key == "managed-by")
      wish.managed_by = scalar(value, key);
    else if (key == "borrow")
      wish.borrow = scalar(value, key);
    else if (key == "lend")
      wish.lend = scalar(value, key);
    else if (key == "namespaces")
      wish.namespaces = list(value, key);
    else if (key == "held")
      wish.held = truth(value, key);
    else if (key == "time-limits")
      wish.time_limits = scalar(value, key);
    else if (key == "default-time-limit")
      wish.default_time_limit = scalar(value, key);
    else if (key == "draining")
      wish.draining = truth(value, key);
    else
      return false;
    return true;
  }

  const std::string& name_;
  const std::string& form_;
  std::set<std::string> paths_;
};

}  // namespace

std::vector<AccountWish> parse_account_file(const std::string& text, const std::string& name) {
  return FileReader(name, kForm).read(text);
}

std::vector<AccountWish> read_accounts(const YAML::Node& list, const std::string& name,
                                       const std::string& form) {
  return FileReader(name, form).read_list(list);
}

}  // namespace subak::cli
