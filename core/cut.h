// Texts from outside in messages: whoever repeats one cuts it first, so that no answer grows with
// what was sent. Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"

namespace subak {

// `text`, or its first `most` bytes and how many more there were: "abc... (17 more bytes)". Cut
// between characters (UTF-8), so up to three bytes fewer may stay. The note is at most
// kCutNoteBytes.
inline constexpr std::size_t kCutNoteBytes = 40;
std::string cut_text(std::string_view text, std::size_t most = limits::kMaxEchoBytes);

// The error as it leaves: field and value cut at kMaxEchoBytes, what is wanted at half of
// kMaxMessageBytes.
Error cut_error(const Error& error);

}  // namespace subak
