#include "server/runtime/mailbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace subak {

bool Mailbox::put(Mail mail) {
  if (mail.inputs.size() > most_ - waiting_) return false;
  waiting_ += mail.inputs.size();
  mails_.push_back(std::move(mail));
  return true;
}

void Mailbox::take(std::deque<Mail>& out) {
  std::move(mails_.begin(), mails_.end(), std::back_inserter(out));
  mails_.clear();
}

}  // namespace subak
