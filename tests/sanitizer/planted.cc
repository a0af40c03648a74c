// Bugs on purpose, of the kinds that this code could have: `planted NAME`. See CMakeLists.txt.
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/answers/view.h"
#include "server/runtime/mailbox.h"

namespace subak {
namespace {

// Where results go, so that no compiler can drop what made them.
volatile std::int64_t sink = 0;

// A reader that keeps the picture without its share of the ownership.
void view_after_free() {
  auto published = std::make_shared<View>();
  const View* kept = published.get();
  published = std::make_shared<View>();
  sink = static_cast<std::int64_t>(kept->seq);
}

// One slot more than the node has.
void slot_overflow() {
  const std::vector<MilliGpu> slots(8, 1000);
  for (std::size_t i = 0; i <= slots.size(); ++i) sink = slots.data()[i];
}

// A sum of amounts that nobody bounded.
void sum_overflow() {
  sink = std::numeric_limits<std::int64_t>::max();
  sink = sink + 1000;
}

void lost_batch() { sink = static_cast<std::int64_t>((new std::vector<Fact>(10))->size()); }

// What the mailbox's caller must do under its mutex, done without.
void unlocked_mailbox() {
  Mailbox mailbox(1);
  std::thread poster([&] { mailbox.put(Mail{{Input{}}, nullptr, nullptr, nullptr, ClusterId()}); });
  std::thread watcher([&] { sink = static_cast<std::int64_t>(mailbox.waiting()); });
  poster.join();
  watcher.join();
}

// A View that is published without a lock.
void unlocked_view() {
  auto published = std::make_shared<const View>();
  std::thread loop([&] { published = nullptr; });
  std::thread reader([&] { sink = published == nullptr ? 0 : 1; });
  loop.join();
  reader.join();
}

// Two locks that two paths take in different orders.
void lock_order() {
  std::mutex state, streams;
  {
    const std::scoped_lock first(state);
    const std::scoped_lock second(streams);
  }
  const std::scoped_lock first(streams);
  const std::scoped_lock second(state);
}

struct Bug {
  std::string_view name;
  void (*run)();
};
constexpr Bug kBugs[] = {{"view_after_free", view_after_free},
                         {"slot_overflow", slot_overflow},
                         {"sum_overflow", sum_overflow},
                         {"lost_batch", lost_batch},
                         {"unlocked_mailbox", unlocked_mailbox},
                         {"unlocked_view", unlocked_view},
                         {"lock_order", lock_order}};

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  for (const subak::Bug& bug : subak::kBugs) {
    if (argc == 2 && bug.name == argv[1]) {
      bug.run();
      return 0;
    }
  }
  std::fprintf(stderr, "usage: planted BUG\n");
  return 2;
}
