#include "admission/listener.h"

#include <pthread.h>

#include <boost/asio/basic_socket_acceptor.hpp>

#include "admission/listener_session.h"

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
  explicit Impl(ListenerOptions options) : shared(std::make_shared<Shared>()) {
    shared->options = std::move(options);
  }

  std::shared_ptr<Shared> shared;
  std::vector<std::shared_ptr<Worker>> workers;
  std::optional<asio::basic_socket_acceptor<tcp, Executor>> acceptor;
  std::optional<Timer> retry, certificates;
  std::shared_ptr<const TlsMaterial> material;
  std::size_t turn = 0;
  std::uint16_t port = 0;

  std::optional<Error> start();
  std::optional<Error> bind();
  void accept();
  void adopt(Socket socket, const std::shared_ptr<Worker>& worker);
  void watch_certificates();
  void stop();
};

std::optional<Error> Listener::Impl::start() {
  std::shared_ptr<asio::ssl::context> tls;
  if (shared->options.tls) {
    material = shared->options.tls->current();
    auto made = make_tls(*material);
    if (!made.ok()) return made.error();
    tls = std::move(made).value();
  }
  for (int i = 0; i < std::max(1, shared->options.threads); ++i) {
    workers.push_back(std::make_shared<Worker>(shared));
    workers.back()->tls = tls;
  }
  if (auto error = bind()) {
    acceptor.reset();
    workers.clear();
    return error;
  }
  retry.emplace(workers[0]->io);
  accept();
  if (tls) {
    certificates.emplace(workers[0]->io);
    watch_certificates();
  }
  for (const auto& worker : workers) {
    worker->arm_tick();
    worker->thread = std::thread([w = worker.get()] { w->io.run(); });
    pthread_setname_np(worker->thread.native_handle(), shared->options.thread_name);
  }
  return std::nullopt;
}

std::optional<Error> Listener::Impl::bind() {
  const ListenerOptions& o = shared->options;
  const std::string where = o.host + ":" + std::to_string(o.port);
  ErrorCodeOf ec;
  const auto address = asio::ip::make_address(o.host, ec);
  if (ec) return Error{ErrorCode::kInvalid, "listen", where, "want an IP address and a port"};
  acceptor.emplace(workers[0]->io);
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
  const std::shared_ptr<Worker> worker = workers[turn++ % workers.size()];
  acceptor->async_accept(worker->io, [this, worker](ErrorCodeOf ec, Socket socket) {
    if (!acceptor->is_open()) return;
    if (!ec) {
      adopt(std::move(socket), worker);
      return accept();
    }
    retry->expires_after(std::chrono::milliseconds(kAcceptRetryMs));
    retry->async_wait([this](ErrorCodeOf cancelled) {
      if (!cancelled && acceptor->is_open()) accept();
    });
  });
}

void Listener::Impl::adopt(Socket socket, const std::shared_ptr<Worker>& worker) {
  if (shared->counters.open >= shared->options.max_connections) {
    ++shared->counters.refused;
    return;  // the destructor closes it
  }
  ++shared->counters.accepted;
  asio::post(worker->io, [w = worker.get(), s = std::move(socket)]() mutable {
    ErrorCodeOf ignored;
    s.set_option(tcp::no_delay(true), ignored);
    if (w->stopping) return;
    if (w->tls) {
      std::make_shared<Session<TlsStream>>(*w, std::move(s), *w->tls)->start();
    } else {
      std::make_shared<Session<Socket>>(*w, std::move(s))->start();
    }
  });
}

void Listener::Impl::watch_certificates() {
  certificates->expires_after(std::chrono::milliseconds(shared->options.certificate_poll_ms));
  certificates->async_wait([this](ErrorCodeOf cancelled) {
    // Also when it had expired before stop() could cancel it.
    if (cancelled || !acceptor->is_open()) return;
    shared->options.tls->poll();
    const auto now = shared->options.tls->current();
    if (now != material) {
      material = now;
      auto made = make_tls(*now);
      if (made.ok()) {
        for (const auto& w : workers) {
          asio::post(w->io, [w = w.get(), tls = *made] { w->tls = tls; });
        }
      }
    }
    watch_certificates();
  });
}

void Listener::Impl::stop() {
  if (workers.empty()) return;
  asio::post(workers[0]->io, [this] {
    ErrorCodeOf ignored;
    acceptor->close(ignored);
    retry->cancel();
    if (certificates) certificates->cancel();
  });
  for (const auto& w : workers) asio::post(w->io, [w = w.get()] { w->begin_stop(); });
  for (const auto& w : workers) w->thread.join();
  acceptor.reset();
  retry.reset();
  certificates.reset();
  workers.clear();
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

}  // namespace subak
