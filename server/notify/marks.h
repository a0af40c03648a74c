// The durable marks of receivers, the addresses that get notices (receivers.h). A mark says up to
// which fact a receiver got its notices. A fact is a numbered, durable decision, and a notice is a
// message about one fact. The store has one record with all marks (Store::write_notice_marks()).
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// The mark of one receiver.
struct NoticeMark {
  // All notices of facts up to this one were delivered or lost.
  std::uint64_t seq = 0;
  // How many lost notices the receiver was not told of.
  std::uint64_t lost = 0;
  // How many notices of facts after `seq` waited when the mark was written.
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

// Returns the mark at which a receiver begins, in a store whose last fact is `last_seq`. In most
// cases this is the receiver's mark. In three cases the receiver begins at `last_seq`, so that it
// gets no old notices:
//   - The receiver has no mark.
//   - The mark is older than limits::kMaxNoticeAgeMs. Then the notices that waited count as lost.
//   - The mark has a later fact than `last_seq`, as after a restore.
NoticeMark where_to_begin(const NoticeMarks& marks, const std::string& name, std::uint64_t last_seq,
                          TimeMs now_ms);

}  // namespace subak
