#include "engine/requests.h"

#include <algorithm>

#include "core/limits.h"

namespace subak {

std::string RequestLog::id(std::size_t place) const {
  const Entry& entry = entries_[place];
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(entry.text - text_begin_);
  return {begin, begin + static_cast<std::ptrdiff_t>(entry.length)};
}

const RememberedRequest* RequestLog::find(std::string_view id) const {
  const auto it = index_.find(id);
  return it == index_.end() ? nullptr : &entries_[place_of(*it)].request;
}

void RequestLog::add(std::string_view id, const RememberedRequest& request) {
  if (const auto it = index_.find(id); it != index_.end()) {
    entries_[place_of(*it)].request = request;
    return;
  }
  entries_.push_back({request, text_begin_ + text_.size(), static_cast<std::uint32_t>(id.size())});
  text_.insert(text_.end(), id.begin(), id.end());
  index_.insert(first_ + static_cast<std::uint32_t>(entries_.size() - 1));
  while (entries_.size() > limits::kMaxRequestIds ||
         entries_.front().request.at_ms + limits::kRequestIdLifeMs < request.at_ms) {
    forget_oldest();
  }
}

void RequestLog::forget_oldest() {
  index_.erase(first_);
  const std::uint32_t length = entries_.front().length;
  text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(length));
  text_begin_ += length;
  entries_.pop_front();
  ++first_;
}

}  // namespace subak
