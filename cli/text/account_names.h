// Turns names from other systems into names of accounts and users, and writes them into account
// files. Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

namespace subak::cli {

// True if the text may be one label of an account's path: characters a-z, 0-9, "-" and "_".
bool is_account_label(std::string_view text);
// True if the text has the form of an account's path: labels joined by dots, within the limits on
// levels and bytes.
bool is_account_path(std::string_view path);
// Returns a label that resembles the text: "Team.A" -> "team-a". The result has at most 63 bytes.
// It is empty only if the text is empty.
std::string account_label(std::string_view text);
// Returns a user's name that resembles the text: "ana b" -> "ana-b". The result has at most 63
// bytes. It is empty only if the text is empty.
std::string user_label(std::string_view text);

// Returns the text for a comment: at most limits::kMaxNameBytes bytes, and characters that could
// end the comment become "?".
std::string comment_text(std::string_view text);
// Returns the name as a YAML text. It has quotes if YAML could read the name as another type.
std::string quoted_name(const std::string& name);

}  // namespace subak::cli
