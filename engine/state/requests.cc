#include "engine/state/requests.h"

#include <algorithm>
#include <iterator>

#include "core/limits.h"
#include "core/must.h"

namespace subak {

static_assert(limits::kMaxRequestIds < 1u << 22);  // numbers in use never collide

// The key as text: the method, the actor, a byte that no actor has, the id.
std::string ActorRequests::text_of(const RequestKey& key) {
  std::string text(1, static_cast<char>(key.method));
  text += key.actor;
  text += '\0';
  text += key.id;
  return text;
}

RequestKey ActorRequests::key_of(std::string_view text) {
  const std::size_t end = text.find('\0', 1);
  must(end != std::string_view::npos, "a key ends its actor");
  return {text.substr(1, end - 1), static_cast<Method>(text[0]), text.substr(end + 1)};
}

bool ActorRequests::is(std::size_t place, std::string_view text) const {
  must(place < entries_.size(), "a number in use is of an entry");
  const Entry& entry = entries_[place];
  return entry.length == text.size() &&
         std::equal(text.begin(), text.end(),
                    text_.begin() + static_cast<std::ptrdiff_t>(entry.text - text_begin_));
}

std::string ActorRequests::text(std::size_t place) const {
  must(place < entries_.size(), "a place is of a request that is remembered");
  const Entry& entry = entries_[place];
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(entry.text - text_begin_);
  return {begin, begin + static_cast<std::ptrdiff_t>(entry.length)};
}

std::uint32_t ActorRequests::find_number(std::string_view text, std::uint32_t hash) const {
  return index_.find(mix_bits(hash),
                     [&](std::uint32_t number) { return is(place_of(number), text); });
}

const RememberedRequest* ActorRequests::find(const RequestKey& key) const {
  const std::string text = text_of(key);
  const std::uint32_t number = find_number(text, hash(text));
  return number == FlatIndex::kNone ? nullptr : &entries_[place_of(number)].request;
}

bool ActorRequests::add(const RequestKey& key, const RememberedRequest& request) {
  const std::string text = text_of(key);
  const std::uint32_t hashed = hash(text);
  const std::uint32_t known = find_number(text, hashed);
  if (known != FlatIndex::kNone) {
    entries_[place_of(known)].request = request;
    return false;
  }
  entries_.push_back(
      {request, text_begin_ + text_.size(), static_cast<std::uint32_t>(text.size()), hashed});
  text_.insert(text_.end(), text.begin(), text.end());
  index_.insert(mix_bits(hashed), number_of(entries_.size() - 1),
                [&](std::uint32_t number) { return mix_bits(entries_[place_of(number)].hash); });
  must(entries_.size() < kNumbers, "numbers in use never collide");
  return true;
}

void ActorRequests::forget_oldest() {
  must(!entries_.empty() && entries_.front().text == text_begin_, "the oldest key comes first");
  index_.erase(mix_bits(entries_.front().hash), first_);
  const std::uint32_t length = entries_.front().length;
  text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(length));
  text_begin_ += length;
  entries_.pop_front();
  first_ = (first_ + 1) % kNumbers;
}

const RememberedRequest* RequestLog::find(const RequestKey& key) const {
  const auto found = actors_.find(key.actor);
  return found == actors_.end() ? nullptr : found->second.find(key);
}

void RequestLog::add(const RequestKey& key, const RememberedRequest& request) {
  forget_old(request.at_ms);
  auto at = actors_.find(key.actor);
  if (at == actors_.end()) at = actors_.try_emplace(std::string(key.actor)).first;
  if (size_ == 0) oldest_ms_ = request.at_ms;
  oldest_ms_ = std::min(oldest_ms_, request.at_ms);
  if (at->second.add(key, request)) ++size_;
  if (size_ > limits::kMaxRequestIds) forget_of_largest();
  must(size_ <= limits::kMaxRequestIds, "no more is remembered than there is room for");
}

// Scans only when a request may be too old.
void RequestLog::forget_old(TimeMs now) {
  const TimeMs least = now - limits::kRequestIdLifeMs;
  if (size_ == 0 || oldest_ms_ >= least) return;
  oldest_ms_ = now;
  for (auto at = actors_.begin(); at != actors_.end();) {
    ActorRequests& one = at->second;
    for (; one.size() > 0 && one.request(0).at_ms < least; --size_) one.forget_oldest();
    if (one.size() > 0) oldest_ms_ = std::min(oldest_ms_, one.request(0).at_ms);
    at = one.size() == 0 ? actors_.erase(at) : std::next(at);
  }
  must((size_ == 0) == actors_.empty(), "an actor is remembered for its requests");
}

void RequestLog::forget_of_largest() {
  const auto largest = std::max_element(
      actors_.begin(), actors_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  must(largest != actors_.end() && largest->second.size() > 0, "too many requests are some");
  largest->second.forget_oldest();
  --size_;
}

}  // namespace subak
