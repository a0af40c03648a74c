#include "server/runtime/checkpointer.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "server/codec/codec.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

// Returns the last UTC day whose rows are written at the time `now`, in days since 1970-01-01. The
// rows of a day come when it is closed, limits::kDayOpenMs after its end, or a little later.
std::int64_t closed_day(TimeMs now) { return (now - limits::kDayOpenMs - kMinuteMs) / kDayMs - 1; }

}  // namespace

Checkpointer::Checkpointer(Options options, Store& store)
    : options_(std::move(options)), store_(store) {}

void Checkpointer::found(std::uint64_t seq, std::uint64_t size) {
  seq_ = seq;
  size_ = size;
}

// No checkpoint is due while another is written: copy_slice() would have to wait for that write, and
// so would reads.
bool Checkpointer::is_due(const Engine& engine) const {
  if (options_.every == 0 || copy_ || writing_) return false;
  return engine.seq() - seq_ >= std::max(options_.every, size_ / 2);
}

void Checkpointer::begin(Engine& engine, std::string told) {
  seq_ = engine.seq();
  copy_ = Copy{seq_, {}, std::move(told), std::nullopt};
  engine.begin_copy(CopyFor::kCheckpoint, engine.now());
  if (options_.stepped) finish_copy(engine);
}

void Checkpointer::copy_slice(Engine& engine) {
  must(copy_.has_value(), "a copy is in progress");
  const bool complete = engine.copy_slice(limits::kCopySlice, [&](Fact&& fact) {
    if (!copy_->facts.add(fact)) copy_->error = codec::refusal(fact.body, kFactVersion);
  });
  if (!complete) return;
  wait();
  Copy made = *std::exchange(copy_, std::nullopt);
  size_ = made.facts.size();
  if (options_.stepped) return write(made);
  writing_ = true;
  thread_ = std::thread([this, copy = std::move(made)] {
    name_thread("checkpoint");
    write(copy);
  });
}

void Checkpointer::finish_copy(Engine& engine) {
  while (copy_) copy_slice(engine);
}

void Checkpointer::wait() {
  if (thread_.joinable()) thread_.join();
}

bool Checkpointer::are_days_due(const Engine& engine) const {
  if (copy_ || writing_ || stopping_) return false;
  return closed_day(engine.now()) > summed_day_;
}

void Checkpointer::add_day_sums(const Engine& engine) {
  summed_day_ = closed_day(engine.now());
  wait();
  if (options_.stepped) return write_day_sums();
  writing_ = true;
  thread_ = std::thread([this] {
    name_thread("day sums");
    write_day_sums();
    writing_ = false;
  });
}

void Checkpointer::write_day_sums() {
  if (const auto error = store_.add_day_sums([this] { return !stopping_; })) {
    log::warn("sums of days not written", {{"error", error->message()}});
  }
}

void Checkpointer::count_past(StoreReader& reader) {
  const auto all = reader.past_checkpoints();
  if (!all.ok()) return log::warn("past checkpoints not read", {{"error", all.error().message()}});
  std::uint64_t bytes = 0;
  for (const StoredCheckpoint& one : *all) bytes += one.bytes;
  past_.count = all->size();
  past_.bytes = bytes;
}

void Checkpointer::write_past(const Copy& copy) {
  if (const auto error = store_.add_past_checkpoint(copy.seq, [&] { return &copy.facts; })) {
    ++past_.failures;
    log::warn("past checkpoint not written", {{"seq", copy.seq}, {"error", error->message()}});
  }
  const auto reader = store_.open_reader();
  if (reader.ok()) count_past(**reader);
}

void Checkpointer::write(const Copy& copy) {
  std::optional<Error> error = copy.error;
  if (!error) error = store_.write_checkpoint(copy.seq, copy.facts);
  if (error) {
    log::warn("checkpoint not written", {{"seq", copy.seq}, {"error", error->message()}});
  } else if (const auto lost = store_.write_calibration(copy.told)) {
    log::warn("start estimates not stored", {{"seq", copy.seq}, {"error", lost->message()}});
  }
  options_.on_written(copy.seq, error);
  if (!error && !stopping_) write_past(copy);
  write_day_sums();
  writing_ = false;
}

}  // namespace subak
