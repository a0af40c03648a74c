// The files of the console (the web pages of the service), which the build compiles into the
// program. Class `Assets` serves them. Threads: any; a table never changes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "net/listener.h"

namespace subak {

// A file in the program. All texts live as long as the program.
struct Asset {
  // The path in URLs: "/assets/main.js". "/" is the page itself.
  std::string_view path;
  // The value of Content-Type: "text/javascript; charset=utf-8".
  std::string_view content_type;
  // The value of ETag, with its quotes: "\"d41d8cd9\"". It changes with the bytes.
  std::string_view etag;
  // The bytes, and the same bytes as gzip. An empty `gzip`: only `body` is sent.
  std::string_view body;
  std::string_view gzip = {};
  // True: the path has a digest of the bytes, so browsers may keep the file for a year.
  bool immutable = false;
};

// Returns the files of this program, in any order. The build defines this function: in
// no_assets.cc, which returns no files, or in a generated file (SUBAK_CONSOLE_ASSETS in CMake).
std::span<const Asset> console_assets();

// A table of files.
class Assets {
 public:
  // `files` must outlive this object.
  explicit Assets(std::span<const Asset> files) : files_(files) {}
  bool empty() const { return files_.empty(); }
  // Returns the answer for a GET or HEAD of `path`; nullopt: there is no such file. If no file has
  // the path and its last part has no dot, the path is a view of the page, so the answer is the
  // page "/". Answers 304 if the browser has the file. `accept_encoding`, `if_none_match`: the
  // headers of the request.
  std::optional<HttpResponse> answer(std::string_view path, std::string_view accept_encoding,
                                     std::string_view if_none_match) const;

 private:
  const Asset* find(std::string_view path) const;

  std::span<const Asset> files_;
};

// Returns the Content-Security-Policy of pages that are made of assets: all resources come from the
// page's origin, none is inline, and no other page can frame the page.
std::string_view assets_policy();

}  // namespace subak
