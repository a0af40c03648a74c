// Cuts texts that callers sent before a message repeats them. So a message stays short even if a
// text is long.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// The largest size of the note that cut_text() adds. A caller that limits the size of the result
// subtracts this size from its limit.
inline constexpr std::size_t kCutNoteBytes = 40;
// Returns `text` if it has at most `most` bytes. Else returns the beginning of the text and a note:
// "abc... (17 more bytes)". The cut is between UTF-8 characters, so the beginning may be up to
// three bytes shorter than `most`.
std::string cut_text(std::string_view text, std::size_t most = limits::kMaxEchoBytes);

// Returns a copy of the error with shortened texts: `field` and `got` have at most kMaxEchoBytes,
// `want` half of kMaxMessageBytes.
Error cut_error(const Error& error);

}  // namespace subak
