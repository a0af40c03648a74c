#include "server/store/proof/log_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>
#include <vector>

#include "server/store/file/refusals.h"

namespace subak {
namespace {

// https://www.sqlite.org/fileformat2.html#walformat
constexpr std::uint64_t kHeaderBytes = 32;
constexpr std::uint64_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // + 1: checksums over big-endian words
constexpr std::uint32_t kVersion = 3007000;
constexpr std::uint64_t kSectorBytes = 512;  // written completely or not at all
constexpr std::uint32_t kLeastPage = 512;
constexpr std::uint32_t kMostPage = 65536;

using Pair = std::array<std::uint32_t, 2>;

std::uint32_t word(const char* bytes, bool big_endian) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  const bool swap = big_endian != (std::endian::native == std::endian::big);
  return swap ? __builtin_bswap32(value) : value;
}

Pair pair_at(const char* bytes) { return {word(bytes, true), word(bytes + 4, true)}; }

// Returns SQLite's checksum over whole pairs of words.
Pair add_up(Pair sum, std::string_view bytes, bool big_endian) {
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    sum[0] += word(bytes.data() + i, big_endian) + sum[1];
    sum[1] += word(bytes.data() + i + 4, big_endian) + sum[0];
  }
  return sum;
}

struct Frame {
  std::uint32_t page = 0;
  std::uint32_t commit = 0;  // pages of the store after the commit it ends; else 0
  Pair salt{}, sum{};
  std::string bytes;  // header and page
};

class LogScan {
 public:
  LogScan(const std::string& path, std::uint64_t log_bytes)
      : path_(path), log_(path + "-wal"), file_(log_, std::ios::binary), log_bytes_(log_bytes) {}

  std::optional<Error> run();

 private:
  bool read_header();
  std::uint32_t page_of_store() const;
  std::uint64_t place(std::uint64_t i) const {
    return kHeaderBytes + i * (kFrameHeaderBytes + page_bytes_);
  }
  bool read(std::uint64_t i, Frame& frame);
  Pair sum_from(Pair before, const Frame& frame) const;
  bool commit_is_sure(std::uint64_t i, const Frame& frame) const;
  std::optional<Error> behind(std::uint64_t broken, const Frame& frame, Pair sum);
  std::optional<Error> without_header();
  std::uint64_t last_commit(Pair salt, std::map<std::uint32_t, std::uint64_t>& pages);
  bool store_has(const std::map<std::uint32_t, std::uint64_t>& pages);
  Error damaged(const std::string& what) const { return damaged_store(log_, what); }

  const std::string path_, log_;
  std::ifstream file_;
  const std::uint64_t log_bytes_;
  std::uint64_t page_bytes_ = 0, frames_ = 0;
  bool big_endian_ = std::endian::native == std::endian::big;
  Pair salt_{}, header_sum_{};
};

std::uint32_t LogScan::page_of_store() const {
  std::array<char, 18> head{};
  std::ifstream store(path_, std::ios::binary);
  store.read(head.data(), head.size());
  const std::uint32_t high = static_cast<std::uint8_t>(head[16]);
  const std::uint32_t page = high << 8 | static_cast<std::uint8_t>(head[17]);
  return page == 1 ? kMostPage : page;
}

bool LogScan::read_header() {
  std::array<char, kHeaderBytes> bytes{};
  file_.read(bytes.data(), bytes.size());
  const std::uint32_t magic = word(bytes.data(), true);
  const std::uint32_t page = word(bytes.data() + 8, true);
  const bool known = (magic & ~1U) == kMagic && word(bytes.data() + 4, true) == kVersion &&
                     std::has_single_bit(page) && page >= kLeastPage && page <= kMostPage;
  if (known) big_endian_ = (magic & 1) != 0;
  salt_ = pair_at(bytes.data() + 16);
  header_sum_ = pair_at(bytes.data() + 24);
  const bool whole = known && add_up({}, {bytes.data(), 24}, big_endian_) == header_sum_;
  page_bytes_ = whole ? page : page_of_store();
  if (page_bytes_ >= kLeastPage) {
    frames_ = (log_bytes_ - kHeaderBytes) / (kFrameHeaderBytes + page_bytes_);
  }
  return whole;
}

bool LogScan::read(std::uint64_t i, Frame& frame) {
  frame.bytes.resize(kFrameHeaderBytes + page_bytes_);
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(place(i)));
  if (!file_.read(frame.bytes.data(), static_cast<std::streamsize>(frame.bytes.size()))) {
    return false;
  }
  frame.page = word(frame.bytes.data(), true);
  frame.commit = word(frame.bytes.data() + 4, true);
  frame.salt = pair_at(frame.bytes.data() + 8);
  frame.sum = pair_at(frame.bytes.data() + 16);
  return true;
}

Pair LogScan::sum_from(Pair before, const Frame& frame) const {
  const std::string_view bytes = frame.bytes;
  return add_up(add_up(before, bytes.substr(0, 8), big_endian_), bytes.substr(kFrameHeaderBytes),
                big_endian_);
}

// True if the frame's commit word is certain. The next frame confirms the checksums in its header.
// The words before them are as certain if they lie in the same sector.
bool LogScan::commit_is_sure(std::uint64_t i, const Frame& frame) const {
  const std::uint64_t first = place(i) / kSectorBytes;
  const std::uint64_t last = (place(i) + kFrameHeaderBytes - 1) / kSectorBytes;
  return frame.commit != 0 && frame.salt == salt_ && first == last;
}

std::optional<Error> LogScan::run() {
  if (!file_) return refuse_store(log_, std::strerror(errno), "want a file that can be read");
  if (log_bytes_ <= kHeaderBytes) return std::nullopt;
  if (!read_header()) return without_header();
  Pair sum = header_sum_;
  Frame frame;
  for (std::uint64_t i = 0; i < frames_; ++i) {
    if (!read(i, frame)) return refuse_store(log_, "cannot be read", "want a disk that reads");
    const Pair next = sum_from(sum, frame);
    if (frame.salt != salt_ || frame.sum != next) return behind(i, frame, next);
    sum = next;
  }
  return std::nullopt;
}

// Examines the frames behind a broken one. `sum`: the checksum of the broken frame by its content.
// The content is right if the frame's own checksum, or that of the next frame, matches.
std::optional<Error> LogScan::behind(std::uint64_t broken, const Frame& frame, Pair sum) {
  Frame before = frame, next;
  bool sure = frame.sum == sum;            // `before` has the content that was written
  bool ended = sure && frame.commit != 0;  // its transaction is complete
  for (std::uint64_t i = broken + 1; i < frames_ && read(i, next); ++i) {
    const bool by_content = i == broken + 1 && sum_from(sum, next) == next.sum;
    const bool whole = next.salt == salt_ && (by_content || sum_from(before.sum, next) == next.sum);
    if (whole) {
      if (!sure) ended = ended || (by_content ? before.commit != 0 : commit_is_sure(i - 1, before));
      if (ended) {
        return damaged("frame " + std::to_string(broken + 1) + " (byte " +
                       std::to_string(place(broken)) + ") is not what was written, and frame " +
                       std::to_string(i + 1) + " of a later transaction is whole");
      }
      ended = next.commit != 0;
    }
    sure = whole;
    std::swap(before, next);
  }
  return std::nullopt;
}

// Finds where each page's last version lies, up to the last commit of the frames that continue from
// the first one. Returns the number of these frames.
std::uint64_t LogScan::last_commit(Pair salt, std::map<std::uint32_t, std::uint64_t>& pages) {
  std::map<std::uint32_t, std::uint64_t> open;
  std::uint64_t end = 0;
  Frame before, frame;
  for (std::uint64_t i = 0; i < frames_ && read(i, frame); ++i) {
    if (frame.salt != salt || (i > 0 && sum_from(before.sum, frame) != frame.sum)) break;
    open[frame.page] = i;
    if (frame.commit != 0) {
      pages = open;
      end = i + 1;
    }
    std::swap(before, frame);
  }
  return end;
}

bool LogScan::store_has(const std::map<std::uint32_t, std::uint64_t>& pages) {
  std::ifstream store(path_, std::ios::binary);
  std::string there(page_bytes_, '\0');
  Frame frame;
  for (const auto& [page, i] : pages) {
    store.seekg(static_cast<std::streamoff>((page - 1) * page_bytes_));
    if (page == 0 || !store.read(there.data(), static_cast<std::streamsize>(page_bytes_)) ||
        !read(i, frame) || std::string_view(frame.bytes).substr(kFrameHeaderBytes) != there) {
      return false;
    }
  }
  return true;
}

// A power cut can leave such a header when the log restarts. Then the store has the content of all
// frames behind it. SQLite takes the log for empty.
std::optional<Error> LogScan::without_header() {
  Frame first;
  if (frames_ == 0 || !read(0, first)) return std::nullopt;
  std::map<std::uint32_t, std::uint64_t> pages;
  const std::uint64_t end = last_commit(first.salt, pages);
  if (store_has(pages)) return std::nullopt;
  return damaged("its header (byte 0) is not what was written, and " + std::to_string(end) +
                 " frames behind it are whole");
}

}  // namespace

std::optional<Error> check_log(const std::string& path) {
  const std::int64_t bytes = file_size(path + "-wal");
  if (bytes <= 0) return std::nullopt;
  if (file_size(path) <= 0) {
    return damaged_store(path, "the file is empty, but its log " + path + "-wal is not");
  }
  return LogScan(path, static_cast<std::uint64_t>(bytes)).run();
}

}  // namespace subak
