// The state that the connections of a Listener share, and the actions of its control thread on all
// connections: it closes those that are too slow, or must make room. Private to listener.cc,
// listener_session.h and listener_probe.cc.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <limits>
#include <list>
#include <utility>
#include <vector>

#include "net/listener.h"
#include "threads/mutex.h"

namespace subak::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;
// The executor type of an io_context, in place of Asio's type-erased executor. This halves the
// compile time and saves an indirection for each operation.
using Executor = asio::io_context::executor_type;
// Handlers of one connection never run at the same time.
using Strand = asio::strand<Executor>;
using Socket = asio::basic_stream_socket<tcp, Strand>;
using TlsStream = asio::ssl::stream<Socket>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;
// How long a closing connection waits for the peer to read the last bytes and close.
constexpr DurationMs kCloseMs = 2 * kSecondMs;
// The pause before the next accept: kCrowdedRetryMs while too many connections are closing, and
// kAcceptRetryMs after a failure (no file descriptors).
constexpr DurationMs kCrowdedRetryMs = 5;
constexpr DurationMs kAcceptRetryMs = 100;

struct Shared;

// One connection. A connection runs on its strand: on any of the threads, but on one thread at a
// time. The control thread reads only atomics and the fields that Shared::mutex guards.
class SessionBase : public std::enable_shared_from_this<SessionBase> {
 public:
  // What the connection does now. In kHandling and kStreaming, it waits for this process. In
  // kWriting, it sends an answer. In all other states, it waits for the peer.
  enum class State { kHandshake, kIdle, kReading, kHandling, kWriting, kStreaming, kClosing };

  // Adds the session to shared.sessions. `shared` must outlive the session. `entered`: the
  // limiter's answer.
  SessionBase(Shared& shared, const Peer& peer, ConnectionLimiter::Answer entered);
  // Removes the session, and frees its slot in the limiter.
  virtual ~SessionBase();
  // kill(), expire() and stop() take effect later, on the strand. Threads: any.
  // kill() closes the socket. Pending operations fail.
  virtual void kill() = 0;
  // Ends the connection because the state that began at `step` lasted too long. Does nothing if the
  // state has changed since then.
  virtual void expire(std::uint64_t step) = 0;
  // Ends the connection. If a request is in flight, the connection ends after the answer.
  virtual void stop() = 0;

  State state() const { return state_; }
  // Returns the number of the last change of state. All connections count their changes together,
  // so the connection with the smallest number has been in its state longest.
  std::uint64_t step() const { return step_; }
  // Adds `by` to the age of the state, and returns the sum. Call it on the control thread.
  DurationMs grow_older(DurationMs by) { return age_ms_ += by; }
  // Returns how long the connection may be in its state.
  DurationMs limit() const;
  // True if the connection waits for the peer, or for the next part of a stream. If it is closed
  // now, no answer is lost.
  bool may_go() const { return state_ != State::kHandling && state_ != State::kWriting; }

  // The other end of the connection.
  const Peer peer;
  // How the limiter let the connection in: kAdmitted or kReserved.
  const ConnectionLimiter::Answer entered;
  // True: the connection must close, to make room. Shared::mutex guards this field.
  bool evicted = false;

 protected:
  // Changes the state. The age of the new state begins at 0.
  void enter(State state);

  // Outlives all sessions.
  Shared& shared_;
  // The present state. Only the strand writes `state_`.
  std::atomic<State> state_ = State::kHandshake;
  // How long the handler of the request in progress may take.
  std::atomic<DurationMs> answer_ms_{0};

 private:
  // The step of the last change of the state.
  std::atomic<std::uint64_t> step_{0};
  // How long the connection has been in this state.
  std::atomic<DurationMs> age_ms_{0};
  // The position in Shared::sessions.
  std::list<SessionBase*>::iterator place_;
};

// The state that all connections share.
struct Shared {
  explicit Shared(ListenerOptions o)
      : options(std::move(o)), limiter({options.max_connections, options.max_per_peer}) {}

  // The options as given to the Listener.
  const ListenerOptions options;
  // One of `handler` and `async_handler` is set before the first connection. After that, neither
  // changes.
  HttpHandler handler;
  AsyncHttpHandler async_handler;
  // Any thread may write the counters.
  ListenerCounters counters;
  ConnectionLimiter limiter;
  // The highest SessionBase::step() so far.
  std::atomic<std::uint64_t> steps{0};
  // begin_stop() sets this once. After that, no connection begins a new request.
  std::atomic<bool> stopping{false};
  // The time since the stop began. Only the control thread uses `stopping_ms`.
  DurationMs stopping_ms = 0;

  // Guards `sessions` and SessionBase::evicted.
  Mutex mutex;
  std::list<SessionBase*> sessions SUBAK_GUARDED_BY(mutex);
  // Accepts connections, checks time-outs and changes certificates. `control` has a thread of its
  // own, so no request delays it.
  asio::io_context control{1};
  Timer tick{control};
  // Serves the requests. `io` is the last member, because its handlers own the sessions.
  asio::io_context io;

  // arm_tick(), sweep(), begin_stop() and make_room() run on the control thread. Only the first
  // call of arm_tick() runs on another thread.
  // arm_tick() calls sweep() every tick, until the last connection has ended after a stop.
  void arm_tick();
  // Expires the connections whose state lasted too long. Kills all connections when the grace of a
  // stop has passed.
  void sweep();
  // Ends all connections without a request in flight. The other connections end after their answer.
  void begin_stop();
  // Closes one connection to make room for `peer`. `full`: why the limiter did not let `peer` in.
  // Returns false if it may close no connection.
  bool make_room(const Peer& peer, ConnectionLimiter::Answer full);
  // Returns all connections that have not ended.
  std::vector<std::shared_ptr<SessionBase>> all();
  // True if there is no connection.
  bool nobody() {
    const MutexLock lock(mutex);
    return sessions.empty();
  }
};

inline SessionBase::SessionBase(Shared& shared, const Peer& p, ConnectionLimiter::Answer e)
    : peer(p), entered(e), shared_(shared) {
  step_ = ++shared_.steps;
  const MutexLock lock(shared_.mutex);
  place_ = shared_.sessions.insert(shared_.sessions.end(), this);
}

// Does everything under the lock, because the shared state may be destroyed as soon as no session
// is left.
inline SessionBase::~SessionBase() {
  const MutexLock lock(shared_.mutex);
  shared_.limiter.left(peer, entered, evicted);
  shared_.sessions.erase(place_);
  if (!shared_.stopping || !shared_.sessions.empty()) return;
  asio::post(shared_.control, [&tick = shared_.tick] { tick.cancel(); });
}

inline void SessionBase::enter(State state) {
  age_ms_ = 0;  // set before the step, so that a reader of the step sees this age
  state_ = state;
  step_ = ++shared_.steps;
}

inline DurationMs SessionBase::limit() const {
  switch (state_) {
    case State::kIdle:
      return shared_.options.idle_ms;
    case State::kHandling:
      return answer_ms_;
    case State::kStreaming:
      return std::numeric_limits<DurationMs>::max();
    case State::kClosing:
      return kCloseMs;
    default:
      return shared_.options.read_ms;
  }
}

// The shared pointers in `out` make all sessions stay alive. Without them, a session could end
// while this code holds the lock, and the session's destructor would wait for the same lock.
inline std::vector<std::shared_ptr<SessionBase>> Shared::all() {
  std::vector<std::shared_ptr<SessionBase>> out;
  const MutexLock lock(mutex);
  out.reserve(sessions.size());
  for (SessionBase* session : sessions) {
    if (auto kept = session->weak_from_this().lock()) out.push_back(std::move(kept));
  }
  return out;
}

inline void Shared::sweep() {
  if (stopping) stopping_ms += options.tick_ms;
  const bool too_late = stopping && stopping_ms >= options.stop_grace_ms;
  for (const auto& session : all()) {
    const std::uint64_t step = session->step();
    const DurationMs limit = session->limit();
    if (session->grow_older(options.tick_ms) >= limit) session->expire(step);
    if (too_late) session->kill();
  }
}

inline void Shared::arm_tick() {
  tick.expires_after(std::chrono::milliseconds(options.tick_ms));
  tick.async_wait([this](ErrorCodeOf) {
    sweep();
    if (!stopping || !nobody()) arm_tick();
  });
}

inline void Shared::begin_stop() {
  stopping = true;
  for (const auto& session : all()) session->stop();
  if (nobody()) tick.cancel();
}

// Closes the connection that has been in its state longest, of those that may go (may_go()) and are
// not reserved. If the address of `peer` is at its limit, it closes a connection of that address.
inline bool Shared::make_room(const Peer& peer, ConnectionLimiter::Answer full) {
  std::shared_ptr<SessionBase> victim;
  {
    const MutexLock lock(mutex);
    SessionBase* oldest = nullptr;
    for (SessionBase* session : sessions) {
      if (!session->may_go() || session->evicted ||
          session->entered == ConnectionLimiter::Answer::kReserved)
        continue;
      if (full == ConnectionLimiter::Answer::kPeerFull && session->peer.address != peer.address)
        continue;
      if (oldest == nullptr || session->step() < oldest->step()) oldest = session;
    }
    if (oldest == nullptr || !limiter.evict(oldest->peer)) return false;
    oldest->evicted = true;
    victim = oldest->weak_from_this().lock();
  }
  if (victim) victim->kill();
  return true;
}

}  // namespace subak::net
