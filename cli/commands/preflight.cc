// subak preflight: lists conflicts of a cluster with Subak.
#include "cli/setup/preflight.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <memory>

#include "admission/policy_config.h"
#include "cli/commands.h"
#include "cli/kube_options.h"
#include "cli/service_facts.h"
#include "cli/text/failure.h"

namespace subak::cli {
namespace {

struct PreflightCommand {
  KubeOptions kube;
  std::string cluster, user;
};

google::protobuf::Struct as_message(const std::vector<Finding>& findings) {
  google::protobuf::Struct out;
  auto* list = (*out.mutable_fields())["findings"].mutable_list_value();
  for (const Finding& f : findings) {
    auto& fields = *list->add_values()->mutable_struct_value()->mutable_fields();
    fields["level"].set_string_value(std::string(enum_name(f.level)));
    fields["what"].set_string_value(f.what);
    fields["where"].set_string_value(f.where);
    fields["todo"].set_string_value(f.todo);
  }
  return out;
}

// Findings are sentences, too long for the columns of a table. So each one is printed as a block of
// lines.
void print(Session& s, const std::vector<Finding>& findings) {
  for (const Finding& f : findings) {
    const Colour colour = f.level == Level::kBlocker   ? Colour::kRed
                          : f.level == Level::kWarning ? Colour::kYellow
                                                       : Colour::kDim;
    s.out() << s.paint(colour, std::string(enum_name(f.level))) << ": " << printable(f.what)
            << '\n';
    if (!f.where.empty()) s.out() << "  " << printable(f.where) << '\n';
    if (!f.todo.empty()) s.out() << "  -> " << printable(f.todo) << '\n';
  }
}

int preflight(Session& s, const PreflightCommand& o) {
  const auto api = open_kube(o.kube);
  const auto cluster = read_cluster(*api, o.user);
  if (!cluster) throw kube_failure(cluster.error());
  const std::vector<Finding> findings = judge(*cluster, ask_service(s, o.cluster));
  const auto count = [&](Level level) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& f) { return f.level == level; });
  };
  s.show_text(as_message(findings), [&] { print(s, findings); });
  const auto number = [&](Level level) {
    const auto n = count(level);
    return std::to_string(n) + " " + std::string(enum_name(level)) + (n == 1 ? "" : "s");
  };
  s.say(number(Level::kBlocker) + ", " + number(Level::kWarning) + ", " + number(Level::kNote));
  return count(Level::kBlocker) > 0 ? kExitRefused : kExitDone;
}

}  // namespace

void add_preflight(Command root) {
  auto o = std::make_shared<PreflightCommand>();
  o->user = AdmissionConfig().own_user;
  Command c =
      root.add("preflight", "show which objects in a cluster conflict with Subak; change nothing");
  add_kube(c, o->kube);
  c.option("--cluster", o->cluster, "the cluster's name in Subak; default: the only cluster",
           "NAME");
  c.option("--as", o->user, "the user name with which the service calls the API server", "USER");
  c.details("The exit code is 1 if there is a blocker.");
  c.run([o](Session& s) { return preflight(s, *o); });
}

}  // namespace subak::cli
