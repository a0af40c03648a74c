// subak account suggest: a first tree from a cluster's namespaces.
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
    "Reads namespaces, pods and ResourceQuotas, and changes nothing. Each namespace with pods or\n"
    "quotas of GPUs gets an account with one share. Edit the file, then:\n"
    "  subak account apply -f FILE --reason TEXT --dry-run\n"
    "Namespaces that an account names, or that have the label subak.gpu/account, stay as they\n"
    "are. The command learns from the service which namespaces accounts name.\n";

struct SuggestCommand {
  KubeOptions kube;
  SuggestOptions options;
};

void check(Session& s, const SuggestOptions& o) {
  if (s.form() != Form::kTable && s.form() != Form::kWide) {
    throw usage_failure("--output: account suggest prints the file of account apply only",
                        "leave --output away");
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
    s.err() << "warning: no service was asked: accounts that are there already are not left out\n";
    return {};
  }
  if (!service.knows_cluster && service.clusters.size() > 1) {
    std::string names;
    for (const std::string& name : service.clusters) names += (names.empty() ? "" : ", ") + name;
    throw usage_failure("--cluster: was \"" + o.cluster + "\", want one of " + names,
                        "accounts may name a namespace in one cluster alone");
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
                : o.options.all     ? "there are only namespaces of the system"
                                    : "no namespace has pods or ResourceQuotas of GPUs; --all "
                                      "takes those without")
            << '\n';
  }
  return kExitDone;
}

}  // namespace

void add_account_suggest(Command account) {
  auto o = std::make_shared<SuggestCommand>();
  Command c =
      account.add("suggest", "print a file for apply, made from a Kubernetes cluster's namespaces");
  c.details(kDetails);
  add_kube(c, o->kube);
  c.option("--cluster", o->options.cluster,
           "the cluster's name in Subak: accounts get its namespaces only; default every cluster",
           "NAME");
  c.option("--group-by", o->options.group_key,
           "namespace label, such as team: namespaces with the same value go below one account",
           "LABEL");
  c.flag("--all", o->options.all, "also namespaces without GPUs, except system namespaces");
  c.flag("--limits", o->options.limits,
         "turn ResourceQuotas of whole GPUs into limits; without it they are comments");
  c.list_option("--gpu-kinds", o->options.gpu_kinds,
                "resources that count as GPUs, as in the configuration", "RESOURCE,...");
  c.run([o](Session& s) { return suggest_accounts(s, *o); });
}

}  // namespace subak::cli
