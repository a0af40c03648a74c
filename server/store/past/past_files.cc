#include "server/store/past/past_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/limits.h"
#include "server/codec/past_checkpoint_limits.h"
#include "server/store/file/copy.h"
#include "server/store/file/refusals.h"
#include "server/store/file/row_sum.h"
#include "server/store/file/whole_file.h"
#include "server/store/past/past_checkpoint.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// Returns the number in the name of a file; nullopt: the name is no number.
std::optional<std::uint64_t> number_of(const std::string& name) {
  std::uint64_t seq = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), seq);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return std::to_string(seq) == name ? std::optional(seq) : std::nullopt;
}

// Returns at most `most` bytes of the file; empty: it cannot be read.
std::string first_bytes(const std::string& path, std::size_t most) {
  std::ifstream in(path, std::ios::binary);
  std::string out(most, '\0');
  in.read(out.data(), static_cast<std::streamsize>(most));
  out.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return out;
}

// Returns the names of the files in the folder; empty: there is no folder.
Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return out;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    out.push_back(it->path().filename().string());
  }
  if (error) return refuse_store(folder, error.message(), "want a folder that can be read");
  return out;
}

}  // namespace

Result<std::uint32_t> PastFiles::sum_of_fact(std::uint64_t seq) {
  Statement row;
  if (!row.prepare(db_, "SELECT sum FROM facts WHERE seq = ?")) return db_.error("store.past");
  row.bind(1, seq);
  if (row.step()) return sum_of(row.number(0));
  if (row.failed()) return db_.error("store.past");
  return Error{ErrorCode::kNotFound, "store.past", std::to_string(seq), "want a fact of the store"};
}

Result<std::optional<StoredCheckpoint>> PastFiles::look_at(std::uint64_t seq) {
  const std::string path = path_of(seq);
  const auto head = read_past_head(first_bytes(path, kPastHeadBytes), seed_);
  if (!head || head->seq != seq) return std::optional<StoredCheckpoint>();
  const auto sum = sum_of_fact(seq);
  if (!sum.ok() && sum.error().code != ErrorCode::kNotFound) return sum.error();
  if (!sum.ok() || *sum != head->anchor) return std::optional<StoredCheckpoint>();
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, file_size(path)));
  return std::optional(StoredCheckpoint{seq, head->facts, bytes});
}

Result<std::vector<StoredCheckpoint>> PastFiles::list() {
  const auto names = names_in(folder_);
  if (!names.ok()) return names.error();
  std::vector<StoredCheckpoint> out;
  for (const std::string& name : *names) {
    const auto seq = number_of(name);
    if (!seq) continue;
    const auto one = look_at(*seq);
    if (!one.ok()) return one.error();
    if (*one) out.push_back(**one);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  return out;
}

std::optional<Error> PastFiles::write(std::uint64_t seq, std::string_view bytes) {
  std::error_code error;
  if (fs::create_directory(folder_, error)) {
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  if (error) return refuse_store(folder_, error.message(), "want a folder that can be made");
  const std::string path = path_of(seq);
  const auto needed = static_cast<std::int64_t>(bytes.size()) + limits::kSpareDiskBytes;
  if (auto full = check_room(path, needed)) return full;
  auto failed = write_whole_file(path, bytes);
  if (failed) fs::remove(path + ".new", error);
  return failed;
}

std::optional<Error> PastFiles::keep_only(std::span<const StoredCheckpoint> kept) {
  const auto names = names_in(folder_);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    const auto seq = number_of(name);
    const bool stays = seq && std::any_of(kept.begin(), kept.end(),
                                          [&](const auto& one) { return one.seq == *seq; });
    std::error_code error;
    if (!stays) fs::remove(folder_ + "/" + name, error);
    if (error) return refuse_store(folder_, error.message(), "want files that can be removed");
  }
  return std::nullopt;
}

std::optional<Error> PastFiles::read(std::uint64_t seq, std::uint32_t version, FactSink& sink) {
  const auto found = look_at(seq);
  if (!found.ok()) return found.error();
  if (!*found || (*found)->bytes > limits::kMaxPastCheckpointBytes) {
    return refuse_store(path_of(seq), "not a past checkpoint of this store", "want it as written");
  }
  const std::string bytes = first_bytes(path_of(seq), static_cast<std::size_t>((*found)->bytes));
  return decode_past_checkpoint(bytes, seed_, version, sink);
}

}  // namespace subak
