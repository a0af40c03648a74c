// subak policy get, set: the settings that all decisions use.
#include <algorithm>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/order_table.h"
#include "cli/text/words.h"
#include "subak/v1/admin_service.pb.h"

namespace subak::cli {
namespace {

Table values_table(const v1::PolicyResponse& answer) {
  Table table({{"KEY"},
               {"VALUE", Align::kLeft, Room::kElastic},
               {"SET BY"},
               {"MEANING", Align::kLeft, Room::kWide}});
  for (const auto& value : answer.values()) {
    table.row({value.key(), value.value(), value.configured() ? "configuration" : "policy",
               value.help()});
  }
  return table;
}

v1::PolicyResponse get_policy(Session& s) {
  return s.call<v1::PolicyResponse>("AdminService/GetPolicy", v1::GetPolicyRequest());
}

void print_change(Session& s, const v1::PolicyResponse& answer) {
  if (!answer.has_half_life_change()) return;
  const auto& change = answer.half_life_change();
  s.say("halfLife changes to " + change.half_life() +
        " when all usage is computed again: " + std::to_string(change.facts_read()) + " of " +
        std::to_string(change.facts()) + " facts are read");
}

void add_get(Command policy) {
  auto key = std::make_shared<std::string>();
  Command c = policy.add("get", "show the policy: the settings that all decisions use");
  c.optional_argument("KEY", *key, "only the value of this key");
  c.run([key](Session& s) {
    const auto answer = get_policy(s);
    if (key->empty()) {
      s.show(answer, [&] { return values_table(answer); });
      print_change(s, answer);
      return kExitDone;
    }
    for (const auto& value : answer.values()) {
      if (value.key() != *key) continue;
      s.show_text(value, [&] { s.out() << value.value() << '\n'; });
      return kExitDone;
    }
    throw Failure{kExitNotFound, "the policy has no key " + *key,
                  "subak policy get shows all keys"};
  });
}

struct SetCommand {
  std::vector<std::string> changes;
  bool dry_run = false;
  EditOptions edit;
};

// Prints what an edit of the half-life did to the change that was under way before.
void print_half_life(Session& s, const v1::PolicyResponse& before) {
  if (!before.has_half_life_change()) return;
  const v1::PolicyResponse now = get_policy(s);
  if (now.has_half_life_change()) return print_change(s, now);
  s.say("the change of halfLife to " + before.half_life_change().half_life() +
        " is no longer under way");
}

int set_policy(Session& s, const SetCommand& o) {
  v1::SetPolicyRequest request;
  for (const std::string& text : o.changes) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw usage_failure("KEY=VALUE: was \"" + text + "\", want a form such as patience=2h",
                          "subak policy get shows the keys and their values");
    }
    v1::SetPolicyRequest::Change* const change = request.add_changes();
    change->set_key(text.substr(0, equals));
    change->set_value(text.substr(equals + 1));
  }
  request.set_reason(o.edit.reason);
  request.set_request_id(o.edit.request_id);
  const bool of_half_life = std::any_of(request.changes().begin(), request.changes().end(),
                                        [](const auto& c) { return c.key() == "halfLife"; });
  const v1::PolicyResponse before = of_half_life ? get_policy(s) : v1::PolicyResponse();
  request.set_validate_only(true);
  auto answer = s.call<v1::PolicyResponse>("AdminService/SetPolicy", request);
  const bool is_text = s.form() == Form::kTable || s.form() == Form::kWide;
  if (is_text) print_order(s.out(), answer.order(), s.form() == Form::kWide);
  if (!o.dry_run) {
    request.set_validate_only(false);
    answer = s.call<v1::PolicyResponse>("AdminService/SetPolicy", request);
  }
  s.show_text(answer, [&] {
    int changed = 0;
    for (const auto& value : answer.values()) {
      if (!value.has_before()) continue;
      ++changed;
      s.out() << value.key() << ": " << value.before() << " -> " << value.value() << '\n';
    }
    if (changed == 0) s.out() << "nothing changed\n";
    if (changed > 0 && o.dry_run) s.out() << "dry run: nothing was changed\n";
  });
  answer.has_half_life_change() || o.dry_run ? print_change(s, answer) : print_half_life(s, before);
  return kExitDone;
}

void add_set(Command policy) {
  auto o = std::make_shared<SetCommand>();
  Command c = policy.add(
      "set", "change values of the policy; they stay after a restart and with another leader");
  c.arguments("KEY=VALUE", o->changes, "such as patience=2h; the keys are those of policy get");
  c.flag("--dry-run", o->dry_run, "check and show the change; change nothing");
  add_reason(c, o->edit);
  c.run([o](Session& s) { return set_policy(s, *o); });
}

}  // namespace

void add_policy(Command root) {
  Command policy = root.add("policy", "the settings that all decisions use");
  add_get(policy);
  add_set(policy);
}

}  // namespace subak::cli
