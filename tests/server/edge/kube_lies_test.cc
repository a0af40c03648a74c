// An API server that ends its lists and watches as it likes, and answers what is none. However it lies, the edge asks at
// most 95 times in 10 s, less and less often, and says what is wrong; a server that only ends a watch is asked at once.
// Time is made up.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <map>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "served_kinds.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/reflector.h"
#include "server/edge/cluster/edge.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Asked {
  std::string path;
  bool watch = false;
  std::size_t count = 0;  // of this kind of path so far, this one not counted
  bool lists() const { return path.find("sendInitialEvents") != std::string::npos || !watch; }
};

// Of a watch: lines, and how it ends after `lives_ms`; 0: it stays open.
struct Said {
  int code = 200;
  std::string body{};
  std::vector<std::string> lines{};
  DurationMs lives_ms = 0;
};
using Server = std::function<Said(const Asked&)>;

std::string bookmark(std::size_t version, bool complete) {
  const std::string mark =
      complete ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : std::string();
  return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" +
         std::to_string(version) + "\"" + mark + "}}}\n";
}
const std::string kGone = R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                          "\n";
std::string page(const std::string& next, const std::string& items = "") {
  return R"({"metadata":{"resourceVersion":"7","continue":")" + next + R"("},"items":[)" + items +
         "]}";
}

Said honest(const Asked& asked) {
  if (is_discovery(asked.path)) {
    const std::string kinds = served_kinds(asked.path);
    return kinds.empty() ? Said{404, "no such group"} : Said{200, kinds};
  }
  if (asked.path.find("namespaces/kube-system") != std::string::npos)
    return {200, R"({"metadata":{"uid":"c1"}})"};
  if (asked.path.find("selfsubjectreviews") != std::string::npos)
    return {201, R"({"status":{"userInfo":{"username":"me"}}})"};
  if (!asked.watch) return {200, page("")};
  return asked.lists() ? Said{200, "", {bookmark(7, true)}} : Said{200, "", {bookmark(8, false)}};
}

class Liar final : public KubeApi {
 public:
  explicit Liar(Server server) : server_(std::move(server)) {}

  bool call(KubeCall call, Answered answered) override {
    const Said said = say(call.path, false);
    at(now + 1, [said, answered = std::move(answered)] {
      answered(read_answer(said.code, "", said.body), said.body);
    });
    return true;
  }
  WatchId watch(std::string path, WatchStream::Take take, Ended ended) override {
    const WatchId id = ++last_;
    open_.insert(id);
    const Said said = say(path, true);
    if (said.code != 200) {
      at(now + 1,
         [this, id, said, ended] { end(id, ended, read_answer(said.code, "", said.body)); });
      return id;
    }
    at(now + 1, [this, id, said, take, ended] {
      WatchStream stream;
      for (const std::string& line : said.lines) {
        if (!open_.contains(id)) return;
        if (const auto error = stream.feed(line, take))
          return end(id, ended, {Outcome::kRefused, "", error->message(), 0});
      }
      if (said.lives_ms > 0)
        at(now + said.lives_ms, [this, id, ended] { end(id, ended, {Outcome::kDone, "", "", 0}); });
    });
    return id;
  }
  void stop(WatchId id) override { open_.erase(id); }
  void wake() override {}
  void turn(DurationMs most) override {
    for (const std::int64_t end = now + most;; now = due_.begin()->first) {
      while (!due_.empty() && due_.begin()->first <= now) {
        const auto next = due_.extract(due_.begin());
        next.mapped()();
      }
      if (due_.empty() || due_.begin()->first > end) {
        now = end;
        return;
      }
    }
  }
  // The most requests that began in a window of limits::kRequestWindowMs of which the start is not before `from`.
  std::size_t most_in_window(std::int64_t from) const {
    std::size_t most = 0;
    for (auto i = times.begin(); i != times.end(); ++i) {
      if (*i < from) continue;
      const auto end = std::lower_bound(i, times.end(), *i + limits::kRequestWindowMs);
      most = std::max<std::size_t>(most, static_cast<std::size_t>(end - i));
    }
    return most;
  }

  std::int64_t now = 1'000'000;
  std::vector<std::int64_t> times;
  std::vector<std::string> paths;

 private:
  void at(std::int64_t when, std::function<void()> what) { due_.emplace(when, std::move(what)); }
  void end(WatchId id, const Ended& ended, const CallAnswer& answer) {
    if (open_.erase(id) > 0) ended(answer);
  }
  Said say(const std::string& path, bool watch) {
    times.push_back(now);
    paths.push_back(path);
    return server_({path, watch, counts_[path.substr(0, path.find('?'))]++});
  }

  const Server server_;
  WatchId last_ = 0;
  std::set<WatchId> open_;
  std::multimap<std::int64_t, std::function<void()>> due_;
  std::map<std::string, std::size_t> counts_;
};

// An edge whose core takes everything.
class LiedTo {
 public:
  explicit LiedTo(Server server) {
    auto liar = std::make_unique<Liar>(std::move(server));
    api = liar.get();
    View view;
    ClusterView cluster;
    cluster.id = ClusterId(1);
    cluster.name = "main";
    view.clusters = std::make_shared<const std::vector<ClusterView>>(1, cluster);
    view_ = std::make_shared<const View>(std::move(view));
    EdgePorts ports;
    ports.post = [](const Input&, const ReplyFn& done) {
      done(Reply());
      return true;
    };
    ports.view = [this] { return view_; };
    ports.subscribe = [](ClusterId, std::function<void()> wake) {
      return std::make_shared<EffectStream>(std::move(wake));
    };
    ports.read = [](auto) { return false; };
    ports.read_starts = [](auto) { return false; };
    ports.read_expensive = [](auto) { return false; };
    ports.now_ms = [this] { return api->now; };
    ports.monotonic_ms = [this] { return api->now; };
    EdgeOptions options;
    options.cluster = "main";
    options.stepped = true;
    edge = std::make_unique<Edge>(std::move(options), std::move(ports), std::move(liar));
  }
  void run(DurationMs for_ms) {
    for (const std::int64_t end = api->now + for_ms; api->now < end; api->turn(5)) edge->turn();
  }

  Liar* api = nullptr;
  std::unique_ptr<Edge> edge;

 private:
  std::shared_ptr<const View> view_;
};

bool is_kind(const Asked& asked) {
  return asked.path.find("kube-system") == std::string::npos &&
         asked.path.find("selfsubject") == std::string::npos;
}

// Lists and watches of every kind are answered by `lie`.
Server every_kind(Server lie) {
  return [lie = std::move(lie)](const Asked& asked) {
    return is_kind(asked) ? lie(asked) : honest(asked);
  };
}
// Lists come in pages, by `lie`; watches stay open.
Server every_page(Server lie) {
  return every_kind([lie = std::move(lie)](const Asked& asked) -> Said {
    if (!asked.watch) return lie(asked);
    return asked.lists() ? Said{400, "no such option"} : honest(asked);
  });
}

std::string objects(std::size_t first) {
  std::string out;
  for (std::size_t i = 0; i < 50; ++i) {
    const std::string name = std::to_string(first * 50 + i);
    out += (i > 0 ? "," : "") + std::string(R"({"metadata":{"namespace":"a","name":"o)") + name +
           R"(","uid":"u)" + name + R"(","resourceVersion":"5"}})";
  }
  return out;
}

const std::string kPod =
    R"({"type":"ADDED","object":{"metadata":{"namespace":"a","name":"p","uid":"p","resourceVersion":"9"}}})"
    "\n";

struct Lie {
  const char* name;
  Server server;
  const char* words;  // in `status` and in the log; "": none at the end; nullptr: any
};

constexpr const char* kEarly = "ends lists and watches as soon as they begin";

// Watches, and streamed lists, that end as they should not.
std::vector<Lie> ends() {
  const auto said = [](Said what) {
    return every_kind([what = std::move(what)](const Asked&) { return what; });
  };
  return {
      {"a bookmark, then 410", said({200, "", {bookmark(7, true), kGone}, 1}), kEarly},
      {"the end after the list", said({200, "", {bookmark(7, true)}, 1}), kEarly},
      {"the end before the list is whole", said({200, "", {}, 1}), kEarly},
      {"the end after nine seconds", said({200, "", {bookmark(7, true)}, 9'000}), kEarly},
      {"410 to everything", said({410, "too old"}), kEarly},
      {"cut in an event", said({200, "", {bookmark(7, true), "{\"type\":\"ADD\n"}, 1}),
       "want an event of a watch"},
      {"the end after each event", every_kind([](const Asked& asked) {
         return Said{200, "", {asked.lists() ? bookmark(7, true) : kPod}, 1};
       }),
       kEarly},
      {"an event and the end, of lists too", every_kind([](const Asked& asked) {
         return asked.lists() ? Said{200, "", {kPod, bookmark(7, true)}, 1}
                              : Said{200, "", {kPod}, 1};
       }),
       kEarly},
      {"a list, and no version that may be watched", every_kind([](const Asked& asked) {
         if (asked.watch && asked.lists()) return Said{400, "no such option"};
         return asked.watch ? Said{410, "too old"} : honest(asked);
       }),
       kEarly},
  };
}

// Lists in pages.
std::vector<Lie> pages() {
  const auto token = [](const Asked& asked) { return std::to_string(asked.count); };
  return {
      {"the same token again and again", every_page([](const Asked&) {
         return Said{200, page("a")};
       }),
       "does not end"},
      {"tokens in a circle", every_page([](const Asked& asked) {
         return Said{200, page(std::to_string(asked.count % 3))};
       }),
       "does not end"},
      {"new tokens for ever, and nothing else", every_page([token](const Asked& asked) {
         return Said{200, page(token(asked))};
       }),
       ""},
      {"new tokens and objects for ever", every_page([token](const Asked& asked) {
         return Said{200, page(token(asked), objects(asked.count))};
       }),
       ""},
      {"a token that is too long", every_page([token](const Asked& asked) {
         return Said{200, page(token(asked) + std::string(20'000, 'x'))};
       }),
       "does not end"},
      {"nothing for a list", every_page([](const Asked&) {
         return Said{200, ""};
       }),
       "the list is empty"},
      {"HTML for a list", every_page([](const Asked&) {
         return Said{200, "<html>sign in</html>"};
       }),
       "<html>sign in</html>"},
  };
}

Said by_turns(const Asked& asked) {
  if (!is_kind(asked)) return honest(asked);
  switch (asked.count % 5) {
    case 0:
      return {200, "", {bookmark(7, true), kGone}, 1};
    case 1:
      return {503, "away"};
    case 2:
      return {200, "", {kPod}, 1};
    case 3:
      return {410, "too old"};
    default:
      return {200, "", {bookmark(7, true)}, 1};
  }
}

// Answers that are none.
std::vector<Lie> answers() {
  const auto said = [](Said what) {
    return every_kind([what = std::move(what)](const Asked&) { return what; });
  };
  const auto namespace_said = [](const char* body) {
    return [body](const Asked& asked) { return is_kind(asked) ? honest(asked) : Said{200, body}; };
  };
  return {
      {"HTML for a watch", said({200, "<html>sign in</html>", {"<html>sign in</html>\n"}, 1}),
       "<html>sign in</html>"},
      {"401", said({401, "who are you"}), "who are you"},
      {"302", said({302, "elsewhere"}), "a redirect (302)"},
      {"429 without a time", said({429, "later"}), "later"},
      {"503", said({503, "away"}), "away"},
      {"HTML for the namespace", namespace_said("<html>sign in</html>"),
       "kube-system: the answer is \"<html>sign in</html>\", want the object in JSON"},
      {"nothing for the namespace", namespace_said(""), "kube-system: the answer is empty"},
      {"another object for the namespace", namespace_said("{}"),
       "kube-system: the answer is \"{}\""},
      {"everything by turns", by_turns, nullptr},
  };
}

std::vector<Lie> lies() {
  std::vector<Lie> out = ends();
  for (auto more : {pages(), answers()}) out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(KubeLies, WhateverItAnswersTheServerIsAskedAtMostNinetyFiveTimesInTenSeconds) {
  constexpr std::size_t kMost = 95;
  constexpr std::size_t kMostLater = 48;  // once it has gone on for a minute
  for (const Lie& lie : lies()) {
    LiedTo told(lie.server);
    const std::int64_t begun = told.api->now;
    told.run(2 * kMinuteMs);
    EXPECT_LE(told.api->most_in_window(begun), kMost) << lie.name;
    EXPECT_GE(told.api->times.size(), 8u) << lie.name;  // and it is still asked
    const bool endless = std::string(lie.name).find("new tokens") == 0;
    const std::size_t later = endless ? kMost : kMostLater;
    EXPECT_LE(told.api->most_in_window(begun + kMinuteMs), later) << lie.name;
    if (lie.words == nullptr) continue;
    EXPECT_THAT(told.edge->stats().error, HasSubstr(lie.words)) << lie.name;
    EXPECT_FALSE(told.edge->stats().synced) << lie.name;
  }
}

TEST(KubeLies, AListThatNeverEndsIsGivenUpAndSaid) {
  LiedTo told(every_page([](const Asked& asked) {
    return Said{200, page(std::to_string(asked.count))};
  }));
  const DurationMs long_enough = static_cast<DurationMs>(limits::kMaxListPages) * 12 *
                                 limits::kRequestWindowMs / limits::kMaxPageRequests;
  told.run(long_enough);
  EXPECT_THAT(told.edge->stats().error, HasSubstr("does not end"));
}

// --- one kind, and a server that does nothing wrong ------------------------------------------------

class KubeFollow : public ::testing::Test {
 protected:
  void start(Server server) {
    api = std::make_unique<Liar>(std::move(server));
    ReflectorSink sink;
    sink.begin = [] {};
    sink.object = [](const WatchEvent&) {};
    sink.complete = [] { return true; };
    reflector =
        std::make_unique<Reflector>(*api, "/api/v1/pods", std::move(sink),
                                    Reflector::Paces{begins, pages}, [this] { return api->now; });
    reflector->start();
  }
  void run(DurationMs for_ms) {
    for (const std::int64_t end = api->now + for_ms; api->now < end; api->turn(1))
      reflector->turn();
  }
  // Since the start of the test.
  std::vector<std::int64_t> asked_at() const {
    std::vector<std::int64_t> out;
    for (const std::int64_t time : api->times) out.push_back(time - api->times.front());
    return out;
  }

  RequestPace begins{limits::kMaxFollowRequests}, pages{limits::kMaxPageRequests};
  std::unique_ptr<Liar> api;
  std::unique_ptr<Reflector> reflector;
};

TEST_F(KubeFollow, AfterAWatchThatWasOpenForLongTheNextBeginsAtOnce) {
  start([](const Asked& asked) {
    return Said{200, "", {bookmark(7 + asked.count, asked.lists())}, 20'000};
  });
  run(70'000);
  EXPECT_THAT(asked_at(), ElementsAre(0, 20'001, 40'002, 60'003));
  EXPECT_TRUE(reflector->synced());
  EXPECT_EQ(reflector->lists(), 1u);
  EXPECT_THAT(reflector->error(), IsEmpty());
}

TEST_F(KubeFollow, AnEndRightAfterTheStartIsFollowedByAWatchAtOnceToo) {
  start([](const Asked& asked) {
    return Said{200, "", {bookmark(7, asked.lists())}, asked.count == 0 ? 1 : 0};
  });
  run(20'000);
  EXPECT_THAT(asked_at(), ElementsAre(0, 2));
  EXPECT_TRUE(reflector->synced());
}

// Such a collection will not come. One whose list fails for another reason may.
TEST_F(KubeFollow, ACollectionThatIsNotThereIsAbsentUntilItIsListed) {
  start([](const Asked& asked) {
    return asked.count < 2   ? Said{404, "no such collection"}
           : asked.count < 3 ? Said{500, "later"}
                             : honest(asked);
  });
  reflector->turn();
  run(10);
  EXPECT_TRUE(reflector->absent());
  EXPECT_FALSE(reflector->listed());
  while (api->times.size() < 3) run(10);
  run(10);
  EXPECT_FALSE(reflector->absent());
  EXPECT_FALSE(reflector->listed());
  run(60'000);
  EXPECT_FALSE(reflector->absent());
  EXPECT_TRUE(reflector->listed());
}

TEST_F(KubeFollow, ACollectionThatMayNotBeReadIsAbsent) {
  start([](const Asked&) { return Said{403, "forbidden"}; });
  run(10'000);
  EXPECT_TRUE(reflector->absent()) << "neither as a stream nor in pages";
}

TEST_F(KubeFollow, AVersionThatIsTooOldIsFollowedByAListSoon) {
  start([](const Asked& asked) {
    return asked.count == 0 ? Said{200, "", {bookmark(7, true)}, 20'000}
           : asked.lists()  ? honest(asked)
                            : Said{410, "too old"};
  });
  run(30'000);
  EXPECT_THAT(asked_at(), ElementsAre(0, 20'001, 20'502));
  EXPECT_EQ(reflector->lists(), 2u);
  EXPECT_TRUE(reflector->synced());
}

TEST_F(KubeFollow, ShortWatchesAreAskedForLessAndLessAndASteadyOneEndsThat) {
  start([](const Asked& asked) {
    const bool short_one = asked.count < 5;
    return Said{200, "", {bookmark(7 + asked.count, asked.lists())}, short_one ? 1 : 0};
  });
  run(9'000);
  EXPECT_THAT(asked_at(), ElementsAre(0, 2, 504, 1'506, 3'508));
  EXPECT_FALSE(reflector->synced());
  EXPECT_THAT(reflector->error(), HasSubstr("as soon as they begin"));
  run(limits::kSteadyWatchMs + 2'000);  // the sixth stays open
  EXPECT_EQ(asked_at().size(), 6u);
  EXPECT_TRUE(reflector->synced());
  EXPECT_THAT(reflector->error(), IsEmpty());
}

TEST_F(KubeFollow, PagesFollowOneAnotherAtOnceUpToTheirPace) {
  const std::size_t count = limits::kMaxPageRequests + 4;
  start([count](const Asked& asked) {
    if (asked.watch) return asked.lists() ? Said{400, "no such option"} : honest(asked);
    return Said{200, page(asked.count < count ? std::to_string(asked.count) : "")};
  });
  run(limits::kRequestWindowMs);
  const std::vector<std::int64_t> times = asked_at();
  ASSERT_EQ(times.size(), 2 + limits::kMaxPageRequests);  // a stream, the first page, and others
  EXPECT_LE(times.back(), 300);
  EXPECT_FALSE(reflector->synced());
  run(limits::kRequestWindowMs);
  EXPECT_TRUE(reflector->synced());
}

// A session may end while a page is requested: the API goes on, and its answer comes later.
TEST_F(KubeFollow, APageThatComesAfterTheReflectorIsGoneIsDropped) {
  start([](const Asked& asked) {
    if (asked.watch) return Said{400, "no such option"};
    return Said{200, page(asked.count < 3 ? "more" + std::to_string(asked.count) : "")};
  });
  while (api->times.size() < 3) run(1);
  const std::size_t asked = api->times.size();
  reflector.reset();
  api->turn(1'000);
  EXPECT_EQ(api->times.size(), asked);
}

}  // namespace
}  // namespace subak
