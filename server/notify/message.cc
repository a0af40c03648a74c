#include "server/notify/message.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include "core/duration.h"
#include "core/must.h"
#include "core/printable.h"
#include "kube/json.h"
#include "server/notify/notice_limits.h"

namespace subak {
namespace {

using Counts = std::array<std::size_t, EnumText<NoticeKind>::names.size()>;

Counts counts_of(const std::vector<Notice>& notices) {
  Counts out{};
  for (const Notice& notice : notices) ++out[static_cast<std::size_t>(notice.kind)];
  return out;
}

std::string lost_text(std::uint64_t lost) {
  return std::to_string(lost) + (lost == 1 ? " notice was lost" : " notices were lost") +
         ": too many waited, they waited too long, or this receiver refused them.";
}

std::string summary_text(const std::vector<Notice>& notices) {
  std::string out = std::to_string(notices.size()) + " notices:";
  const Counts counts = counts_of(notices);
  const char* comma = " ";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    out += comma + std::to_string(counts[i]) + " " + std::string(EnumText<NoticeKind>::names[i]);
    comma = ", ";
  }
  out += ".";
  const std::size_t quoted = std::min(notices.size(), limits::kNoticesQuoted);
  for (std::size_t i = 0; i < quoted; ++i) out += "\n" + printable(notices[i].text);
  if (quoted < notices.size()) {
    out += "\nThe other " + std::to_string(notices.size() - quoted) + " are not quoted.";
  }
  return out;
}

std::string text_of(const NoticeMessage& message) {
  if (message.notices.empty()) return lost_text(message.lost);
  if (message.notices.size() > 1) return summary_text(message.notices);
  return printable(message.notices.front().text);
}

void add_number(std::string& out, std::string_view key, std::uint64_t number) {
  out += ",\"" + std::string(key) + "\":" + std::to_string(number);
}

void add_notice(std::string& out, const Notice& notice) {
  append_json_member(out, "kind", enum_name(notice.kind));
  append_json_member(out, "time", format_time(notice.time_ms));
  append_json_member(out, "account", printable(notice.account));
  if (notice.job.empty()) return;
  append_json_member(out, "job", notice.job);
  append_json_member(out, "name", printable(notice.name));
  append_json_member(out, "user", printable(notice.user));
}

void add_summary(std::string& out, const std::vector<Notice>& notices) {
  append_json_member(out, "kind", "summary");
  append_json_member(out, "time", format_time(notices.back().time_ms));
  add_number(out, "count", notices.size());
  out += ",\"ids\":[";
  for (const Notice& notice : notices) {
    if (!out.ends_with('[')) out += ',';
    append_json_string(out, std::to_string(notice.seq));
  }
  out += ']';
}

std::string json_body(const NoticeMessage& message) {
  std::string out = "{";
  append_json_member(out, "id", message.id());
  if (message.notices.empty()) {
    append_json_member(out, "kind", "notices_lost");
    add_number(out, "count", message.lost);
  } else if (message.notices.size() == 1) {
    add_notice(out, message.notices.front());
  } else {
    add_summary(out, message.notices);
  }
  append_json_member(out, "text", text_of(message));
  return out + "}";
}

// Slack reads only these three characters as markup of links and mentions.
std::string slack_body(const NoticeMessage& message) {
  std::string text;
  for (const char c : text_of(message)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      default:
        text += c;
    }
  }
  std::string out = "{";
  append_json_member(out, "text", text);
  return out + "}";
}

}  // namespace

std::string NoticeMessage::id() const {
  if (notices.empty()) return "lost-" + std::to_string(lost_seq);
  const std::string first = std::to_string(notices.front().seq);
  return notices.size() == 1 ? first : first + "-" + std::to_string(notices.back().seq);
}

std::string notice_body(const NoticeMessage& message, NoticeForm form) {
  return form == NoticeForm::kSlack ? slack_body(message) : json_body(message);
}

std::string notice_signature(std::string_view secret, TimeMs at_ms, std::string_view body) {
  const std::string at = std::to_string(at_ms / kSecondMs);
  const std::string signed_text = at + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int bytes = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(),
           digest.data(), &bytes);
  must(made != nullptr, "OpenSSL computes the signature");
  return "t=" + at + ",v1=" + hex({reinterpret_cast<const char*>(digest.data()), bytes});
}

}  // namespace subak
