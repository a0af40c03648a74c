#include "server/browser/shared_calls.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "server/api/common/browser_limits.h"
#include "server/log/thread_name.h"

namespace subak::browser {
namespace {

// The parts of a question. Each part has its length before it, so that two questions never have the
// same text.
api::TokenDigest question_of(const Asked& asked, std::string_view rights) {
  std::string text;
  for (const std::string_view part :
       {std::string_view(asked.method->full_name()), std::string_view(asked.message),
        std::string_view(asked.at), rights}) {
    text += std::to_string(part.size()) + ":";
    text += part;
  }
  return api::digest_of(text + std::to_string(asked.timeout_ms));
}

}  // namespace

SharedCalls::~SharedCalls() { stop(); }

void SharedCalls::start() {
  {
    const MutexLock lock(mutex_);
    stopped_ = false;
  }
  thread_ = std::thread([this] { work(); });
}

void SharedCalls::stop() {
  std::map<api::TokenDigest, Question> rest;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    rest.swap(questions_);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (auto& [key, question] : rest) send(std::move(question.askers));
}

void SharedCalls::ask(Asked asked, std::string_view rights, Calls::Done done) {
  const bool may_share = !rights.empty() && asked.min_sequence.empty();
  Asker asker{std::move(asked), std::move(done)};
  if (may_share && waits(question_of(asker.asked, rights), asker)) return;
  ports_.ask(std::move(asker.asked), std::move(asker.done));
}

bool SharedCalls::waits(const api::TokenDigest& question, Asker& asker) {
  const DurationMs now = ports_.monotonic_ms();
  {
    const MutexLock lock(mutex_);
    if (stopped_) return false;
    const auto found = questions_.find(question);
    if (found == questions_.end()) {
      if (questions_.size() >= limits::kMaxBrowserCalls) return false;
      questions_[question] = {now + limits::kSharedCallMs, asker.asked.caller, {}};
    } else if (found->second.askers.empty() && found->second.next_ms <= now) {
      found->second = {now + limits::kSharedCallMs, asker.asked.caller, {}};
      return false;
    } else if (found->second.caller == asker.asked.caller) {
      return false;
    } else {
      std::size_t& own = callers_[asker.asked.caller];
      if (own >= limits::kMaxBrowserCallsPerCaller || waiting_ >= limits::kMaxBrowserCalls) {
        if (own == 0) callers_.erase(asker.asked.caller);
        return false;
      }
      ++own;
      ++waiting_;
      found->second.askers.push_back(std::move(asker));
      return true;
    }
  }
  wake_.notify_one();  // the thread forgets the new question when its time has come
  return false;
}

std::vector<SharedCalls::Askers> SharedCalls::take_due(DurationMs now) {
  std::vector<Askers> due;
  for (auto it = questions_.begin(); it != questions_.end();) {
    Question& question = it->second;
    if (question.next_ms > now) {
      ++it;
    } else if (question.askers.empty()) {
      it = questions_.erase(it);
    } else {
      due.push_back(std::exchange(question.askers, {}));
      question.caller.clear();
      question.next_ms = now + limits::kSharedCallMs;
      ++it;
    }
  }
  return due;
}

std::optional<DurationMs> SharedCalls::turn() {
  const DurationMs now = ports_.monotonic_ms();
  std::vector<Askers> due;
  std::optional<DurationMs> next;
  {
    const MutexLock lock(mutex_);
    due = take_due(now);
    for (const auto& [key, question] : questions_)
      next = std::min(next.value_or(limits::kSharedCallMs), question.next_ms - now);
  }
  for (Askers& askers : due) send(std::move(askers));
  return next;
}

void SharedCalls::send(Askers askers) {
  if (askers.empty()) return;
  auto group = std::make_shared<const Askers>(std::move(askers));
  ports_.ask(group->front().asked,
             [this, group](Answered answered) { answer(*group, std::move(answered)); });
}

void SharedCalls::answer(const Askers& askers, Answered answered) {
  {
    const MutexLock lock(mutex_);
    waiting_ -= askers.size();
    for (const Asker& asker : askers) {
      const auto own = callers_.find(asker.asked.caller);
      if (--own->second == 0) callers_.erase(own);
    }
  }
  for (std::size_t i = 1; i < askers.size(); ++i)
    answered.status.ok() ? askers[i].done(answered) : ports_.ask(askers[i].asked, askers[i].done);
  askers.front().done(std::move(answered));
}

void SharedCalls::work() {
  name_thread("shared calls");
  while (true) {
    const std::optional<DurationMs> next = turn();
    MutexLock lock(mutex_);
    if (stopped_) return;
    if (next) {
      wake_.wait_for(lock, std::chrono::milliseconds(*next));
    } else {
      wake_.wait(lock, [this]() SUBAK_REQUIRES(mutex_) { return stopped_ || !questions_.empty(); });
    }
  }
}

}  // namespace subak::browser
