#include "server/http/assets.h"

#include <algorithm>
#include <string>

#include "server/http/header_text.h"

namespace subak {
namespace {

// Calls `fn` for each part of a list with commas, until it returns true. True: one call did.
template <class Fn>
bool any_of_list(std::string_view list, Fn fn) {
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    if (fn(trimmed(part))) return true;
    list.remove_prefix(std::min(list.size(), part.size() + 1));
  }
  return false;
}

// True if the browser reads gzip (RFC 9110, 12.5.3). A weight of 0 forbids it.
bool takes_gzip(std::string_view accept_encoding) {
  return any_of_list(accept_encoding, [](std::string_view part) {
    const std::string_view name = trimmed(part.substr(0, part.find(';')));
    if (name != "gzip" && name != "*") return false;
    const std::size_t weight = part.find("q=");
    return weight == std::string_view::npos ||
           part.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
  });
}

// True if the browser has these bytes (RFC 9110, 13.1.2).
bool has_it(std::string_view if_none_match, std::string_view etag) {
  return any_of_list(if_none_match, [etag](std::string_view part) {
    if (part.starts_with("W/")) part.remove_prefix(2);
    return part == etag || part == "*";
  });
}

}  // namespace

std::string_view assets_policy() {
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
         "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
         "frame-ancestors 'none'";
}

const Asset* Assets::find(std::string_view path) const {
  const auto it = std::find_if(files_.begin(), files_.end(),
                               [path](const Asset& asset) { return asset.path == path; });
  return it == files_.end() ? nullptr : &*it;
}

std::optional<HttpResponse> Assets::answer(std::string_view path, std::string_view accept_encoding,
                                           std::string_view if_none_match) const {
  const Asset* asset = find(path);
  const bool is_view = path.substr(path.rfind('/') + 1).find('.') == std::string_view::npos;
  if (asset == nullptr && is_view) asset = find("/");
  if (asset == nullptr) return std::nullopt;
  HttpResponse out{200, std::string(asset->content_type), ""};
  out.headers = "\r\nETag: " + std::string(asset->etag) + "\r\nVary: Accept-Encoding";
  out.headers += asset->immutable ? "\r\nCache-Control: private, max-age=31536000, immutable"
                                  : "\r\nCache-Control: no-cache";
  out.headers += "\r\nContent-Security-Policy: ";
  out.headers += assets_policy();
  if (has_it(if_none_match, asset->etag)) {
    out.status = 304;
    return out;
  }
  const bool packed = !asset->gzip.empty() && takes_gzip(accept_encoding);
  if (packed) out.headers += "\r\nContent-Encoding: gzip";
  out.body = packed ? asset->gzip : asset->body;
  return out;
}

}  // namespace subak
