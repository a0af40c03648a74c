// Reads and makes small parts of HTTP headers. Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

namespace subak {

// Returns the text without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text);
// Returns the expression by which a Content-Security-Policy allows an inline script or style with
// this text (CSP level 3, 2.3.1).
std::string policy_hash(std::string_view text);

}  // namespace subak
