// One HTTP connection of a Listener (listener.h): it reads requests, calls the handler and writes
// the answers. Private to listener.cc, so that only this file compiles Beast.
// Threads: public functions any; all others run on the session's strand, one at a time.
#pragma once

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>
#include <vector>

#include "net/listener_shared.h"

namespace subak::net {

namespace http = boost::beast::http;

// The number of readable bytes after a body: at least kBodyPadding of admission/review.h.
constexpr std::size_t kPadding = 64;
// The most memory to reserve for a Content-Length before the bytes arrive.
constexpr std::size_t kFirstBodyBytes = 256u << 10;
// The size of the read buffer at the start: one TLS record fits.
constexpr std::size_t kReadBytes = 17u << 10;

// A body that stores at most `limit` bytes and drops further bytes. Readable bytes always follow
// the body.
struct PaddedBody {
  // The body of one request.
  struct value_type {
    // The stored bytes. If the body is too large, they are only its beginning.
    std::string data;
    // The most bytes to store. The session sets `limit` before the first byte comes.
    std::size_t limit = 0;
    // True: the body had more bytes than `limit`.
    bool too_large = false;
  };
  // Implements Beast's BodyReader. put() never fails: it drops bytes beyond the
  // limit and sets too_large.
  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(http::header<isRequest, Fields>&, value_type& body) : body_(body) {}
    // `length`: the Content-Length, if there is one. The function reserves that many bytes, but at
    // most kFirstBodyBytes.
    void init(const boost::optional<std::uint64_t>& length, ErrorCodeOf& ec) {
      ec = {};
      if (length) body_.data.reserve(std::min<std::size_t>(*length, kFirstBodyBytes) + kPadding);
    }
    // Returns the number of bytes that it consumed: always all bytes.
    template <class Buffers>
    std::size_t put(const Buffers& buffers, ErrorCodeOf& ec) {
      ec = {};
      std::size_t bytes = 0;
      for (auto it = asio::buffer_sequence_begin(buffers); it != asio::buffer_sequence_end(buffers);
           ++it) {
        const asio::const_buffer part(*it);
        bytes += part.size();
        if (body_.data.size() + part.size() > body_.limit) body_.too_large = true;
        if (!body_.too_large) body_.data.append(static_cast<const char*>(part.data()), part.size());
      }
      return bytes;
    }
    // Makes the bytes after the body readable, as HttpRequest::body promises.
    void finish(ErrorCodeOf& ec) {
      ec = {};
      body_.data.reserve(body_.data.size() + kPadding);
    }

   private:
    value_type& body_;
  };
};
using Parser = http::request_parser<PaddedBody>;

// Returns the phrase of an HTTP status: "Not Found".
inline std::string_view reason_phrase(int status) {
  const auto text = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return {text.data(), text.size()};
}

// Writes header and body into one buffer. A usual answer is then one TLS record. `head`: the
// request was HEAD, so the body is left out. `http_version`: 10 or 11. An answer with a stream has
// no length: its end is the end of the connection.
inline void write_response(std::string& out, const HttpResponse& response, bool keep_alive,
                           unsigned http_version, bool head) {
  out.clear();
  out.reserve(160 + response.headers.size() + response.body.size());
  out += http_version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\nContent-Type: ";
  out += response.content_type;
  out += response.headers;
  if (!response.stream) {
    out += "\r\nContent-Length: ";
    out += std::to_string(response.body.size());
  }
  if (!keep_alive || response.stream) {
    out += "\r\nConnection: close";
  } else if (http_version == 10) {
    out += "\r\nConnection: keep-alive";
  }
  out += "\r\n\r\n";
  if (!head) out += response.body;
}

// Returns a plain-text answer, for people.
inline HttpResponse plain_text(int status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

// One connection over `Stream`: a Socket, or a TlsStream. The session reads a request, answers the
// request, then reads the next one. Pending operations own the session, so the session is destroyed
// after the last of these operations. All private functions run on the session's strand.
template <class Stream>
class Session : public SessionBase, private HttpHeaders {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  // `from`: the peer. `how`: the limiter's answer; it must have let the connection in. `args`: the
  // arguments of the stream's constructor.
  template <class... Args>
  Session(Shared& shared, const Peer& from, ConnectionLimiter::Answer how, Args&&... args)
      : SessionBase(shared, from, how), stream_(std::forward<Args>(args)...) {
    in_.resize(kReadBytes);
  }
  ~Session() override {
    if (events_) events_->end();
  }

  // Begins with the handshake or, without TLS, with the first request. Call it once, when a
  // shared_ptr owns the session.
  void start() {
    on_strand([](Session& s) { s.begin(); });
  }
  // Closes the connection at once, without an answer.
  void kill() override {
    on_strand([](Session& s) { s.cut(); });
  }
  // Ends the state that lasted too long, but only if the state has not changed since `step`.
  void expire(std::uint64_t step) override {
    on_strand([step](Session& s) {
      if (s.step() == step) s.too_slow();
    });
  }
  // Closes an idle connection and one with a stream at once. Any other connection closes after the
  // answer to the request in progress.
  void stop() override {
    on_strand([](Session& s) {
      if (s.events_ || s.state_ == State::kIdle || s.state_ == State::kHandshake) s.cut();
    });
  }

 private:
  // Returns an owner of this session, for the next pending operation.
  std::shared_ptr<Session> self() {
    return std::static_pointer_cast<Session>(this->shared_from_this());
  }
  // Runs `act` on the strand, later.
  template <class Do>
  void on_strand(Do act) {
    asio::post(stream_.get_executor(),
               [self = self(), act = std::move(act)]() mutable { act(*self); });
  }

  // Makes the TLS handshake, if there is TLS, then reads the first request. The handshake is a
  // state of its own, with the time-out for reads.
  void begin() {
    if constexpr (kTls) {
      if (shared_.options.browsers.plain_too) return choose();
      handshake();
    } else {
      serve();
    }
  }

  // Waits for the first byte, which says whether the peer speaks TLS (RFC 8446, section 5.1: 22 is
  // a handshake).
  void choose() {
    socket().async_wait(tcp::socket::wait_read, [self = self()](ErrorCodeOf ec) {
      char first = 0;
      if (ec || ::recv(self->socket().native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
        return;
      self->plain_ = first != 22;
      self->plain_ ? self->serve() : self->handshake();
    });
  }

  void handshake() {
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](ErrorCodeOf ec) {
        if (ec) {
          ++self->shared_.counters.tls_failures;
          return;
        }
        self->serve();
      });
    }
  }

  // Begins to read requests.
  void serve() {
    enter(State::kIdle);
    next();
  }

  // Reads or writes, with TLS or without.
  template <class Then>
  void read_some(const asio::mutable_buffer& to, Then then) {
    if constexpr (kTls) {
      if (plain_) return socket().async_read_some(to, std::move(then));
    }
    stream_.async_read_some(to, std::move(then));
  }
  template <class Buffers, class Then>
  void write(const Buffers& buffers, Then then) {
    if constexpr (kTls) {
      if (plain_) return asio::async_write(socket(), buffers, std::move(then));
    }
    asio::async_write(stream_, buffers, std::move(then));
  }

  // Closes the socket without an answer. Pending operations fail.
  void cut() {
    ErrorCodeOf ignored;
    socket().close(ignored);
    waiting_.reset();
  }

  // Acts on a state that lasted too long. If the handler has not answered yet, sends 503. Else
  // closes the socket.
  void too_slow() {
    if (state_ != State::kClosing) ++shared_.counters.timeouts;
    if (!std::exchange(waiting_, nullptr)) return cut();
    keep_alive_ = false;
    respond(plain_text(503, "no answer in time; try again\n"));
  }

  // The TCP socket, below TLS if there is TLS.
  Socket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  // Parses the bytes that were read so far. If they are not a complete request, it reads more.
  void next() {
    while (begin_ < end_) {
      if (!parser_) begin_request();
      ErrorCodeOf ec;
      begin_ += parser_->put(asio::buffer(in_.data() + begin_, end_ - begin_), ec);
      if (ec == http::error::need_more) break;
      if (ec) return protocol_error(ec);
      if (parser_->is_done()) return handle();
    }
    if (shared_.stopping && !parser_) return close();
    if (parser_ && wants_continue()) return send_continue();
    read();
  }

  // Prepares for a new request. The body of the new request uses the memory of the previous
  // request's body.
  void begin_request() {
    enter(State::kReading);
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits::kMaxHttpHeaderBytes));
    parser_->body_limit(limits::kMaxHttpDrainBytes);
    parser_->eager(true);
    spare_.clear();
    parser_->get().body().data = std::move(spare_);
    parser_->get().body().limit = shared_.options.max_body_bytes;
    continued_ = false;
  }

  // Reads more bytes. The buffer grows only for long headers, and the parser bounds these.
  void read() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (begin_ > 0) {  // half a header: move it to the front
      std::copy(in_.begin() + static_cast<std::ptrdiff_t>(begin_),
                in_.begin() + static_cast<std::ptrdiff_t>(end_), in_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == in_.size()) in_.resize(in_.size() * 2);  // the parser refuses long headers
    read_some(asio::buffer(in_.data() + end_, in_.size() - end_),
              [self = self()](ErrorCodeOf ec, std::size_t n) {
                if (ec) return self->close();
                self->end_ += n;
                self->next();
              });
  }

  // True if the client waits for status 100 before it sends the body (RFC 9110, section 10.1.1).
  bool wants_continue() const {
    if (continued_ || !parser_->is_header_done()) return false;
    return boost::beast::iequals(field(http::field::expect), "100-continue");
  }

  // Sends the interim answer, once for each request, then reads the request's body.
  void send_continue() {
    continued_ = true;
    out_ = "HTTP/1.1 100 Continue\r\n\r\n";
    write(asio::buffer(out_), [self = self()](ErrorCodeOf ec, std::size_t) {
      if (ec) return self->close();
      self->read();
    });
  }

  // Answers 431 for headers that are too long, else 400, and closes the connection.
  void protocol_error(ErrorCodeOf ec) {
    ++shared_.counters.bad_requests;
    keep_alive_ = false;
    head_ = false;
    version_ = 11;
    const int status = ec == http::error::header_limit ? 431 : 400;
    const std::string what =
        ec == http::error::body_limit
            ? "body: more than " + std::to_string(limits::kMaxHttpDrainBytes) + " bytes\n"
            : "not an HTTP/1.1 request: " + ec.message() + "\n";
    respond(plain_text(status, what));
  }

  // Calls the handler for the complete request. An exception becomes 500. If the body is too large,
  // the answer is 400, without a call of the handler.
  void handle() {
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive() && !shared_.stopping;
    version_ = message.version();
    head_ = message.method() == http::verb::head;
    ++shared_.counters.requests;
    const std::string_view target{message.target().data(), message.target().size()};
    const ListenerOptions& options = shared_.options;
    answer_ms_ =
        options.browsers.answer_ms_of ? options.browsers.answer_ms_of(target) : options.answer_ms;
    enter(State::kHandling);
    if (message.body().too_large && !options.browsers.passes_too_large) {
      ++shared_.counters.bad_requests;
      return respond(plain_text(
          400, "body: more than " + std::to_string(options.max_body_bytes) + " bytes\n"));
    }
    const std::string& body = message.body().data;
    HttpRequest request{{message.method_string().data(), message.method_string().size()},
                        target,
                        {body.data(), body.size()},
                        field(http::field::host),
                        this,
                        peer,
                        kTls && !plain_,
                        message.body().too_large};
    if (request.too_large) request.body = {};
    try {
      if (!shared_.async_handler) return respond(shared_.handler(request));
      waiting_ = self();
      shared_.async_handler(request, replier());
    } catch (const std::exception& e) {
      waiting_.reset();
      respond(plain_text(500, std::string("internal error: ") + e.what() + "\n"));
    }
  }

  // find() and field() return a header of the request in progress; empty if it is absent. The text
  // is valid until the answer is written.
  std::string_view find(std::string_view name) const override {
    const auto& message = parser_->get();
    const auto it = message.find({name.data(), name.size()});
    if (it == message.end()) return {};
    return {it->value().data(), it->value().size()};
  }
  std::string_view field(http::field name) const {
    const auto& message = parser_->get();
    const auto it = message.find(name);
    if (it == message.end()) return {};
    return {it->value().data(), it->value().size()};
  }

  // Returns the function that the handler calls with its answer. A late call has no effect, because
  // the connection is gone or no longer waits.
  HttpReplier replier() {
    return [weak = std::weak_ptr<Session>(self())](HttpResponse response) {
      const auto session = weak.lock();
      if (!session) return;
      session->on_strand([response = std::move(response)](Session& s) {
        if (std::exchange(s.waiting_, nullptr)) s.respond(response);
      });
    };
  }

  // Writes the answer. Then it reads the next request, or closes the connection.
  void respond(const HttpResponse& response) {
    enter(State::kWriting);
    write_response(out_, response, keep_alive_, version_, head_);
    if (response.stream && !head_) return begin_stream(response.stream);
    if (response.stream) keep_alive_ = false;
    write(asio::buffer(out_), [self = self()](ErrorCodeOf ec, std::size_t) {
      if (ec || !self->keep_alive_) return self->close();
      self->spare_ = std::move(self->parser_->get().body().data);
      self->parser_.reset();
      self->enter(State::kIdle);
      self->next();
    });
  }

  // Writes the beginning of the answer, then the parts of the stream.
  void begin_stream(std::shared_ptr<HttpStream> events) {
    events_ = std::move(events);
    events_->attach([weak = std::weak_ptr<Session>(self())] {
      const auto session = weak.lock();
      if (!session) return;
      session->on_strand([](Session& s) {
        if (s.state_ == State::kStreaming) s.write_parts();
      });
    });
    write(asio::buffer(out_), [self = self()](ErrorCodeOf ec, std::size_t) {
      if (ec) return self->cut();
      self->watch_peer();
      self->write_parts();
    });
  }

  // Writes the waiting parts, or waits for one. At the end of the stream it closes the socket.
  void write_parts() {
    const bool ended = events_->ended();
    parts_ = events_->take();
    if (parts_.empty()) return ended || shared_.stopping ? cut() : enter(State::kStreaming);
    enter(State::kWriting);
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(parts_.size());
    for (const HttpStream::Part& part : parts_) buffers.push_back(asio::buffer(*part));
    write(buffers,
          [self = self()](ErrorCodeOf ec, std::size_t) { ec ? self->cut() : self->write_parts(); });
  }

  // Notices when the peer of a stream closes. Drops the bytes that it sends.
  void watch_peer() {
    read_some(asio::buffer(in_), [self = self()](ErrorCodeOf ec, std::size_t) {
      ec ? self->cut() : self->watch_peer();
    });
  }

  // Shuts the connection down, then reads and drops bytes that still arrive. Without this, a TCP
  // reset could drop the last answer.
  void close() {
    if (state_ == State::kClosing) return;
    enter(State::kClosing);
    if constexpr (kTls) {
      if (!plain_) return stream_.async_shutdown([self = self()](ErrorCodeOf) { self->drain(); });
    }
    drain();
  }

  // Closes the sending side only, so that the peer sees the end of the answer.
  void drain() {
    ErrorCodeOf ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    if (ignored) return;
    discard();
  }
  // Reads and drops bytes until the peer closes the connection. If the peer does not close it
  // within kCloseMs, the time-out closes the socket.
  void discard() {
    socket().async_read_some(asio::buffer(in_), [self = self()](ErrorCodeOf ec, std::size_t) {
      if (!ec) self->discard();
    });
  }

  Stream stream_;
  // The read buffer. Its bytes from begin_ to end_ are not parsed yet.
  std::vector<char> in_;
  std::size_t begin_ = 0, end_ = 0;
  // The request in progress; none between requests.
  std::optional<Parser> parser_;
  // While another thread makes the answer: this session, so that it stays alive.
  std::shared_ptr<Session> waiting_;
  // `out_`: the answer that is being written. `spare_`: the body of the last request, whose memory
  // the next request reuses.
  std::string out_, spare_;
  // Properties of the request in progress. `keep_alive_`: the connection stays open after the
  // answer. `head_`: the request is a HEAD request. `continued_`: the interim answer 100 was sent.
  bool keep_alive_ = true, head_ = false, continued_ = false;
  // HTTP/1.0 or 1.1, as 10 or 11.
  unsigned version_ = 11;
  // True: the listener has TLS, and this connection does not use it.
  bool plain_ = false;
  // The stream that follows the answer; nullptr: none. `parts_`: the parts that are being written.
  std::shared_ptr<HttpStream> events_;
  std::vector<HttpStream::Part> parts_;
};

}  // namespace subak::net
