// Smart pointers that own libcurl's handles and lists, and functions that assert success. Threads:
// one at a time for each object; any thread may call start().
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "core/must.h"

namespace subak::curl {

struct EasyEnd {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
// The handle of one transfer.
using Easy = std::unique_ptr<CURL, EasyEnd>;

struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
// A list of texts, such as headers. Empty: nullptr.
using List = std::unique_ptr<curl_slist, ListEnd>;

// Adds a copy of the text to the list.
inline void append(List& list, const std::string& text) {
  curl_slist* const longer = curl_slist_append(list.get(), text.c_str());
  must(longer != nullptr, "libcurl has memory");
  static_cast<void>(list.release());
  list.reset(longer);
}

// Sets an option of a transfer. Asserts that libcurl knows the option.
template <class... Value>
void set(CURL* easy, CURLoption option, Value... value) {
  must(curl_easy_setopt(easy, option, value...) == CURLE_OK, "libcurl knows the option");
}

// Starts libcurl at the first call. Call it before any other function of libcurl.
inline void start() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  must(once == CURLE_OK, "libcurl starts");
}
// Starts libcurl and returns a new handle.
inline Easy new_easy() {
  start();
  Easy easy(curl_easy_init());
  must(easy != nullptr, "libcurl has memory");
  return easy;
}

}  // namespace subak::curl
