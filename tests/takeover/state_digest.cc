// The state of a database by two ways: as a start reads it, from the checkpoint and what follows, and from all facts.
//   state_digest postgres://...
// Reads only. Prints one JSON object.
#include <cstdint>
#include <cstdio>

#include "core/limits.h"
#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "server/store/postgres/postgres_reader.h"
#include "server/store/proof/verify.h"

namespace subak {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "state_digest: %s\n", error.message().c_str());
  return 1;
}

int run(const char* uri) {
  auto address = postgres::parse_address(uri);
  if (!address.ok()) return fail(address.error());
  auto reader = postgres::PostgresReader::open(*address, kFactVersion + 1);  // of subakd_next too
  if (!reader.ok()) return fail(reader.error());
  Engine as_started, whole;
  const auto recovered = recover_engine(**reader, as_started);
  if (!recovered.ok()) return fail(recovered.error());
  while (true) {
    const auto facts = (*reader)->facts(whole.seq(), limits::kDatabasePageRows);
    if (!facts.ok()) return fail(facts.error());
    if (facts->empty()) break;
    for (const Fact& fact : *facts) whole.evolve(fact);
  }
  std::printf(
      "{\"seq\": %llu, \"checkpoint_seq\": %llu, \"as_started\": \"%s\", \"all_facts\": \"%s\"}\n",
      static_cast<unsigned long long>(recovered->seq),
      static_cast<unsigned long long>(recovered->checkpoint_seq),
      digest_text(as_started.digest()).c_str(), digest_text(whole.digest()).c_str());
  return 0;
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc == 2) return subak::run(argv[1]);
  std::fprintf(stderr, "usage: state_digest postgres://...\n");
  return 2;
}
