// The file of a change, and what becomes of it as a request and as a change of a history.
#include "cli/text/failure.h"
#include "cli/whatif/change_file.h"
#include "server/whatif/change_request.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_request(const v1::WhatIfRequest& request) {
  const auto change = whatif::read_change(request);
  if (!change.ok()) return fuzz::check_error(change.error());
  assert(change->accounts.size() == static_cast<std::size_t>(request.accounts_size()));
  assert(change->nodes.size() == static_cast<std::size_t>(request.nodes_size()));
  assert(change->load.size() == static_cast<std::size_t>(request.load_size()));
  // The new values are the same each time.
  if (change->policy) assert(change->policy(Policy()) == change->policy(change->policy(Policy())));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string text(fuzz::text_of(data, size));
    check_request(cli::parse_change_file(text, "change.yaml"));
  } catch (const cli::Failure& failure) {
    assert(failure.exit_code == cli::kExitUsage);
    assert(failure.what.starts_with("change.yaml:"));
    assert(!failure.todo.empty());
  }
  return 0;
}
