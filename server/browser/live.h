// Server-sent events for browsers (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// A browser names topics, such as "status" and "queue". It gets the present state of each topic,
// and after that each new state, at most once a second. The hub reads a topic once for all
// browsers, and only while a browser wants the topic. All browsers share one encoded text.
//
// The id of an event is the number of the last fact that the event includes. A browser that
// connects again with such a number (Last-Event-ID) gets only the topics that changed since. If the
// hub cannot know which topics changed, the browser first gets an event `reset`. After that it gets
// all topics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "net/http_stream.h"
#include "server/browser/calls.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak::browser {

// A topic. Its state is the answer of a read of the API.
struct Topic {
  // The name in the query and in events.
  std::string_view name;
  // The read and its request as JSON. An empty method: the state has only the sequence.
  std::string_view method, request;
};
// Returns all topics.
std::span<const Topic> live_topics();

// Topics as a set of bits: bit i stands for live_topics()[i].
using TopicSet = std::uint32_t;
// Reads "queue,status". An error names the topic that is unknown, or says that there is none.
Result<TopicSet> parse_topics(std::string_view text);
// Reads Last-Event-ID; 0: empty, or not a number.
std::uint64_t parse_event_id(std::string_view text);

// What the hub uses. Only the hub's thread calls these functions.
struct LivePorts {
  // Returns the state of a topic; it may block.
  std::function<Answered(const Topic&)> read;
  // Returns the number of the last durable fact.
  std::function<std::uint64_t()> sequence;
  // Returns the time by a monotonic clock, in ms.
  std::function<DurationMs()> monotonic_ms;
};

// A browser that follows topics.
struct LiveReader {
  TopicSet topics = 0;
  // The id of the last event that the browser has; 0: none.
  std::uint64_t last_id = 0;
  // The session, for the limit on its streams; empty: there is no session.
  std::string session;
  // The hub calls it once a second. False: the browser may no longer read, so its stream ends.
  std::function<bool()> may_read;
};

// The hub of all event streams of a process. Threads: any may call the members.
class Live {
 public:
  explicit Live(LivePorts ports) : ports_(std::move(ports)) {}
  ~Live();  // stop()
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // Starts the hub's thread. open() may be called before.
  void start();
  // Ends all streams and joins the thread.
  void stop();
  // Adds a browser. The error is kExhausted: there are too many streams.
  Result<std::shared_ptr<HttpStream>> open(LiveReader reader);
  // Returns the number of streams that have not ended.
  std::size_t streams() const;
  // Looks for changes and sends them. The hub's thread calls it once a second. Tests without
  // start() call it instead.
  void look();

 private:
  struct Open {
    LiveReader reader;
    std::shared_ptr<HttpStream> stream;
    // True: the browser has got no state yet.
    bool fresh = true;
    DurationMs sent_ms = 0;
  };
  struct State {
    std::string json;
    // The event; nullptr: no browser follows the topic.
    HttpStream::Part event;
    // The id of the event, and the id at which the hub began to follow the topic.
    std::uint64_t id = 0, since = 0;
  };
  // Removes ended streams, and ends the streams whose browser may no longer read. Returns the
  // topics that the other streams want.
  TopicSet sweep() SUBAK_REQUIRES(mutex_);
  // Reads the topics. Returns those that changed. Only the hub's thread calls it.
  TopicSet read(TopicSet wanted);
  void take(std::size_t topic, std::string json, std::uint64_t sequence);
  // Sends the changes to one browser.
  void send(Open& open, TopicSet changed, DurationMs now);
  // True if the browser may have missed changes that the hub does not know.
  bool is_too_old(const Open& open) const;
  void work();

  const LivePorts ports_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::vector<Open> open_ SUBAK_GUARDED_BY(mutex_);
  bool running_ SUBAK_GUARDED_BY(mutex_) = false;
  // The following members belong to the hub's thread. The states of live_topics().
  std::vector<State> states_ = std::vector<State>(live_topics().size());
  // The highest id so far, and the sequence that look() saw last.
  std::uint64_t last_id_ = 0, looked_sequence_ = 0;
  DurationMs looked_ms_ = 0;
  std::thread thread_;
};

}  // namespace subak::browser
