#include <algorithm>

#include "sim/read/rng.h"
#include "tests/server/store/support/forgetting_disk.h"

namespace subak::test {
namespace {

using Kind = DiskChange::Kind;
constexpr std::size_t kSector = 512;

enum class Luck : std::uint8_t { kNothing, kAll, kChanges, kSectors, kTorn };
constexpr std::uint64_t kLucks = 5;

void put(std::string& file, std::uint64_t at, const char* bytes, std::size_t size) {
  if (file.size() < at + size) file.resize(at + size, '\0');
  std::copy_n(bytes, size, file.begin() + static_cast<std::ptrdiff_t>(at));
}

// The file has grown for a write whose bytes did not arrive: what was on the disk before is there.
void grow(std::string& file, std::uint64_t size, sim::Rng& rng) {
  const char old = rng.percent(50) ? '\0' : '\xa5';
  if (file.size() < size) file.resize(size, old);
}

void write_sectors(std::string& file, const DiskChange& change, bool torn, sim::Rng& rng) {
  for (std::size_t done = 0; done < change.bytes.size();) {
    const std::size_t left = change.bytes.size() - done;
    const std::size_t sector = std::min(kSector - (change.at + done) % kSector, left);
    const std::size_t arrived = torn && rng.percent(30) ? rng.below(sector) : sector;
    if (rng.percent(60)) put(file, change.at + done, change.bytes.data() + done, arrived);
    done += sector;
  }
  if (rng.percent(30)) grow(file, change.at + change.bytes.size(), rng);
}

void apply(std::string& file, const DiskChange& change) {
  if (change.kind == Kind::kTruncate) file.resize(change.at, '\0');
  if (change.kind == Kind::kWrite) put(file, change.at, change.bytes.data(), change.bytes.size());
}

void apply(std::string& file, const DiskChange& change, Luck luck, sim::Rng& rng) {
  if (luck == Luck::kNothing) return;
  if (luck == Luck::kAll) return apply(file, change);
  if (luck == Luck::kChanges || change.kind == Kind::kTruncate) {
    if (rng.percent(50)) apply(file, change);
    return;
  }
  write_sectors(file, change, luck == Luck::kTorn, rng);
}

void apply(std::map<std::string, std::size_t>& names, const DiskChange& change) {
  if (change.kind == Kind::kCreate) names[change.bytes] = change.file;
  if (change.kind == Kind::kRemove) names.erase(change.bytes);
}

bool is_name(const DiskChange& change) {
  return change.kind == Kind::kCreate || change.kind == Kind::kRemove;
}

}  // namespace

PowerCut::PowerCut(const Files& before, const std::vector<DiskChange>& history)
    : history_(history) {
  for (const auto& [name, bytes] : before) {
    names_[name] = files_.size();
    files_.push_back({bytes, {}});
  }
}

void PowerCut::pass(const DiskChange& change) {
  if (change.kind == Kind::kCreate) files_.resize(std::max(files_.size(), change.file + 1));
  if (is_name(change)) pending_names_.push_back(&change);
  if (change.kind == Kind::kSync) {
    File& file = files_[change.file];
    for (const DiskChange* pending : file.pending) apply(file.durable, *pending);
    file.pending.clear();
  } else if (!is_name(change)) {
    files_[change.file].pending.push_back(&change);
  }
  if (!change.folder) return;
  for (const DiskChange* pending : pending_names_) apply(names_, *pending);
  pending_names_.clear();
}

Files PowerCut::at(std::uint64_t point, std::uint64_t seed) {
  while (next_ < point) pass(history_[next_++]);
  sim::Rng rng(seed);
  const auto luck = static_cast<Luck>(rng.below(kLucks));
  const DiskChange* current = point < history_.size() ? &history_[point] : nullptr;
  std::map<std::string, std::size_t> names = names_;
  const auto name = [&](const DiskChange& change) {
    if (luck == Luck::kAll || (luck != Luck::kNothing && rng.percent(50))) apply(names, change);
  };
  for (const DiskChange* pending : pending_names_) name(*pending);
  if (current != nullptr && is_name(*current)) name(*current);
  Files out;
  for (const auto& [path, number] : names) {
    std::string& bytes = out[path];
    if (number >= files_.size()) continue;  // being made
    bytes = files_[number].durable;
    for (const DiskChange* pending : files_[number].pending) apply(bytes, *pending, luck, rng);
    const bool ours = current != nullptr && current->file == number && !is_name(*current);
    if (ours && current->kind != Kind::kSync) apply(bytes, *current, luck, rng);
  }
  return out;
}

}  // namespace subak::test
