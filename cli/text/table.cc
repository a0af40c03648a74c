#include "cli/text/table.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace subak::cli {
namespace {

constexpr std::size_t kUsualGap = 2;
constexpr std::size_t kSmallGap = 1;
constexpr std::size_t kLeastElastic = 4;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::vector<std::string> lines_of(const std::string& header) {
  const std::size_t cut = header.find('\n');
  if (cut == std::string::npos) return {"", header};
  return {header.substr(0, cut), header.substr(cut + 1)};
}

std::string one_line(std::string header) {
  header.erase(std::remove(header.begin(), header.end(), '\n'), header.end());
  return header;
}

std::string shown_header(const Column& column) {
  return column.zone.empty() ? column.header : column.header + " (" + column.zone + ")";
}

struct Shown {
  std::size_t index;
  std::size_t width;
};

std::size_t total(const std::vector<Shown>& shown, std::size_t gap) {
  std::size_t sum = shown.empty() ? 0 : gap * (shown.size() - 1);
  for (const Shown& column : shown) sum += column.width;
  return sum;
}

// Returns the widest column that may become narrower; nullptr: none.
Shown* widest_of(std::vector<Shown>& shown, const std::vector<Column>& columns, bool elastic) {
  Shown* widest = nullptr;
  for (Shown& column : shown) {
    const bool is_elastic = columns[column.index].room == Room::kElastic;
    if ((elastic && !is_elastic) || column.width <= kLeastElastic) continue;
    if (widest == nullptr || column.width > widest->width) widest = &column;
  }
  return widest;
}

// Narrows the widest column, one by one, until all fits: elastic columns first, as long as they can
// shrink.
void shrink(std::vector<Shown>& shown, const std::vector<Column>& columns, std::size_t gap) {
  while (total(shown, gap) > kTableColumns) {
    Shown* widest = widest_of(shown, columns, true);
    if (widest == nullptr) widest = widest_of(shown, columns, false);
    if (widest == nullptr) return;
    --widest->width;
  }
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string cell = cut_to(text, width);
  const std::string blanks(width - display_width(cell), ' ');
  return align == Align::kLeft ? cell + blanks : blanks + cell;
}

void print_line(std::ostream& out, const std::vector<std::string>& cells,
                const std::vector<Shown>& shown, const std::vector<Column>& columns,
                std::size_t gap) {
  std::string line;
  for (const Shown& column : shown) {
    if (&column != &shown.front()) line += std::string(gap, ' ');
    line += padded(cells[column.index], column.width, columns[column.index].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

// True if a spreadsheet would run the text as a formula. In some languages a wide first character
// (U+FF0B, U+FF0D, U+FF1D, U+FF20) also counts. A single dash means "none" in these tables.
bool is_formula(std::string_view text) {
  if (text.empty() || text == "-") return false;
  if (std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos) return true;
  constexpr std::array<std::string_view, 4> kWide{"＋", "－", "＝", "＠"};
  return std::any_of(kWide.begin(), kWide.end(),
                     [text](std::string_view sign) { return text.starts_with(sign); });
}

// True for "-3", "-0.25".
bool is_number(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  return digits.find_first_not_of("0123456789.") == std::string_view::npos;
}

// A semicolon also separates cells in locales with a decimal comma.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",;\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string cut_to(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t end = 0;
  for (std::size_t taken = 0; taken < width; ++end) {
    if (end + 1 >= text.size() || !continues(text[end + 1])) ++taken;
    if (taken == width) break;
  }
  while (end > 0 && continues(text[end])) --end;
  return std::string(text.substr(0, end)) + "…";
}

void Table::row(std::vector<Cell> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out, bool wide) const {
  std::vector<std::vector<std::string>> heads(2);
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string header = shown_header(columns_[i]);
    const auto lines = wide ? std::vector<std::string>{"", one_line(header)} : lines_of(header);
    heads[0].push_back(lines[0]);
    heads[1].push_back(lines[1]);
    if (columns_[i].room == Room::kWide && !wide) continue;
    std::size_t width = std::max(display_width(lines[0]), display_width(lines[1]));
    for (const auto& cells : rows_)
      width = std::max(width, display_width(printable(cells[i].text)));
    shown.push_back({i, width});
  }
  std::size_t gap = kUsualGap;
  if (!wide) {
    if (total(shown, gap) > kTableColumns) gap = kSmallGap;
    shrink(shown, columns_, gap);
  }
  const bool two =
      std::any_of(heads[0].begin(), heads[0].end(), [](const auto& h) { return !h.empty(); });
  if (two) print_line(out, heads[0], shown, columns_, gap);
  print_line(out, heads[1], shown, columns_, gap);
  for (const auto& cells : rows_) {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (const Cell& cell : cells) texts.push_back(printable(cell.text));
    print_line(out, texts, shown, columns_, gap);
  }
}

void Table::print_csv(std::ostream& out) const {
  const auto line = [&out](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      out << (i == 0 ? "" : ",") << csv_field(printable(cells[i]));
    out << '\n';
  };
  std::vector<std::string> head;
  for (const Column& column : columns_) head.push_back(one_line(column.header));
  line(head);
  for (const auto& cells : rows_) {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Cell& cell = cells[i];
      const std::string& text = cell.exact.empty() ? cell.text : cell.exact;
      const bool is_amount = columns_[i].align == Align::kRight && is_number(text);
      texts.push_back(is_formula(text) && !is_amount ? "'" + text : text);
    }
    line(texts);
  }
}

std::string wrapped(std::string_view text, std::size_t used, std::string_view indent) {
  std::string out;
  std::size_t column = used;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at + 1), text.size());
    std::string_view word = text.substr(at, end - at);
    if (column + display_width(word) > kTableColumns && word[0] == ' ') {
      out.append("\n").append(indent);
      word.remove_prefix(1);
      column = indent.size();
    }
    out += word;
    column += display_width(word);
    at = end;
  }
  return out;
}

}  // namespace subak::cli
