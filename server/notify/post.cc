#include "server/notify/post.h"

#include "core/error.h"
#include "core/printable.h"
#include "server/curl/post.h"
#include "server/notify/notice_limits.h"

namespace subak {
namespace {

CallAnswer failed(std::string why) {
  CallAnswer answer;
  answer.message = std::move(why);
  return answer;
}

CallAnswer answer_of(curl::Post& post) {
  const int status = post.status();
  CallAnswer answer = read_answer(status, std::to_string(post.retry_after_s()), {});
  answer.message = "HTTP status " + std::to_string(status);
  if (status >= 300 && status < 400) answer.message += ", and redirects are not followed";
  if (!post.body().empty()) answer.message += ": " + printable(cut_text(post.body()));
  return answer;
}

}  // namespace

CallAnswer NoticePost::send(const NoticeReceiver& receiver, const std::string& id,
                            const std::string& body, TimeMs at_ms) {
  curl::Post post(receiver.url, receiver.ca_file,
                  {limits::kMaxNoticeAnswerBytes, limits::kNoticePostMs, limits::kNoticePostMs},
                  stopping_);
  post.set(CURLOPT_PROTOCOLS_STR, receiver.url.starts_with("https:") ? "https" : "http");
  post.add_header("Content-Type: application/json");
  post.add_header("Expect:");
  post.add_header("Subak-Notice: " + id);
  if (!receiver.secret.empty())
    post.add_header("Subak-Signature: " + notice_signature(receiver.secret, at_ms, body));
  if (auto why = post.send(body)) return failed(*std::move(why));
  return answer_of(post);
}

}  // namespace subak
