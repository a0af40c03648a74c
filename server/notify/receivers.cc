#include "server/notify/receivers.h"

#include <curl/curl.h>

#include <memory>
#include <set>
#include <utility>

#include "core/account_path.h"
#include "core/limits.h"
#include "core/printable.h"
#include "server/notify/notice_limits.h"
#include "server/yaml/document.h"
#include "server/yaml/written_file.h"

namespace subak {
namespace {

struct UrlEnd {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlEnd>;

std::string part_of(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

// The sender's own library reads the URL, so both agree on its host.
bool is_safe_url(const std::string& text) {
  const Url url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
    return false;
  }
  const bool has_user = !part_of(url, CURLUPART_USER).empty();
  const bool has_fragment = !part_of(url, CURLUPART_FRAGMENT).empty();
  const std::string scheme = part_of(url, CURLUPART_SCHEME), host = part_of(url, CURLUPART_HOST);
  const bool loopback = host == "127.0.0.1" || host == "[::1]" || host == "localhost";
  return !has_user && !has_fragment && (scheme == "https" || (scheme == "http" && loopback));
}

bool is_receiver_name(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > limits::kMaxReceiverNameBytes || !plain(text.front()))
    return false;
  for (const char c : text) {
    if (!plain(c) && c != '-') return false;
  }
  return true;
}

struct Mistake {
  Error error;
};

class Reader {
 public:
  Reader(const std::string& file, const ReadSecret& read_secret)
      : file_(file), read_secret_(read_secret) {}

  std::vector<NoticeReceiver> read(const YAML::Node& root) {
    if (!root.IsMap() || root.size() != 1 || !root["receivers"]) {
      fail(root, "", "", "want the key receivers, and no other");
    }
    const YAML::Node list = root["receivers"];
    if (!list.IsSequence() || list.size() > limits::kMaxReceivers) {
      fail(list, "receivers", "",
           "want a list of at most " + std::to_string(limits::kMaxReceivers) + " receivers");
    }
    std::vector<NoticeReceiver> out;
    for (const YAML::Node& item : list) out.push_back(receiver(item));
    return out;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& at, const std::string& key, const std::string& got,
                         const std::string& want) const {
    const std::string where = file_ + ":" + std::to_string(line_of(at));
    throw Mistake{{ErrorCode::kInvalid, where + (key.empty() ? "" : ": " + key),
                   cut_text(printable(got)), want}};
  }

  NoticeReceiver receiver(const YAML::Node& item) {
    if (!item.IsMap()) fail(item, "", "", "want a receiver with its keys");
    NoticeReceiver out;
    for (const auto& member : item) set(out, member.first.Scalar(), member.first, member.second);
    if (out.name.empty()) fail(item, "name", "", "want this key");
    if (out.url.empty()) fail(item, "url", "", "want this key");
    if (out.secret.empty() && out.form != NoticeForm::kSlack) {
      fail(item, "secretFile", "", "want this key: messages of the form json are signed");
    }
    return out;
  }

  void set(NoticeReceiver& out, const std::string& key, const YAML::Node& name,
           const YAML::Node& value) {
    const std::string text = value.IsScalar() ? value.Scalar() : std::string();
    if (text.empty() || text.size() > limits::kMaxTextBytes || !is_printable(text)) {
      fail(value, key, text,
           "want a text of at most " + std::to_string(limits::kMaxTextBytes) + " characters");
    }
    if (key == "name") {
      if (!is_receiver_name(text)) fail(value, key, text, "want a name of a-z, 0-9 and -");
      if (!names_.insert(text).second) fail(value, key, text, "want each name once");
      out.name = text;
    } else if (key == "url") {
      // A URL may have a secret in its path, so the error does not repeat the URL.
      if (!is_safe_url(text)) {
        fail(value, key, "",
             "want a URL with https and without a user (http for 127.0.0.1 or localhost alone)");
      }
      out.url = text;
    } else if (key == "account") {
      out.account = text;
    } else if (key == "form") {
      const auto form = enum_from<NoticeForm>(text);
      if (!form) fail(value, key, text, "want json or slack");
      out.form = *form;
    } else if (key == "secretFile") {
      out.secret = secret(value, text);
    } else if (key == "caFile") {
      out.ca_file = text;
    } else {
      fail(name, key, "", "want name, url, account, form, secretFile or caFile");
    }
  }

  std::string secret(const YAML::Node& at, const std::string& path) const {
    Result<std::string> read = read_secret_(path);
    if (!read) fail(at, "secretFile", path, read.error().want);
    std::string text = std::move(read).value();
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (text.size() < limits::kMinNoticeSecretBytes ||
        text.size() > limits::kMaxNoticeSecretBytes) {
      fail(at, "secretFile", path,
           "want a file with a secret of " + std::to_string(limits::kMinNoticeSecretBytes) +
               " to " + std::to_string(limits::kMaxNoticeSecretBytes) + " bytes");
    }
    return text;
  }

  const std::string& file_;
  const ReadSecret& read_secret_;
  std::set<std::string> names_;
};

}  // namespace

bool NoticeReceiver::wants(const Notice& notice) const {
  const std::string leaf =
      notice.user.empty() ? notice.account : notice.account + "/" + notice.user;
  return is_path_within(leaf, account);
}

Result<std::vector<NoticeReceiver>> parse_receivers(const std::string& text,
                                                    const std::string& name,
                                                    const ReadSecret& read_secret) {
  const YamlDocument read = read_yaml(text);
  if (read.mistake) {
    return Error{ErrorCode::kInvalid, name + ":" + std::to_string(read.mistake->line), "",
                 read.mistake->what};
  }
  try {
    return Reader(name, read_secret).read(read.root);
  } catch (const Mistake& mistake) {
    return mistake.error;
  }
}

Result<std::vector<NoticeReceiver>> read_receivers(const std::string& path) {
  const Result<std::string> text = read_written_file(path, "notices");
  if (!text) return text.error();
  return parse_receivers(*text, path, [](const std::string& secret) {
    return read_written_file(secret, "secretFile");
  });
}

}  // namespace subak
