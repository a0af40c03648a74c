// Pages: a size and an opaque token. The token is a number that the method understands: the last
// id, or an offset. A page also ends at limits::kMaxPageBytes, so that it fits a client's usual
// message limit.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "core/limits.h"
#include "server/api/convert/check.h"

namespace subak::api {

// A position in a list; a value.
struct Page {
  // Rows at most.
  std::size_t size = 0;
  // The position after which the page begins; 0: from the start.
  std::uint64_t after = 0;
};

// Reads a page's size and token. Size 0 means the default size.
// A size above the limit becomes the limit.
// `check` fails for a negative size, or a token that is not a number above 0; then do not use the
// result. A token is also accepted in a request with other filters.
inline Page read_page(Check& check, std::int32_t size, const std::string& token) {
  Page page;
  check.number("page_size", size, 0, INT32_MAX);
  const std::int32_t most = size == 0 ? limits::kDefaultPageSize : size;
  page.size = static_cast<std::size_t>(most > limits::kMaxPageSize ? limits::kMaxPageSize : most);
  if (token.empty()) return page;
  const char* end = token.data() + token.size();
  const auto [stop, ec] = std::from_chars(token.data(), end, page.after);
  if (ec != std::errc() || stop != end || page.after == 0) {
    check.fail("page_token", token, "want the next_page_token of the previous answer");
  }
  return page;
}

// Counts the rows and bytes of a page. add() returns false if the row just added is the last.
// Threads: one.
class PageMeter {
 public:
  explicit PageMeter(const Page& page) : left_(page.size) {}
  // `row_bytes`: the serialized size. The row is always part of the page, so each page has a row,
  // even if the row alone exceeds the limit. Do not call add() after it returned false.
  bool add(std::size_t row_bytes) {
    bytes_ += row_bytes;
    return --left_ > 0 && bytes_ < limits::kMaxPageBytes;
  }

 private:
  // Rows that the page may still get.
  std::size_t left_;
  std::size_t bytes_ = 0;
};

}  // namespace subak::api
