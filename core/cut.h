// Texts from outside in messages: whoever repeats one cuts it first, so that no answer grows with
// what was sent. Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// No note of cut_text() is longer.
inline constexpr std::size_t kCutNoteBytes = 40;
// `text` if it has at most `most` bytes. Else its beginning and a note: "abc... (17 more bytes)".
// Cut between characters (UTF-8), so up to three bytes fewer than `most` may stay.
std::string cut_text(std::string_view text, std::size_t most = limits::kMaxEchoBytes);

// The error as it leaves: `field` and `got` cut at kMaxEchoBytes, `want` at half of
// kMaxMessageBytes.
Error cut_error(const Error& error);

}  // namespace subak
