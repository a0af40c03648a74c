// The least that an HTTPS server can do with a POST: read it all, send a fixed answer. Baseline of
// the webhook's cost. One thread; prints its port and runs until it is killed.
//   tls_static CERTIFICATE KEY ANSWER_BYTES
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using Stream = asio::ssl::stream<Tcp::socket>;
using Answer = http::response<http::string_body>;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Tcp::socket socket, asio::ssl::context& tls, const Answer& answer)
      : stream_(std::move(socket), tls), answer_(answer) {
    buffer_.reserve(64 * 1024);  // so that a request takes one read, not many small ones
  }
  void run() {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [self = shared_from_this()](boost::system::error_code error) {
                              if (!error) self->read();
                            });
  }

 private:
  void read() {
    request_ = {};
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }
  void write() {
    http::async_write(stream_, answer_,
                      [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  Stream stream_;
  const Answer& answer_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
};

class Server {
 public:
  Server(const char* certificate, const char* key, std::size_t answer_bytes)
      : tls_(asio::ssl::context::tls_server),
        acceptor_(io_, {asio::ip::make_address("127.0.0.1"), 0}) {
    tls_.use_certificate_chain_file(certificate);
    tls_.use_private_key_file(key, asio::ssl::context::pem);
    answer_.set(http::field::content_type, "application/json");
    answer_.body() = std::string(answer_bytes, 'x');
    answer_.keep_alive(true);
    answer_.prepare_payload();
  }
  void run() {
    std::printf("%u\n", static_cast<unsigned>(acceptor_.local_endpoint().port()));
    std::fflush(stdout);
    accept();
    io_.run();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, Tcp::socket socket) {
      if (!error) {
        socket.set_option(Tcp::no_delay(true));
        std::make_shared<Session>(std::move(socket), tls_, answer_)->run();
      }
      accept();
    });
  }

  asio::io_context io_{1};
  asio::ssl::context tls_;
  Tcp::acceptor acceptor_;
  Answer answer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tls_static CERTIFICATE KEY ANSWER_BYTES\n");
    return 2;
  }
  Server(argv[1], argv[2], std::strtoul(argv[3], nullptr, 10)).run();
}
