// subak claims: GPUs that waiting jobs claim, which jobs must give them back, and when.
#include "cli/commands.h"
#include "cli/text/words.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

struct ClaimsCommand {
  std::string account;
  bool would = false;
  WatchOptions watch;
};

std::string amounts_text(const v1::Claim& claim) {
  std::string text;
  for (const v1::ProductAmount& a : claim.amounts()) {
    text += (text.empty() ? "" : ",") + a.product() + "=" + gpus_text(a.milligpu());
  }
  return text;
}

std::string nodes_text(const v1::Claim& claim) {
  if (claim.node_count() == 1 && claim.nodes_size() == 1) return claim.nodes(0);
  return std::to_string(claim.node_count()) + " nodes";
}

std::string when_text(const v1::ClaimVictim& victim, TimeMs now) {
  if (victim.milligpu() == 0) return "gone";
  if (victim.ending()) {
    if (!victim.has_by()) return "ending";
    const DurationMs rest = to_ms(victim.by()) - now;
    return rest <= 0 ? "ends now" : "ends within " + age_text(rest);
  }
  const DurationMs left = to_ms(victim.ask_time()) - now;
  return left <= 0 ? "asked now" : "asked in " + age_text(left);
}

// One row for each victim; the claim itself in the first.
Table claims_table(const v1::ListClaimsResponse& answer) {
  Table table({{"JOB"},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"GETS", Align::kLeft, Room::kElastic},
               {"ON", Align::kLeft, Room::kElastic},
               {"SINCE", Align::kRight},
               {"FROM"},
               {"ITS ACCOUNT", Align::kLeft, Room::kElastic},
               {"HOLDS", Align::kRight},
               {"WHEN"}});
  const TimeMs now = to_ms(answer.time());
  for (const v1::Claim& claim : answer.claims()) {
    std::vector<Cell> head{claim.job_id(), payer_text(claim.account(), claim.user()),
                           amounts_text(claim), nodes_text(claim),
                           age_text(now - to_ms(claim.made()))};
    if (claim.victims().empty()) {
      head.insert(head.end(), {"-", "-", "-", "-"});
      table.row(std::move(head));
      continue;
    }
    for (const v1::ClaimVictim& victim : claim.victims()) {
      std::vector<Cell> row = std::exchange(head, {"", "", "", "", ""});
      row.insert(row.end(), {victim.job_id(), payer_text(victim.account(), victim.user()),
                             gpus_text(victim.milligpu()), when_text(victim, now)});
      table.row(std::move(row));
    }
    const int more = claim.victim_count() - claim.victims_size();
    if (more > 0) table.row({"", "", "", "", "", "+" + std::to_string(more), "", "", ""});
  }
  return table;
}

void show_claims(Session& s, const ClaimsCommand& o) {
  v1::ListClaimsRequest request;
  request.set_account(o.account);
  request.set_would(o.would);
  const auto answer = s.call<v1::ListClaimsResponse>("JobService/ListClaims", request);
  if (answer.claims().empty() && (s.form() == Form::kTable || s.form() == Form::kWide)) {
    if (!o.account.empty()) s.must_be_account(o.account);
    s.say(o.would ? "no job would claim GPUs" : "no job claims GPUs");
  } else {
    s.show(answer, [&] { return claims_table(answer); });
  }
}

}  // namespace

void add_claims(Command root) {
  auto o = std::make_shared<ClaimsCommand>();
  Command c = root.add(
      "claims", "GPUs that waiting jobs claim, which jobs must give these GPUs back, and when");
  c.option("--account", o->account, "only claims for this account and the accounts below it",
           "PATH");
  c.flag("--would", o->would,
         "show the claims that the next pass would make with reclaim on, not the present claims");
  add_watch(c, o->watch);
  c.run([o](Session& s) { return repeat(s, o->watch.seconds(), [&] { show_claims(s, *o); }); });
}

}  // namespace subak::cli
