#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "server/log/thread_name.h"
#include "server/runtime/runtime.h"

namespace subak {
namespace {

// Facts in order, and the number that the engine stands at after them if they end a checkpoint.
struct Chunk {
  std::vector<Fact> facts;
  std::optional<std::uint64_t> seq;
};

// From the thread that reads and decodes to the one that evolves; put() waits while it is full.
class ChunkQueue {
 public:
  void put(Chunk chunk) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return chunks_.size() < limits::kRecoverChunks; });
    chunks_.push_back(std::move(chunk));
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<Chunk> take() {  // none: closed and empty
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !chunks_.empty(); });
    if (chunks_.empty()) return std::nullopt;
    Chunk chunk = std::move(chunks_.front());
    chunks_.pop_front();
    changed_.notify_all();
    return chunk;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;
  bool closed_ = false;
};

class ChunkSink final : public FactSink {
 public:
  explicit ChunkSink(ChunkQueue& queue) : queue_(queue) {}
  void checkpoint_fact(Fact fact) override { this->fact(std::move(fact)); }
  void checkpoint_end(std::uint64_t seq) override {
    chunk_.seq = seq;
    flush();
  }
  void fact(Fact fact) override {
    chunk_.facts.push_back(std::move(fact));
    if (chunk_.facts.size() == limits::kRecoverChunkFacts) flush();
  }
  void flush() {
    queue_.put(std::exchange(chunk_, Chunk()));
    chunk_.facts.reserve(limits::kRecoverChunkFacts);
  }

 private:
  ChunkQueue& queue_;
  Chunk chunk_;
};

}  // namespace

// A store that is no file has a database behind it with ways of its own.
Result<std::string> Store::make_copy(const std::function<bool()>&) {
  return Error{ErrorCode::kPrecondition, "backup", describe(),
               "want a store of one file; others are backed up with their database's own tools"};
}

Result<Recovered> recover_engine(StoreReader& reader, Engine& engine) {
  ChunkQueue queue;
  std::optional<Result<Recovered>> recovered;
  std::thread reading([&] {
    name_thread("recover");
    ChunkSink sink(queue);
    recovered = reader.recover(sink);
    sink.flush();
    queue.close();
  });
  while (const auto chunk = queue.take()) {
    for (const Fact& fact : chunk->facts) engine.evolve(fact);
    if (chunk->seq) engine.set_seq(*chunk->seq);
  }
  reading.join();
  return *std::move(recovered);
}

}  // namespace subak
