// The durable marks of receivers: how far each receiver is. The store has one record of all marks
// (Store::write_notice_marks()). Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// How far one receiver is.
struct NoticeMark {
  // All notices of facts up to this one were delivered or lost.
  std::uint64_t seq = 0;
  // How many lost notices the receiver was not told of.
  std::uint64_t lost = 0;
  // How many notices of later facts waited when the mark was written.
  std::uint64_t waiting = 0;
  // When the mark was written.
  TimeMs time_ms = 0;
  friend bool operator==(const NoticeMark&, const NoticeMark&) = default;
};
// The marks by the names of the receivers.
using NoticeMarks = std::map<std::string, NoticeMark>;

// Returns one line for each mark: "ml-team 1042 0 3 1767225600000".
std::string marks_text(const NoticeMarks& marks);
// Reads the form of marks_text(). kInvalid: the text has another form.
Result<NoticeMarks> parse_marks(std::string_view text);

// Returns where a receiver begins, in a store whose last fact is `last_seq`. A receiver without a
// mark begins at `last_seq`, so that it gets no old notices. So does a receiver whose mark is older
// than limits::kMaxNoticeAgeMs: its waiting notices count as lost. So does a receiver whose mark is
// of a later fact than `last_seq`, as after a restore.
NoticeMark where_to_begin(const NoticeMarks& marks, const std::string& name, std::uint64_t last_seq,
                          TimeMs now_ms);

}  // namespace subak
