#include "cli/migrate/dump_reader.h"

#include <algorithm>
#include <array>

#include "core/edge_limits.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::array<std::string_view, 5> kObjects{"Cluster", "QOS", "Parent", "Account", "User"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes the next line from the front of `rest`, without its line end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return trimmed(line);
}

// Returns the word before " - "; empty if the line has another form.
std::string_view object_of(std::string_view line) {
  const std::size_t dash = line.find('-');
  if (dash == std::string_view::npos || dash == 0 || line[dash - 1] != ' ') return {};
  return trimmed(line.substr(0, dash));
}

bool is_object(std::string_view word) {
  return std::any_of(kObjects.begin(), kObjects.end(),
                     [&](std::string_view object) { return same_name(object, word); });
}

// True for a field such as GrpTRES or MaxTRESPerJob.
bool is_resource_field(std::string_view name) {
  constexpr std::string_view kTres = "tres";
  return std::search(name.begin(), name.end(), kTres.begin(), kTres.end(),
                     [](char a, char b) { return lower(a) == b; }) != name.end();
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_dump(std::string_view text) {
  while (!text.empty()) {
    if (is_object(object_of(take_line(text)))) return true;
  }
  return false;
}

void DumpReader::fail(const std::string& field, std::string_view got,
                      const std::string& want) const {
  refuse(file_, line_.number, field, std::string(got), want);
}

const DumpLine* DumpReader::next() {
  while (!rest_.empty()) {
    if (++line_.number > limits::kMaxMigratedLines) {
      fail("", "", "want at most " + std::to_string(limits::kMaxMigratedLines) + " lines");
    }
    const std::string_view text = take_line(rest_);
    if (text.empty() || text.front() == '#') continue;
    read(text);
    return &line_;
  }
  return nullptr;
}

bool DumpReader::ends_inside_a_line() const {
  return !file_.text.empty() && file_.text.back() != '\n';
}

void DumpReader::read(std::string_view text) {
  line_.object = object_of(text);
  line_.fields.clear();
  if (!is_object(line_.object)) {
    fail("", text,
         "want a line such as Account - 'ml':Fairshare=10, or QOS, Cluster, Parent, User");
  }
  text = trimmed(text.substr(text.find('-') + 1));
  const std::string object(line_.object);
  line_.name = take_value(text, object, false);
  if (line_.name.empty()) fail(object, "", "want a name, as in " + object + " - 'NAME'");
  if (line_.name.size() > limits::kMaxNameBytes) {
    fail(object, line_.name,
         "want a name of at most " + std::to_string(limits::kMaxNameBytes) + " bytes");
  }
  while (!text.empty()) {
    text.remove_prefix(1);  // the colon
    text = trimmed(text);
    if (!text.empty()) line_.fields.push_back(take_field(text));
  }
}

DumpField DumpReader::take_field(std::string_view& text) const {
  const std::size_t end = text.find_first_of("=:");
  if (end == std::string_view::npos || text[end] != '=' || end == 0) {
    fail("", text.substr(0, text.find(':')), "want FIELD=VALUE: is the line complete?");
  }
  std::string_view name = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (name.ends_with('+') || name.ends_with('-')) name.remove_suffix(1);
  name = trimmed(name);
  return {name, take_value(text, std::string(name), is_resource_field(name))};
}

std::string_view DumpReader::take_value(std::string_view& text, const std::string& field,
                                        bool resource) const {
  const std::string_view all = text;
  const char quote = all.empty() ? ' ' : all.front();
  if (quote == '\'' || quote == '"') {
    // A quote inside the text ends it only before a colon, or at the end of the line.
    for (std::size_t at = all.find(quote, 1); at != std::string_view::npos;
         at = all.find(quote, at + 1)) {
      if (at + 1 != all.size() && all[at + 1] != ':') continue;
      text.remove_prefix(at + 1);
      return all.substr(1, at - 1);
    }
    fail(field, all, std::string("want a closing ") + quote + ": is the line complete?");
  }
  std::size_t end = std::min(all.find(':'), all.size());
  while (resource && end < all.size()) {
    // In "gres/gpu:h100=8", the colon does not end the value.
    const std::string_view value = all.substr(0, end);
    const std::size_t comma = value.find_last_of(',');
    const std::string_view item = comma == std::string_view::npos ? value : value.substr(comma + 1);
    if (item.empty() || item.find('=') != std::string_view::npos) break;
    end = std::min(all.find(':', end + 1), all.size());
  }
  text.remove_prefix(end);
  return trimmed(all.substr(0, end));
}

}  // namespace subak::cli
