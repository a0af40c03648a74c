// Reads which page of a list a request asks for, and counts the rows of a page. A request for a
// page has a size and an opaque token. For the server, the token is a number: the last id of the
// previous page, or an offset, as the method chooses. A page has at most about
// limits::kMaxPageBytes, so that clients accept it with their usual limit on messages.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "core/limits.h"
#include "server/api/convert/check.h"

namespace subak::api {

// The page that a request asks for.
struct Page {
  // The largest number of rows.
  std::size_t size = 0;
  // The last id or the offset that the token names; 0: this is the first page of the list.
  std::uint64_t after = 0;
};

// Reads the size and the token of a page. Size 0 means the default size, and a size above the limit
// means the limit. It is a mistake if the size is negative, or if the token is not a number above
// 0; do not use the result after that. The function accepts a token even if the filters of the
// request have changed since the previous page.
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

// Counts the rows and bytes of a page, whose size must be above 0. Threads: one at a time.
class PageMeter {
 public:
  explicit PageMeter(const Page& page) : left_(page.size) {}
  // Counts a row after it was added to the page. `row_bytes`: the serialized size of it. False:
  // the page is full, and this row is its last row. The row stays in the page even if the page then
  // exceeds the limit, so each page has at least one row. Do not call add() again after it has
  // returned false.
  bool add(std::size_t row_bytes) {
    bytes_ += row_bytes;
    return --left_ > 0 && bytes_ < limits::kMaxPageBytes;
  }

 private:
  // How many rows the page may still get.
  std::size_t left_;
  std::size_t bytes_ = 0;
};

}  // namespace subak::api
