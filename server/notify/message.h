// Writes the messages to a receiver (an HTTP address that gets notices): one notice, a summary of
// several, or the number of notices that were lost. A notice is about one decision (notice.h). Also
// signs a message. Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/text.h"
#include "server/notify/notice.h"

namespace subak {

// The form of the messages to a receiver.
enum class NoticeForm : std::uint8_t {
  // A JSON object with all that Subak knows.
  kJson,
  // `{"text": ...}`, as incoming webhooks of Slack and of compatible programs take it.
  kSlack,
};
template <>
struct EnumText<NoticeForm> {
  static constexpr std::array<std::string_view, 2> names{"json", "slack"};
};

// What one request tells a receiver.
struct NoticeMessage {
  // The notices, in the order of their facts. With several notices, the message is a summary.
  // Empty: the message says how many notices were lost.
  std::vector<Notice> notices;
  // For a message about lost notices: how many were lost since the last such message.
  std::uint64_t lost = 0;
  // For the id of a message about lost notices: the number of a fact. All notices of facts up to
  // this one were delivered or lost.
  std::uint64_t lost_seq = 0;

  // Returns "1042" for the notice of fact 1042, "1042-1099" for a summary from the first to the
  // last of these facts, and "lost-1042" for lost notices.
  std::string id() const;
};

// Returns the body, which is UTF-8. Characters that are invisible, or that change the text around
// them, become escapes (core/printable.h). For NoticeForm::kSlack, the characters & < > become
// entities, so that no name can make a link or mention a person.
std::string notice_body(const NoticeMessage& message, NoticeForm form);

// Returns the value of the header Subak-Signature: "t=1767225600,v1=HEX". HEX is the HMAC-SHA256 of
// "1767225600." and the body, with the secret as the key. `at_ms`: the time of the request.
std::string notice_signature(std::string_view secret, TimeMs at_ms, std::string_view body);

}  // namespace subak
