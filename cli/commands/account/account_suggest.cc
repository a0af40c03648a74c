// subak account suggest: a first account tree, made from a cluster's namespaces.
#include <algorithm>
#include <memory>

#include "cli/commands/account/account_parts.h"
#include "cli/kube_options.h"
#include "cli/service_facts.h"
#include "cli/setup/suggest.h"
#include "cli/text/failure.h"

namespace subak::cli {
namespace {

constexpr char kDetails[] =
    "Reads namespaces, pods and ResourceQuotas, and prints a file of accounts. It changes neither\n"
    "the cluster nor the service. The file has an account with one share for each namespace with\n"
    "GPU pods or GPU quotas. Save the file and edit it, then:\n"
    "  subak account apply -f FILE --reason TEXT --dry-run\n"
    "The file has no new account for a namespace that an account already names, or that has the\n"
    "label subak.gpu/account. The command asks the service which namespaces accounts name.\n";

struct SuggestCommand {
  KubeOptions kube;
  SuggestOptions options;
};

void check(Session& s, const SuggestOptions& o) {
  if (s.form() != Form::kTable && s.form() != Form::kWide) {
    throw usage_failure("--output: account suggest prints only a file for account apply",
                        "omit --output");
  }
  const bool plain = std::all_of(o.cluster.begin(), o.cluster.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  if (!plain) {
    throw usage_failure("--cluster: was \"" + o.cluster + "\", want a name of a-z 0-9 - .",
                        "subak status lists them");
  }
}

KnownAccounts known_accounts(Session& s, const SuggestOptions& o) {
  const ServiceFacts service = ask_service(s, o.cluster);
  if (!service.asked) {
    s.err() << "warning: no service answered: the file may repeat accounts that exist already\n";
    return {};
  }
  if (!service.knows_cluster && service.clusters.size() > 1) {
    std::string names;
    for (const std::string& name : service.clusters) names += (names.empty() ? "" : ", ") + name;
    throw usage_failure("--cluster: was \"" + o.cluster + "\", want one of " + names,
                        "with --cluster, each account gets namespaces of one cluster only");
  }
  KnownAccounts known{service.paths, service.accounts};
  known.paths.erase("");
  return known;
}

int suggest_accounts(Session& s, const SuggestCommand& o) {
  check(s, o.options);
  const auto api = open_kube(o.kube);
  const auto namespaces = read_namespaces(*api, o.options);
  if (!namespaces) throw kube_failure(namespaces.error());
  const Suggestion found = suggest(*namespaces, known_accounts(s, o.options), o.options);
  s.out() << found.text;
  if (found.namespaces == 0) {
    s.err() << "nothing to suggest: "
            << (found.kept > 0      ? "all namespaces with GPUs have an account"
                : found.unnamed > 0 ? "see the file"
                : o.options.all     ? "there are only system namespaces"
                                : "no namespace has pods or ResourceQuotas of GPUs; --all includes "
                                  "namespaces without them")
            << '\n';
  }
  return kExitDone;
}

}  // namespace

void add_account_suggest(Command account) {
  auto o = std::make_shared<SuggestCommand>();
  Command c = account.add(
      "suggest",
      "print a file for `subak account apply`, made from a Kubernetes cluster's namespaces");
  c.details(kDetails);
  add_kube(c, o->kube);
  c.option("--cluster", o->options.cluster,
           "the cluster's name in Subak: each account gets namespaces of this cluster only. "
           "Default: namespaces of every cluster",
           "NAME");
  c.option(
      "--group-by", o->options.group_key,
      "a label of namespaces, such as team; namespaces with the same value go below one account",
      "LABEL");
  c.flag("--all", o->options.all,
         "suggest accounts for namespaces without GPUs too, except system namespaces");
  c.flag("--limits", o->options.limits,
         "turn ResourceQuotas of whole GPUs into limits; without this flag, the quotas become "
         "comments");
  c.list_option(
      "--gpu-kinds", o->options.gpu_kinds,
      "other resources that count as GPUs; name the same ones as in the service's configuration",
      "RESOURCE,...");
  c.run([o](Session& s) { return suggest_accounts(s, *o); });
}

}  // namespace subak::cli
