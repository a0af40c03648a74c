#include "server/runtime/store_thread.h"

#include <cassert>
#include <utility>

#include "server/log/thread_name.h"

namespace subak {

StoreThread::StoreThread(Store& store, const Clock& clock, std::function<void(Done)> done)
    : store_(store), clock_(clock), done_(std::move(done)), thread_([this] { run(); }) {}

StoreThread::~StoreThread() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StoreThread::commit(std::shared_ptr<const std::vector<Fact>> facts) {
  {
    const MutexLock lock(mutex_);
    assert(batch_ == nullptr);
    batch_ = std::move(facts);
  }
  wake_.notify_all();
}

void StoreThread::run() {
  name_thread("store");
  while (true) {
    std::shared_ptr<const std::vector<Fact>> batch;
    {
      MutexLock lock(mutex_);
      wake_.wait(lock, [&]() SUBAK_REQUIRES(mutex_) { return batch_ != nullptr || stopping_; });
      if (batch_ == nullptr) return;
      batch = std::exchange(batch_, nullptr);
    }
    Done done = commit_now(store_, clock_, *batch);
    batch = nullptr;
    done_(std::move(done));
  }
}

StoreThread::Done StoreThread::commit_now(Store& store, const Clock& clock,
                                          const std::vector<Fact>& facts) {
  const std::int64_t begin = clock.monotonic_us();
  Done done{facts.empty() ? store.check_owned() : store.commit(facts)};
  if (!facts.empty()) done.commit_us = clock.monotonic_us() - begin;
  done.owned_until_ms = store.owned_until_ms();
  return done;
}

}  // namespace subak
