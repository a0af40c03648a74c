// Reads and writes the parts of a sign-in: the cookie, the body and the page. All are plain
// functions. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "net/listener.h"

namespace subak::browser {

// The cookie with the secret of a session. The prefix makes browsers accept the cookie only over
// TLS or from this machine, without a domain, and for all paths.
inline constexpr std::string_view kCookie = "__Host-subak";

// Returns the secret in the header Cookie; empty: there is no secret of the right form.
std::string_view session_of(std::string_view cookies);
// Return the header Set-Cookie, as "\r\nSet-Cookie: ...", that stores a secret or removes it.
std::string set_cookie(std::string_view secret);
std::string remove_cookie();

// Returns the authorization for Sessions::caller(): the token of the request's header
// Authorization, else the session of its cookie, else an empty text.
std::string authorization_of(const HttpRequest& request);

// A request to sign in.
struct SignIn {
  std::string token;
  // The page to show next, on this host: "/queue".
  std::string to = "/";
  // True: the request is a form of the page, so the answer is a page too.
  bool from_page = false;
};
// Reads the body of POST /login: a form (token=...&to=...) or JSON ({"token": "..."}).
Result<SignIn> parse_sign_in(const HttpRequest& request);
// Returns the path if it is one of this host, else "/". So a link cannot lead a visitor to another
// host.
std::string own_path(std::string_view path);

// Returns the page with the form. `to`: the page to show after the sign-in. `refusal`: why the last
// sign-in failed; empty: there was none.
HttpResponse sign_in_page(std::string_view to, std::string_view refusal, int status);

// True if a page of another origin caused the request (headers Origin and Sec-Fetch-Site). A
// request without these headers does not come from such a page.
bool is_foreign(const HttpRequest& request);
// True if a visitor followed a link from another site.
bool is_followed_link(const HttpRequest& request);
// True if the connection's other end is on this machine.
bool is_local(const Peer& peer);
// Returns "ipv4:10.0.0.7:4711" or "ipv6:[fd00::1]:4711".
std::string address_text(const Peer& peer);

}  // namespace subak::browser
