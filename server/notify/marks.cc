#include "server/notify/marks.h"

#include <charconv>
#include <optional>

#include "server/notify/notice_limits.h"

namespace subak {
namespace {

std::string_view take(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

template <class Number>
bool read(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string marks_text(const NoticeMarks& marks) {
  std::string out;
  for (const auto& [name, mark] : marks) {
    out += name + " " + std::to_string(mark.seq) + " " + std::to_string(mark.lost) + " " +
           std::to_string(mark.waiting) + " " + std::to_string(mark.time_ms) + "\n";
  }
  return out;
}

Result<NoticeMarks> parse_marks(std::string_view text) {
  NoticeMarks out;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view whole = line;
    const std::string name(take(line, ' '));
    NoticeMark mark;
    const bool good = read(take(line, ' '), mark.seq) && read(take(line, ' '), mark.lost) &&
                      read(take(line, ' '), mark.waiting) && read(line, mark.time_ms);
    if (name.empty() || !good || !out.emplace(name, mark).second) {
      return Error{ErrorCode::kInvalid, "notices.marks", cut_text(whole),
                   "want NAME SEQ LOST WAITING TIME, each name once"};
    }
  }
  return out;
}

NoticeMark where_to_begin(const NoticeMarks& marks, const std::string& name, std::uint64_t last_seq,
                          TimeMs now_ms) {
  const auto found = marks.find(name);
  if (found == marks.end() || found->second.seq > last_seq) return {last_seq, 0, 0, now_ms};
  NoticeMark mark = found->second;
  if (mark.time_ms >= now_ms - limits::kMaxNoticeAgeMs) return mark;
  return {last_seq, mark.lost + mark.waiting, 0, now_ms};
}

}  // namespace subak
