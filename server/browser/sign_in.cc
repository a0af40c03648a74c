#include "server/browser/sign_in.h"

#include <arpa/inet.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "core/limits.h"
#include "core/printable.h"
#include "server/api/common/browser_limits.h"
#include "server/browser/connect.h"
#include "server/http/header_text.h"

namespace subak::browser {
namespace {

constexpr std::size_t kSecretDigits = 64;
constexpr std::array<std::uint8_t, 12> kMappedIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;margin:4em auto;max-width:24em;padding:0 1em}"
    "label,input,button{display:block;width:100%;box-sizing:border-box;font:inherit}"
    "input,button{padding:.5em;margin:.3em 0 1em}#refusal{color:#a00}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}#refusal{color:#f88}}";

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

Error bad(std::string field, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), "", std::move(want)};
}

Result<SignIn> parse_json(std::string_view body) {
  boost::system::error_code ec;
  boost::json::parse_options options;
  options.max_depth = 4;
  const boost::json::value value =
      boost::json::parse({body.data(), body.size()}, ec, boost::json::storage_ptr(), options);
  const auto* const object = ec ? nullptr : value.if_object();
  const auto* const token = object == nullptr ? nullptr : object->if_contains("token");
  if (token == nullptr || !token->is_string()) return bad("body", R"(want {"token": "..."})");
  return SignIn{std::string(token->get_string()), "/", false};
}

}  // namespace

std::string_view session_of(std::string_view cookies) {
  while (!cookies.empty()) {
    const std::string_view part = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookies.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || trimmed(part.substr(0, equals)) != kCookie) continue;
    const std::string_view secret = trimmed(part.substr(equals + 1));
    const bool is_secret = secret.size() == kSecretDigits &&
                           secret.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    return is_secret ? secret : std::string_view();
  }
  return {};
}

std::string set_cookie(std::string_view secret) {
  return "\r\nSet-Cookie: " + std::string(kCookie) + "=" + std::string(secret) +
         "; Path=/; Max-Age=" + std::to_string(limits::kSessionLifeMs / kSecondMs) +
         "; Secure; HttpOnly; SameSite=Strict";
}

std::string remove_cookie() {
  return "\r\nSet-Cookie: " + std::string(kCookie) +
         "=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict";
}

std::string authorization_of(const HttpRequest& request) {
  const std::string_view given = request.header("Authorization");
  // A header with another scheme than Bearer is no token that anybody has.
  if (!given.empty()) return same(given.substr(0, 7), "bearer ") ? std::string(given) : "none";
  const std::string_view secret = session_of(request.header("Cookie"));
  return secret.empty() ? std::string() : "Session " + std::string(secret);
}

Result<SignIn> parse_sign_in(const HttpRequest& request) {
  if (request.too_large || request.body.size() > limits::kMaxBrowserBodyBytes) {
    return bad("body", "want at most " + std::to_string(limits::kMaxBrowserBodyBytes) + " bytes");
  }
  const std::string_view body(request.body.data(), request.body.size());
  const std::string_view type = request.header("Content-Type");
  const std::string_view name = trimmed(type.substr(0, type.find(';')));
  if (same(name, "application/json")) return parse_json(body);
  if (!same(name, "application/x-www-form-urlencoded")) {
    return bad("Content-Type", "want application/json or application/x-www-form-urlencoded");
  }
  const std::string query = "?" + std::string(body);
  SignIn out{parameter_of(query, "token"), own_path(parameter_of(query, "to")), true};
  out.token = trimmed(out.token);
  return out;
}

std::string own_path(std::string_view path) {
  const bool is_own =
      path.starts_with('/') && !path.starts_with("//") && path.size() <= limits::kMaxReasonBytes &&
      std::all_of(path.begin(), path.end(),
                  [](char c) { return c > ' ' && c < 0x7f && c != '\\' && c != '"' && c != ';'; });
  return is_own ? std::string(path) : "/";
}

HttpResponse sign_in_page(std::string_view to, std::string_view refusal, int status) {
  HttpResponse out{status, "text/html; charset=utf-8", ""};
  out.body =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>Subak: sign in</title><style>";
  out.body += kStyle;
  out.body += "</style></head><body><main><h1>Subak</h1>";
  if (!refusal.empty()) {
    out.body += "<p id=\"refusal\" role=\"alert\">" + html_text(refusal) + "</p>";
  }
  out.body +=
      "<form method=\"post\" action=\"/login\"><input type=\"hidden\" name=\"to\" value=\"" +
      html_text(own_path(to)) +
      "\"><label for=\"token\">Token</label><input id=\"token\" name=\"token\" "
      "type=\"password\" autocomplete=\"current-password\" required autofocus>"
      "<button>Sign in</button></form></main></body></html>\n";
  out.headers =
      "\r\nCache-Control: no-store\r\nContent-Security-Policy: default-src 'none'; style-src " +
      policy_hash(kStyle) + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  return out;
}

bool is_foreign(const HttpRequest& request) {
  const std::string_view origin = request.header("Origin");
  if (!origin.empty()) {
    const std::size_t scheme = origin.find("://");
    return scheme == std::string_view::npos || !same(origin.substr(scheme + 3), request.host);
  }
  const std::string_view site = request.header("Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

bool is_followed_link(const HttpRequest& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  return request.header("Sec-Fetch-Mode") == "navigate" &&
         (site == "cross-site" || site == "same-site");
}

bool is_local(const Peer& peer) {
  std::array<std::uint8_t, 16> ipv6_loopback{};
  ipv6_loopback.back() = 1;
  if (peer.address == ipv6_loopback) return true;
  return std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), peer.address.begin()) &&
         peer.address[12] == 127;
}

std::string address_text(const Peer& peer) {
  const bool v4 = std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), peer.address.begin());
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(v4 ? AF_INET : AF_INET6, peer.address.data() + (v4 ? kMappedIpv4.size() : 0),
            text.data(), text.size());
  const std::string port = ":" + std::to_string(peer.port);
  return v4 ? "ipv4:" + std::string(text.data()) + port
            : "ipv6:[" + std::string(text.data()) + "]" + port;
}

}  // namespace subak::browser
