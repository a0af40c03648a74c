// The webhook over HTTPS with the fixture's View, for scripts: `serve_fixed_view DIR` makes
// certificates in DIR, prints "port N" and serves until its standard input ends.
#include <chrono>
#include <cstdio>
#include <iostream>

#include "admission/webhook.h"
#include "fixture.h"
#include "net/listener.h"
#include "net/self_signed.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using namespace subak;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto made = keep_self_signed(
      argv[1], {}, std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  if (!made.ok()) return 1;
  const auto view = test::fixed_view();
  WebhookOptions options;
  const auto config = std::make_shared<const AdmissionConfig>();
  options.basis = [&] { return AdmissionBasis{view, config}; };
  options.now_ns = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  Webhook webhook(options);
  ListenerOptions listen;
  listen.tls = CertificateStore::open(made->files, nullptr).value();
  Listener listener(listen, [&](const HttpRequest& r) { return webhook.handle(r); });
  if (const auto error = listener.start()) {
    std::fprintf(stderr, "%s\n", error->message().c_str());
    return 1;
  }
  std::printf("port %d\n", listener.port());
  std::fflush(stdout);
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
  listener.stop();
  return 0;
}
