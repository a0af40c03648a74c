// Cuts texts from outside before a message repeats them. So no answer grows with the size of its
// input.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// The largest size of the note that cut_text() adds. Callers with a bound subtract this size from
// their bound.
inline constexpr std::size_t kCutNoteBytes = 40;
// Returns `text` if it has at most `most` bytes. Else returns its beginning and a note: "abc... (17
// more bytes)". It cuts only between UTF-8 characters, so the beginning may be up to three bytes
// shorter than `most`.
std::string cut_text(std::string_view text, std::size_t most = limits::kMaxEchoBytes);

// Returns the error with `field` and `got` cut at kMaxEchoBytes, and `want` at half of
// kMaxMessageBytes.
Error cut_error(const Error& error);

}  // namespace subak
