// One life of the service: the real store, follower and runtime, from a start to a stop, a failure
// or a power cut. The clock is a fake, and the files are on SQLite's default VFS
// (tests/server/store/support/forgetting_disk.h).
#pragma once

#include <gtest/gtest.h>

#include "server/runtime/follower.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/runtime/runtime_fakes.h"

namespace subak::test {

// An input and its reply.
struct Said {
  Input input;
  std::optional<Reply> reply;  // none: it was never answered
  std::uint64_t answered = 0;  // the value of Options::now at the reply
};

class Life {
 public:
  struct Options {
    std::uint64_t checkpoint_every = 150;
    int wal_pages = 40;
    std::function<std::uint64_t()> now;  // a counter that orders replies and releases
    std::function<void()> on_death;      // called when the store has failed
  };
  struct Release {
    std::uint64_t at = 0, seq = 0;
  };

  Life(const std::string& path, const FakeClock& clock, Options options)
      : path_(path), clock_(clock), options_(std::move(options)) {}
  ~Life() { stop(); }

  // Starts the service. Returns why that failed; nullopt: it runs.
  std::optional<Error> start() {
    auto store = open_sqlite_store({path_, true, options_.wal_pages});
    if (!store.ok()) return store.error();
    store_ = std::move(*store);
    FollowerOptions follow;
    follow.checkpoint_every = options_.checkpoint_every;
    follow.fatal = [this](const Error& error) { die(error); };
    follower_ = std::make_unique<Follower>(follow, *store_);
    if (auto error = follower_->start()) return error;
    RuntimeOptions run;
    run.digest_every = 1;
    run.fatal = [this](const Error& error) { die(error); };
    run.on_durable = [this](const Released& batch) { released(batch); };
    runtime_ = std::make_unique<Runtime>(run, *store_, clock_);
    const auto recovered = runtime_->start();
    if (!recovered.ok()) return recovered.error();
    recovered_ = *recovered;
    return std::nullopt;
  }
  void stop() {
    if (runtime_ != nullptr) runtime_->stop();
    if (follower_ != nullptr) {
      follower_->stop();
      EXPECT_EQ(follower_->stats().digests_different, 0u);
    }
    runtime_ = nullptr;
    follower_ = nullptr;
    store_ = nullptr;
  }

  // Posts all inputs, and waits for all replies or for the end of the life. Then some lack a reply.
  std::vector<Said> say(std::vector<Input> inputs) {
    std::vector<Said> all;
    for (Input& input : inputs) all.push_back({std::move(input), std::nullopt, 0});
    std::size_t open = 0;
    for (Said& said : all) {
      const bool posted = runtime_->post(said.input, [this, &said, &open](const Reply& reply) {
        const std::lock_guard lock(mutex_);
        said.reply = reply;
        said.answered = options_.now();
        --open;
        changed_.notify_all();
      });
      const std::lock_guard lock(mutex_);
      open += posted ? 1 : 0;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open == 0 || death_; });
    if (!death_) return all;
    lock.unlock();
    runtime_->stop();  // no answer refers to `all` after this
    return all;
  }
  // Returns the facts that were released and the effects that were delivered since the last call.
  ApplyOutcome take() {
    ApplyOutcome out;
    const std::shared_ptr<const View> view = runtime_->view();
    for (const ClusterView& cluster : *view->clusters) {
      auto& stream = streams_[cluster.id];
      if (stream == nullptr) stream = runtime_->subscribe(cluster.id, [] {});
      if (stream == nullptr) continue;
      for (Effect& effect : stream->take()) out.effects.push_back(std::move(effect));
    }
    const std::lock_guard lock(mutex_);
    out.facts.assign(facts_.begin() + static_cast<std::ptrdiff_t>(taken_), facts_.end());
    taken_ = facts_.size();
    return out;
  }
  // Returns all facts that were released.
  std::vector<Fact> facts() const {
    const std::lock_guard lock(mutex_);
    return facts_;
  }
  std::optional<Error> death() const {
    const std::lock_guard lock(mutex_);
    return death_;
  }
  std::vector<Release> releases() const {
    const std::lock_guard lock(mutex_);
    return releases_;
  }
  const Recovered& recovered() const { return recovered_; }
  std::shared_ptr<const View> view() const { return runtime_->view(); }
  Store& store() { return *store_; }

 private:
  void released(const Released& batch) {
    follower_->durable(batch);
    const std::lock_guard lock(mutex_);
    facts_.insert(facts_.end(), batch.facts->begin(), batch.facts->end());
    releases_.push_back({options_.now(), batch.seq});
  }
  void die(const Error& error) {
    if (options_.on_death) options_.on_death();
    const std::lock_guard lock(mutex_);
    if (!death_) death_ = error;
    changed_.notify_all();
  }

  const std::string path_;
  const FakeClock& clock_;
  const Options options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
  std::map<ClusterId, std::shared_ptr<EffectStream>> streams_;
  Recovered recovered_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fact> facts_;
  std::size_t taken_ = 0;
  std::vector<Release> releases_;
  std::optional<Error> death_;
};

}  // namespace subak::test
