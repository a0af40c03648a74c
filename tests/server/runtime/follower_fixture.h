// A runtime and its follower on a real store in a temporary folder. A test can close the store and
// open it again.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "runtime_fakes.h"
#include "server/runtime/follower.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {

class FollowerFixture : public testing::Test {
 protected:
  FollowerFixture() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::temp_directory_path() /
           ("subak_" + std::string(info->test_suite_name()) + "_" + info->name() + "_" +
            std::to_string(::getpid()));
    std::filesystem::create_directories(dir_);
    path_ = (dir_ / "subak.db").string();
    open();
  }
  ~FollowerFixture() override {
    shut();
    std::filesystem::remove_all(dir_);
  }

  void open() {
    auto store = open_sqlite_store({path_});
    ASSERT_TRUE(store.ok()) << store.error().message();
    store_ = std::move(*store);
  }
  void start() {
    runtime_options_.on_durable = [this](const Released& batch) { follower_->durable(batch); };
    follower_ = std::make_unique<Follower>(follower_options_, *store_);
    ASSERT_FALSE(follower_->start());
    runtime_ = std::make_unique<Runtime>(runtime_options_, *store_, clock_);
    ASSERT_TRUE(runtime_->start().ok());
  }
  void stop() {
    runtime_->stop();
    follower_->stop();
  }
  void shut() {
    if (runtime_ != nullptr) stop();
    runtime_ = nullptr;
    follower_ = nullptr;
    store_ = nullptr;
  }

  std::filesystem::path dir_;
  std::string path_;
  FakeClock clock_;
  RuntimeOptions runtime_options_;
  FollowerOptions follower_options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace subak
