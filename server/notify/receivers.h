// Reads the receivers file, which says who gets notices (messages about decisions, notice.h), at
// which address and in which form. Only this file names receivers: no caller of the API can name an
// address. Threads: any.
//
//   receivers:
//   - name: ml-team
//     url: https://hooks.example.com/subak
//     account: ml.vision
//     secretFile: /etc/subak/ml-team.secret
//   - name: ops
//     url: https://hooks.slack.com/services/T0/B0/X
//     form: slack
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "server/notify/message.h"

namespace subak {

// One receiver.
struct NoticeReceiver {
  // The name in metrics, logs and marks: at most 63 characters of a-z, 0-9 and "-", and not "-" at
  // the beginning. No two receivers have the same name.
  std::string name;
  // An https URL; http is allowed for loopback only.
  std::string url;
  // The receiver gets notices about this account and all below it. Empty: all accounts, and
  // warnings of the service.
  std::string account;
  NoticeForm form = NoticeForm::kJson;
  // The key of the signature: the content of the file that `secretFile` names, without line ends at
  // its end. Empty: messages are not signed. Only the form `slack` may have none.
  std::string secret;
  // The path of a PEM file with the CA of the receiver's certificate; empty: the system's CAs.
  std::string ca_file;
  // True if the notice is for this receiver.
  bool wants(const Notice& notice) const;
  friend bool operator==(const NoticeReceiver&, const NoticeReceiver&) = default;
};

// Reads the text of a receivers file. `read_secret` returns the content of the file with this path.
// An error names the file (`name`), the line, the key, the value in the file and what to write
// instead. An error never repeats a URL.
using ReadSecret = std::function<Result<std::string>(const std::string& path)>;
Result<std::vector<NoticeReceiver>> parse_receivers(const std::string& text,
                                                    const std::string& name,
                                                    const ReadSecret& read_secret);
// Reads the receivers file and the files with secrets.
Result<std::vector<NoticeReceiver>> read_receivers(const std::string& path);

}  // namespace subak
