// Opens our gate on every pod of a namespace as fast as our client can, with no service behind it:
// what tests/e2e/measure.py holds a service's releases against.
//
//   bare_patches KUBECONFIG NAMESPACE NODE_PREFIX   prints how many patches were done, in how many ms
#include <cstdio>
#include <string>
#include <vector>

#include "kube/json.h"
#include "kube/release.h"
#include "server/edge/client/client.h"
#include "server/edge/client/kubeconfig_file.h"
#include "server/runtime/clock/clock.h"

namespace {

using subak::CallAnswer;
using subak::KubeCall;
using subak::KubeClient;

int fail(const std::string& why) {
  std::fprintf(stderr, "bare_patches: %s\n", why.c_str());
  return 1;
}

std::string body_of(KubeClient& client, const std::string& path) {
  std::string text;
  bool answered = false;
  KubeCall get;
  get.path = path;
  client.call(get, [&](const CallAnswer&, std::string_view body) {
    text = body;
    answered = true;
  });
  while (!answered) client.turn(1000);
  return text;
}

std::vector<KubeCall> patches_of(const std::string& list, const std::string& collection,
                                 const std::string& node) {
  std::vector<KubeCall> calls;
  subak::json::Parser parser;
  subak::json::Value root;
  if (parser.parse(list).get(root) != simdjson::SUCCESS) return calls;
  const auto items = subak::json::member(root, "items");
  if (!items) return calls;
  subak::json::each_item(*items, [&](std::size_t i, subak::json::Value pod) {
    const std::string place = node + std::to_string(i / 8);
    auto patch = subak::release_patch(pod, {place, "released"});
    if (!patch) return;
    const std::string name(subak::json::text_in(pod, "metadata", "name"));
    calls.push_back({"PATCH", collection + "/" + name, std::move(patch).value(),
                     "application/json-patch+json"});
  });
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return fail("want KUBECONFIG NAMESPACE NODE_PREFIX");
  auto access = subak::read_kubeconfig_file(argv[1], "");
  if (!access) return fail(access.error().message());
  KubeClient client(std::move(access).value());
  const std::string collection = "/api/v1/namespaces/" + std::string(argv[2]) + "/pods";
  const auto calls = patches_of(body_of(client, collection), collection, argv[3]);
  std::size_t answered = 0, done = 0;
  const subak::SystemClock clock;
  const auto began_us = clock.monotonic_us();
  for (const KubeCall& call : calls) {
    client.call(call, [&](const CallAnswer& answer, std::string_view) {
      ++answered;
      done += answer.outcome == subak::Outcome::kDone ? 1 : 0;
    });
  }
  while (answered < calls.size()) client.turn(1000);
  std::printf("%zu %lld\n", done, static_cast<long long>(clock.monotonic_us() - began_us) / 1000);
  return done == calls.size() ? 0 : 1;
}
