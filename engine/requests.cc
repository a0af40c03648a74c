#include "engine/requests.h"

#include <algorithm>

#include "core/limits.h"

namespace subak {

static_assert(limits::kMaxRequestIds < 1u << 22);  // numbers in use never meet

bool RequestLog::is(std::size_t place, std::string_view id) const {
  const Entry& entry = entries_[place];
  return entry.length == id.size() &&
         std::equal(id.begin(), id.end(),
                    text_.begin() + static_cast<std::ptrdiff_t>(entry.text - text_begin_));
}

std::string RequestLog::id(std::size_t place) const {
  const Entry& entry = entries_[place];
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(entry.text - text_begin_);
  return {begin, begin + static_cast<std::ptrdiff_t>(entry.length)};
}

std::uint32_t RequestLog::find_number(std::string_view id, std::uint32_t hash) const {
  return index_.find(mix_bits(hash),
                     [&](std::uint32_t number) { return is(place_of(number), id); });
}

const RememberedRequest* RequestLog::find(std::string_view id) const {
  const std::uint32_t number = find_number(id, hash(id));
  return number == FlatIndex::kNone ? nullptr : &entries_[place_of(number)].request;
}

void RequestLog::add(std::string_view id, const RememberedRequest& request) {
  const std::uint32_t hashed = hash(id);
  const std::uint32_t known = find_number(id, hashed);
  if (known != FlatIndex::kNone) {
    entries_[place_of(known)].request = request;
    return;
  }
  entries_.push_back(
      {request, text_begin_ + text_.size(), static_cast<std::uint32_t>(id.size()), hashed});
  text_.insert(text_.end(), id.begin(), id.end());
  index_.insert(mix_bits(hashed), number_of(entries_.size() - 1),
                [&](std::uint32_t number) { return mix_bits(entries_[place_of(number)].hash); });
  while (entries_.size() > limits::kMaxRequestIds ||
         entries_.front().request.at_ms + limits::kRequestIdLifeMs < request.at_ms) {
    forget_oldest();
  }
}

void RequestLog::forget_oldest() {
  index_.erase(mix_bits(entries_.front().hash), first_);
  const std::uint32_t length = entries_.front().length;
  text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(length));
  text_begin_ += length;
  entries_.pop_front();
  first_ = (first_ + 1) % kNumbers;
}

}  // namespace subak
