// Notices. A receivers file that is taken has safe addresses. Marks read back as they were written.
// A name of a user, whatever its bytes, gives one JSON string without markup.
#include "kube/json.h"
#include "server/notify/marks.h"
#include "server/notify/message.h"
#include "server/notify/notice_limits.h"
#include "server/notify/receivers.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_receivers(const std::string& text) {
  const auto secret = [](const std::string& path) { return Result<std::string>(path + path); };
  const auto read = parse_receivers(text, "receivers", secret);
  if (!read.ok()) {
    fuzz::check_error(read.error());
    assert(read.error().field.starts_with("receivers:"));
    return;
  }
  assert(read->size() <= limits::kMaxReceivers);
  for (const NoticeReceiver& one : *read) {
    assert(!one.name.empty() && !one.url.empty());
    assert(one.form == NoticeForm::kSlack || one.secret.size() >= limits::kMinNoticeSecretBytes);
  }
}

void check_marks(std::string_view text) {
  const auto read = parse_marks(text);
  if (!read.ok()) return fuzz::check_error(read.error());
  assert(*parse_marks(marks_text(*read)) == *read);
}

void check_names(const std::string& text) {
  Notice notice;
  notice.name = notice.user = notice.account = notice.text = text;
  notice.job = "1-1";
  json::Parser parser;
  for (const NoticeForm form : {NoticeForm::kJson, NoticeForm::kSlack}) {
    const std::string body = notice_body({{notice, notice}, 0, 0}, form);
    assert(parser.parse(body).error() == simdjson::SUCCESS);
    assert(form == NoticeForm::kJson || body.find_first_of("<>") == std::string::npos);
  }
  assert(parser.parse(notice_body({{notice}, 0, 0}, NoticeForm::kJson)).error() ==
         simdjson::SUCCESS);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  check_receivers(text);
  check_marks(text);
  check_names(text);
  return 0;
}
