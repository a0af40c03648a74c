#include "net/listener.h"

#include <pthread.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <thread>

#include "net/listener_probe.h"
#include "net/listener_session.h"

namespace subak {
namespace {

using namespace net;  // NOLINT: the other half of this file

Result<std::shared_ptr<asio::ssl::context>> make_tls(const TlsMaterial& material) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  ErrorCodeOf ec;
  context->use_certificate_chain(asio::buffer(material.cert_pem), ec);
  if (!ec) context->use_private_key(asio::buffer(material.key_pem), asio::ssl::context::pem, ec);
  if (ec) return Error{ErrorCode::kInvalid, "tls certificate", "", ec.message()};
  return context;
}

}  // namespace

struct Listener::Impl {
  explicit Impl(ListenerOptions options) : shared(std::make_unique<Shared>(std::move(options))) {}

  std::unique_ptr<Shared> shared;
  // Only the control thread uses the following fields.
  std::optional<asio::basic_socket_acceptor<tcp, Executor>> acceptor;
  std::optional<Timer> retry, certificates;
  std::shared_ptr<const TlsMaterial> material;
  std::shared_ptr<asio::ssl::context> tls;
  tcp::endpoint from;

  std::optional<asio::executor_work_guard<Executor>> work;
  std::vector<std::thread> threads;
  std::uint16_t port = 0;

  std::optional<Error> start();
  std::optional<Error> bind();
  void run(asio::io_context& io);
  void accept();
  void accept_in(DurationMs wait_ms);
  void adopt(Socket socket);
  std::optional<ConnectionLimiter::Answer> let_in(const Peer& peer);
  void watch_certificates();
  void stop();
};

std::optional<Error> Listener::Impl::start() {
  if (shared->options.tls) {
    material = shared->options.tls->current();
    auto made = make_tls(*material);
    if (!made.ok()) return made.error();
    tls = std::move(made).value();
  }
  if (auto error = bind()) {
    acceptor.reset();
    return error;
  }
  retry.emplace(shared->control);
  accept();
  if (tls) {
    certificates.emplace(shared->control);
    watch_certificates();
  }
  shared->arm_tick();
  work.emplace(shared->io.get_executor());
  run(shared->control);
  for (int i = 0; i < std::max(1, shared->options.threads); ++i) run(shared->io);
  return std::nullopt;
}

void Listener::Impl::run(asio::io_context& io) {
  threads.emplace_back([&io] { io.run(); });
  pthread_setname_np(threads.back().native_handle(), shared->options.thread_name);
}

std::optional<Error> Listener::Impl::bind() {
  const ListenerOptions& o = shared->options;
  const std::string where = o.host + ":" + std::to_string(o.port);
  ErrorCodeOf ec;
  const auto address = asio::ip::make_address(o.host, ec);
  if (ec) return Error{ErrorCode::kInvalid, "listen", where, "want an IP address and a port"};
  acceptor.emplace(shared->control);
  const tcp::endpoint endpoint(address, o.port);
  acceptor->open(endpoint.protocol(), ec);
  if (!ec) acceptor->set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor->bind(endpoint, ec);
  if (!ec) acceptor->listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) port = acceptor->local_endpoint(ec).port();
  if (ec) return Error{ErrorCode::kPrecondition, "listen", where, ec.message()};
  return std::nullopt;
}

void Listener::Impl::accept() {
  if (shared->limiter.crowded()) return accept_in(kCrowdedRetryMs);
  acceptor->async_accept(asio::make_strand(shared->io), from,
                         [this](ErrorCodeOf ec, Socket socket) {
                           if (!acceptor->is_open()) return;
                           if (!ec) {
                             adopt(std::move(socket));
                             return accept();
                           }
                           accept_in(kAcceptRetryMs);
                         });
}

void Listener::Impl::accept_in(DurationMs wait_ms) {
  retry->expires_after(std::chrono::milliseconds(wait_ms));
  retry->async_wait([this](ErrorCodeOf cancelled) {
    if (!cancelled && acceptor->is_open()) accept();
  });
}

void Listener::Impl::adopt(Socket socket) {
  const Peer peer = peer_of(*from.data());
  const std::optional<ConnectionLimiter::Answer> entered = let_in(peer);
  if (!entered) return shared->limiter.refused();  // the destructor closes it
  ErrorCodeOf ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (tls) {
    std::make_shared<Session<TlsStream>>(*shared, peer, *entered, std::move(socket), *tls)->start();
  } else {
    std::make_shared<Session<Socket>>(*shared, peer, *entered, std::move(socket))->start();
  }
}

std::optional<ConnectionLimiter::Answer> Listener::Impl::let_in(const Peer& peer) {
  ConnectionLimiter::Answer answer = shared->limiter.ask(peer);
  if (!ConnectionLimiter::enters(answer) && shared->make_room(peer, answer))
    answer = shared->limiter.ask(peer);
  if (ConnectionLimiter::enters(answer)) return answer;
  return std::nullopt;
}

void Listener::Impl::watch_certificates() {
  certificates->expires_after(std::chrono::milliseconds(shared->options.certificate_poll_ms));
  certificates->async_wait([this](ErrorCodeOf cancelled) {
    // The check also covers a timer that had expired before stop() could cancel it.
    if (cancelled || !acceptor->is_open()) return;
    shared->options.tls->poll();
    const auto now = shared->options.tls->current();
    if (now != material) {
      material = now;
      auto made = make_tls(*now);
      if (made.ok()) tls = std::move(made).value();
    }
    watch_certificates();
  });
}

void Listener::Impl::stop() {
  if (threads.empty()) return;
  asio::post(shared->control, [this] {
    ErrorCodeOf ignored;
    acceptor->close(ignored);
    retry->cancel();
    if (certificates) certificates->cancel();
    shared->begin_stop();
  });
  threads.front().join();  // control: ends with the last connection
  work.reset();
  for (std::size_t i = 1; i < threads.size(); ++i) threads[i].join();
  threads.clear();
  acceptor.reset();
  retry.reset();
  certificates.reset();
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::Listener(ListenerOptions options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->shared->handler = std::move(handler);
}
std::unique_ptr<Listener> Listener::async(ListenerOptions options, AsyncHttpHandler handler) {
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->shared->async_handler = std::move(handler);
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}
Listener::~Listener() { stop(); }
std::optional<Error> Listener::start() { return impl_->start(); }
std::uint16_t Listener::port() const { return impl_->port; }
void Listener::stop() { impl_->stop(); }
const ListenerCounters& Listener::counters() const { return impl_->shared->counters; }

ConnectionStats Listener::connections() const {
  const ConnectionLimiter& limiter = impl_->shared->limiter;
  const LimiterCounters& counters = limiter.counters();
  return {limiter.open(), limiter.limits().all, counters.accepted, counters.refused,
          counters.evicted};
}

ProbeResult Listener::probe(DurationMs patience) {
  const Shared& shared = *impl_->shared;
  return subak::probe(
      impl_->shared->limiter, shared.options.host, impl_->port, patience,
      [&](int fd) { return ask_http(fd, shared.options.tls != nullptr, patience); });
}

}  // namespace subak
