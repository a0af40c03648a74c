#include "cli/text/account_names.h"

#include <algorithm>
#include <array>

#include "core/account_limits.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

constexpr std::size_t kLabelBytes = 63;  // of a Kubernetes namespace, and of a label's value

bool is_label_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}
bool is_user_char(char c) {
  return is_label_char(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '@';
}

}  // namespace

bool is_account_label(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_label_char);
}

bool is_account_path(std::string_view path) {
  const auto dots = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
  if (path.size() > limits::kMaxNameBytes || dots >= limits::kMaxAccountDepth) return false;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    if (!is_account_label(path.substr(0, dot))) return false;
    path.remove_prefix(dot + 1);
  }
  return is_account_label(path);
}

std::string account_label(std::string_view text) {
  std::string out(text.substr(0, kLabelBytes));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!is_label_char(c)) c = '-';
  }
  return out;
}

std::string user_label(std::string_view text) {
  std::string out(text.substr(0, kLabelBytes));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_user_char(c); }, '-');
  return out;
}

std::string comment_text(std::string_view text) {
  std::string out(text.substr(0, limits::kMaxNameBytes));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

std::string quoted_name(const std::string& name) {
  static constexpr std::array<std::string_view, 9> kWords{"null", "true", "false", "yes", "no",
                                                          "on",   "off",  "y",     "n"};
  const bool plain = !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
                     std::find(kWords.begin(), kWords.end(), name) == kWords.end();
  return plain ? name : '"' + name + '"';
}

}  // namespace subak::cli
