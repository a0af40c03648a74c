// Cuts outside texts before a message repeats them, so that no answer grows with its input.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// The most bytes that the note of cut_text() has, so that callers can subtract them from a bound.
inline constexpr std::size_t kCutNoteBytes = 40;
// Returns `text` if it has at most `most` bytes. Else returns its beginning and a note: "abc... (17
// more bytes)". The cut is between characters (UTF-8), so up to three bytes fewer than `most` may
// remain.
std::string cut_text(std::string_view text, std::size_t most = limits::kMaxEchoBytes);

// Returns the error with `field` and `got` cut at kMaxEchoBytes, and `want` at half of
// kMaxMessageBytes.
Error cut_error(const Error& error);

}  // namespace subak
