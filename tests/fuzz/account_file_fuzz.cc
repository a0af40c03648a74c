// The account file of the CLI, and what becomes of it as a request to the service.
#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "server/api/convert/convert.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

// What the service shows of an account is what the CLI would write again.
void check_written_again(const v1::Account& account) {
  cli::AccountWish wish;
  for (const cli::FieldText& field : cli::account_fields(account)) {
    if (field.name == "shares") wish.shares = field.text;
    if (field.name == "quota") wish.quota = field.text;
    if (field.name == "limit") wish.limit = field.text;
    if (field.name == "borrow") wish.borrow = field.text;
    if (field.name == "lend") wish.lend = field.text;
  }
  v1::UpdateAccountRequest request;
  cli::put_wish(wish, "", &request);
  const auto fields = cli::account_fields(request.account());
  const auto expected = cli::account_fields(account);
  for (std::size_t i = 0; i < 5; ++i) assert(fields[i].text == expected[i].text);
  assert(cli::account_diff(&account, &account).empty());
}

void check_wish(const cli::AccountWish& wish) {
  v1::UpdateAccountRequest request;
  cli::put_wish(wish, "there: ", &request);
  api::Check check;
  const in::UnchangedFields unchanged =
      api::get_unchanged(check, request.account(), request.update_mask());
  const AccountSpec spec = api::get(check, request.account(), unchanged);
  if (!check.ok()) return fuzz::check_error(check.error());
  v1::Account shown;
  api::put(spec, 1, &shown);
  check_written_again(shown);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string text(fuzz::text_of(data, size));
    for (const cli::AccountWish& wish : cli::parse_account_file(text, "accounts.yaml")) {
      check_wish(wish);
    }
  } catch (const cli::Failure& failure) {
    assert(failure.exit_code == cli::kExitUsage);
    assert(failure.what.starts_with("accounts.yaml:") || failure.what.starts_with("there: "));
    assert(!failure.todo.empty());
  }
  return 0;
}
