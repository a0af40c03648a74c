// What an API server says of its namespaces, and the account file that is suggested for it: `account
// apply` reads it, the engine takes it, and the second time there is nothing left to suggest.
#include "cli/setup/suggest.h"
#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "server/api/convert/convert.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/one_answer.h"

namespace {

using namespace subak;

AccountSpec spec_of(const cli::AccountWish& wish) {
  v1::UpdateAccountRequest request;
  cli::put_wish(wish, "there: ", &request);
  api::Check check;
  const in::UnchangedFields unchanged =
      api::get_unchanged(check, request.account(), request.update_mask());
  AccountSpec spec = api::get(check, request.account(), unchanged);
  assert(check.ok());
  return spec;
}

void check_options(std::string_view text, const cli::SuggestOptions& options) {
  OneAnswer api(text);
  const auto read = cli::read_namespaces(api, options);
  if (!read.ok()) return fuzz::check_error(read.error());
  const cli::Suggestion first = cli::suggest(*read, {}, options);
  const auto wishes = cli::parse_account_file(first.text, "suggested");
  Engine engine;
  cli::KnownAccounts known;
  std::size_t named = 0;
  TimeMs now = 1000;
  for (const cli::AccountWish& wish : wishes) {
    const AccountSpec spec = spec_of(wish);
    in::SetAccount set{spec, 0, "fuzz", false, false, false, {}};
    assert(!engine.apply({++now, "", "fuzz", std::move(set)}).reply.error);
    known.paths.insert(spec.path);
    for (const std::string& ns : spec.namespaces) {
      const std::string name = ns.substr(ns.find('/') + 1);
      assert(read->contains(name) && known.by_namespace.emplace(name, spec.path).second);
      ++named;
    }
  }
  assert(named == first.namespaces);
  const cli::Suggestion again = cli::suggest(*read, known, options);
  assert(again.namespaces == 0 && cli::parse_account_file(again.text, "again").empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_options(text, {});
  check_options(text, {"main", "team", true, true, {"amd.com/gpu"}});
  return 0;
}
