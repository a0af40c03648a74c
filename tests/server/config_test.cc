#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/printable.h"
#include "tests/core/odd_names.h"
#include "tests/server/config_text.h"

namespace subak {
namespace {

using test::accepted;
using test::kHeader;
using test::refusal;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Runs read_start over arguments; a temporary file holds `yaml` if it is not empty.
class Start : public ::testing::Test {
 protected:
  ~Start() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::variant<StartRequest, StartError> run(std::vector<std::string> args,
                                             const std::string& yaml = "") {
    if (!yaml.empty()) {
      std::ofstream(path_) << kHeader << yaml;
      args.insert(args.begin(), {"--config", path_});
    }
    args.insert(args.begin(), "subakd");
    std::vector<const char*> argv;
    for (const std::string& arg : args) argv.push_back(arg.c_str());
    return read_start(static_cast<int>(argv.size()), argv.data(), out_);
  }
  Config config_of(std::vector<std::string> args, const std::string& yaml = "") {
    auto result = run(std::move(args), yaml);
    const auto* error = std::get_if<StartError>(&result);
    EXPECT_EQ(error, nullptr) << error->text;
    return error ? Config{} : std::get<StartRequest>(result).config;
  }
  std::string error_of(std::vector<std::string> args, const std::string& yaml = "") {
    auto result = run(std::move(args), yaml);
    const auto* error = std::get_if<StartError>(&result);
    return error ? error->text : "";
  }
  std::string path_ =
      ::testing::TempDir() + "/subak_config_" + std::to_string(::getpid()) + ".yaml";
  std::ostringstream out_;
};

TEST(Settings, EachKeyHasItsFlagAndEachFlagItsKey) {
  std::set<std::string_view> keys, flags;
  for (const Setting& s : settings()) {
    EXPECT_TRUE(keys.insert(s.key).second) << s.key;
    EXPECT_TRUE(flags.insert(s.flag).second) << s.flag;
    EXPECT_THAT(std::string(s.flag), StartsWith("--"));
    EXPECT_FALSE(s.help.empty()) << s.key;
    EXPECT_EQ(s.list, s.clear != nullptr) << s.key;
    std::string spelled = "--";  // the key's words with dashes; lists name one item
    for (char c : s.key) {
      if (c >= 'A' && c <= 'Z') spelled += '-';
      spelled += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    const bool plural = s.list && !spelled.ends_with("ing");
    if (plural) spelled.resize(spelled.size() - (spelled.ends_with("sses") ? 2 : 1));
    EXPECT_EQ(spelled, s.flag);
  }
}

TEST(Settings, TheContractsFlagsAreThere) {
  std::set<std::string_view> flags;
  for (const Setting& s : settings()) flags.insert(s.flag);
  for (const char* flag : {"--state", "--listen-webhook", "--listen-grpc", "--listen-http",
                           "--tls-cert", "--tls-key", "--mode", "--kubeconfig", "--in-cluster"}) {
    EXPECT_TRUE(flags.contains(flag)) << flag;
  }
}

TEST(Yaml, DatabaseDurability) {
  EXPECT_EQ(accepted("state: s\n").database_durability, DatabaseDurability::kReplicated);
  EXPECT_EQ(accepted("databaseDurability: local\n").database_durability,
            DatabaseDurability::kLocal);
}

TEST(Yaml, KnownFolder) {
  EXPECT_EQ(accepted("state: s\n").known_folder, "");
  EXPECT_EQ(accepted("knownFolder: /var/lib/subak/a\n").known_folder, "/var/lib/subak/a");
}

TEST(Yaml, OwnPod) {
  EXPECT_EQ(accepted("state: s\n").own_pod, "");
  EXPECT_EQ(accepted("ownPod: subak-system/subak-0.a\n").own_pod, "subak-system/subak-0.a");
  for (const char* wrong :
       {"subak-0", "/subak-0", "subak-system/", "a/b/c", "a/b..c", "a/B", "a/.b"}) {
    EXPECT_THAT(refusal("ownPod: " + std::string(wrong) + "\n"), HasSubstr("want NAMESPACE/NAME"))
        << wrong;
  }
}

// Clients are told what is said, or what they could use.
TEST(Settings, WhatIsAdvertised) {
  Config c;
  EXPECT_EQ(c.advertised(), "") << "nobody else reaches loopback";
  for (const char* host : {"0.0.0.0", "::"}) {
    c.listen_grpc.host = host;
    EXPECT_EQ(c.advertised(), "") << host;
  }
  c.listen_grpc = {"10.0.0.7", 0};
  EXPECT_EQ(c.advertised(), "") << "the port is not known yet";
  c.listen_grpc.port = 9444;
  EXPECT_EQ(c.advertised(), "10.0.0.7:9444");
  EXPECT_EQ(accepted("advertise: gpu-7.example.com:2\nlistenGrpc: 127.0.0.1:2\n").advertised(),
            "gpu-7.example.com:2");
}

TEST(Yaml, EveryKeyIsRead) {
  const Config c = accepted(R"(state: /data/s.db
listenWebhook: 0.0.0.0:1
listenGrpc: "[::1]:2"
listenHttp: localhost:0
httpHosts: [subak.example.com, subak]
tlsCert: c.pem
tlsKey: k.pem
tokens: t.txt
loopbackAdmin: false
grpcSocket: /run/s
socketUsers: [1000, 33]
mode: warn
clusters:
  - name: east
    mode: enforce
    namespaces: {zeta: observe, alpha: warn}
  - name: west
order: exact
halfLife: 14d
hold: 5m
patience: 0s
reserveJobs: 9
enforceTimeLimits: true
timeLimitGrace: 90s
defaultTimeLimit: 12h
gpuKinds: [amd.com/gpu]
systemNamespaces: [infra]
breakGlassGroup: sre
deviceClaims: deny
unknownCluster: deny
logLevel: debug
userMetrics: true
ignoreCheckpoint: true
)");
  EXPECT_EQ(c.state, "/data/s.db");
  EXPECT_EQ(c.listen_webhook, (ListenAddress{"0.0.0.0", 1}));
  EXPECT_EQ(c.listen_grpc, (ListenAddress{"::1", 2}));
  EXPECT_EQ(c.listen_http, (ListenAddress{"127.0.0.1", 0}));
  EXPECT_EQ(c.http_hosts, (std::vector<std::string>{"subak.example.com", "subak"}));
  EXPECT_EQ(c.tls_cert + c.tls_key + c.tokens, "c.pemk.pemt.txt");
  EXPECT_FALSE(c.loopback_admin);
  EXPECT_EQ(c.grpc_socket, "/run/s");
  EXPECT_EQ(c.socket_users, (std::vector<std::uint32_t>{1000, 33}));
  EXPECT_EQ(c.mode, Mode::kWarn);
  ASSERT_EQ(c.clusters.size(), 2u);
  EXPECT_EQ(
      c.clusters[0],
      (ClusterConfig{"east", Mode::kEnforce, {{"alpha", Mode::kWarn}, {"zeta", Mode::kObserve}}}));
  EXPECT_EQ(c.clusters[1], (ClusterConfig{"west", std::nullopt, {}}));
  EXPECT_EQ(c.order, OrderPolicy::kExact);
  EXPECT_EQ(c.half_life_ms, 14 * kDayMs);
  EXPECT_EQ(c.hold_ms, 5 * kMinuteMs);
  EXPECT_EQ(c.patience_ms, 0);
  EXPECT_EQ(c.queue.reserve_jobs, 9u);
  EXPECT_EQ(c.enforce_time_limits, true);
  EXPECT_EQ(c.time_limit_grace_ms, 90 * kSecondMs);
  EXPECT_EQ(c.default_time_limit_ms, 12 * kHourMs);
  EXPECT_EQ(c.gpu_kinds, std::vector<std::string>{"amd.com/gpu"});
  EXPECT_EQ(c.system_namespaces, std::vector<std::string>{"infra"});
  EXPECT_EQ(c.claims.devices, DeviceClaims::kDeny);
  EXPECT_EQ(c.webhook.unknown_cluster, UnknownCluster::kDeny);
  EXPECT_EQ(c.break_glass_group, "sre");
  EXPECT_EQ(c.log_level, LogLevel::kDebug);
  EXPECT_TRUE(c.user_metrics && c.ignore_checkpoint);
  const Config replica =
      accepted("follow: leader.example.com:9444\nfollowCa: ca\nfollowToken: t\n");
  EXPECT_EQ(replica.follow + replica.follow_ca + replica.follow_token,
            "leader.example.com:9444cat");
}

TEST(Yaml, WhatTheBooksFollow) {
  const Config c = accepted("budgetZone: Europe/Berlin\nrefundLostWork: 20m\nmonthOpenDays: 28\n");
  EXPECT_EQ(c.policy_over(Policy()).books, (BookPolicy{20 * kMinuteMs, "Europe/Berlin", {28, 0}}));
  EXPECT_EQ(Config().policy_over(c.policy_over(Policy())), c.policy_over(Policy()));
}

TEST(Yaml, WhatIsKeptBesideGpusIsAQuantity) {
  const Config c = accepted("cpuPerGpu: 7500m\nmemoryPerGpu: 64Gi\n");
  EXPECT_EQ(c.headroom.cpu_milli, 7500);
  EXPECT_EQ(c.headroom.memory_bytes, std::int64_t{64} << 30);
  const Policy policy = c.policy_over(Policy());
  EXPECT_EQ(policy.gpu_headroom.cpu_milli, 7500);
  EXPECT_EQ(policy.gpu_headroom.memory_bytes, std::int64_t{64} << 30);
  EXPECT_EQ(accepted("mode: warn\n").policy_over(policy), policy);
  EXPECT_EQ(refusal("cpuPerGpu: -1\n"),
            "subak.yaml:3: cpuPerGpu: was \"-1\", want CPUs such as 8 or 7500m; 0 is none");
  EXPECT_EQ(refusal("memoryPerGpu: 2Pi\n"),
            "subak.yaml:3: memoryPerGpu: was \"2Pi\", want memory such as 64Gi; 0 is none");
}

TEST(Yaml, PriorityClasses) {
  const std::vector<PriorityClass> both{{"prod", -7, true, {"a.b"}}, {"batch", 0, false, {}}};
  EXPECT_EQ(accepted("priorityClasses:\n- {name: prod, value: -7, preempts: true, "
                     "accounts: [a.b]}\n- {name: batch, value: 0}\n")
                .priority_classes,
            both);
  const std::string classes = "priorityClasses:\n  - {name: a, value: 1}\n";
  EXPECT_EQ(refusal(classes + "  - {name: a, value: 2}\n"),
            "subak.yaml:5: priorityClasses[1]: was \"a\", want each class once");
  EXPECT_EQ(refusal(classes + "  - {name: b, value: 1}\n"),
            "subak.yaml:5: priorityClasses[1]: was \"1\", want another value than that of class a");
  EXPECT_EQ(refusal(classes + "  - {name: b}\n"),
            "subak.yaml:5: priorityClasses[1].value: want the class's value, a whole number");
  EXPECT_THAT(refusal(classes + "  - {name: 7, value: 2}\n"), HasSubstr("starts with a letter"));
}

TEST(Yaml, QueueAccounts) {
  const std::vector<QueueAccount> both{{"team-a", "main", "ml.vision"}, {"", "q.1", "ml"}};
  EXPECT_EQ(accepted("queueAccounts: [team-a/main=ml.vision, q.1=ml]\n").webhook.queue_accounts,
            both);
  for (const char* bad : {"q", "q=", "=ml", "/q=ml", "A/q=ml", "Q=ml", "q=ml, q=other"})
    EXPECT_NE(refusal("queueAccounts: [" + std::string(bad) + "]\n"), "") << bad;
  EXPECT_NE(refusal("podPriorityClass: system-node-critical\n"), "");
}

TEST(Yaml, MistakesNameFileLineKeyFoundAndExpected) {
  EXPECT_EQ(refusal("mode: enforced\n"),
            "subak.yaml:3: mode: was \"enforced\", want observe, warn or enforce");
  EXPECT_THAT(refusal("\n\nhold: 1y\n"),
              StartsWith("subak.yaml:5: hold: was \"1y\", want a duration such as"));
  EXPECT_EQ(refusal("clusters:\n  - name: a\n  - name: b\n    mode: on\n"),
            "subak.yaml:6: clusters[1].mode: was \"on\", want observe, warn or enforce");
  EXPECT_EQ(refusal("clusters:\n  - mode: warn\n"),
            "subak.yaml:4: clusters[0].name: want the cluster's name");
  EXPECT_EQ(refusal("clusters:\n  - name: a\n    nodes: 3\n"),
            "subak.yaml:5: clusters[0].nodes: was \"nodes\", want one of name, mode, namespaces, "
            "kubeconfig, context, inCluster");
  EXPECT_EQ(refusal("clusters:\n  - name: a\n    namespaces:\n      x: off\n"),
            "subak.yaml:6: clusters[0].namespaces.x: was \"off\", want observe, warn or enforce");
  EXPECT_EQ(
      refusal("gpuKinds: [gpu]\n"),
      "subak.yaml:3: gpuKinds[0]: was \"gpu\", want an extended resource such as example.com/gpu");
  EXPECT_EQ(refusal("gpuKinds: amd.com/gpu\n"),
            "subak.yaml:3: gpuKinds: was \"amd.com/gpu\", want a list");
  EXPECT_EQ(refusal("state:\n"), "subak.yaml:3: state: was \"nothing\", want a value");
  EXPECT_EQ(refusal("mode: warn\nmode: warn\n"),
            "subak.yaml:4: mode: was \"mode\", want each key once");
  EXPECT_THAT(refusal("modes: warn\n"),
              StartsWith("subak.yaml:3: modes: was \"modes\", want one of "));
  EXPECT_THAT(refusal("a: [1\n"), StartsWith("subak.yaml:4: not YAML: "));
}

TEST(Yaml, TheHeaderIsNeeded) {
  Config config;
  std::vector<Origin> origins;
  EXPECT_EQ(apply_yaml("kind: Configuration\n", "f", config, origins).value_or(""),
            "f:1: apiVersion: want subak.gpu/v1");
  EXPECT_EQ(apply_yaml("apiVersion: subak.gpu/v2\nkind: Configuration\n", "f", config, origins)
                .value_or(""),
            "f:1: apiVersion: was \"subak.gpu/v2\", want subak.gpu/v1");
  EXPECT_EQ(apply_yaml("apiVersion: subak.gpu/v1\nkind: Pod\n", "f", config, origins).value_or(""),
            "f:2: kind: was \"Pod\", want Configuration");
  EXPECT_THAT(apply_yaml("", "f", config, origins).value_or(""),
              StartsWith("f:1: was nothing, want a map"));
}

TEST(Yaml, TheStateMayBeADatabase) {
  EXPECT_EQ(accepted("state: postgres://subak@db/books\n").state, "postgres://subak@db/books");
  EXPECT_THAT(refusal("state: postgres://subak@db/books?sslmode=disable\n"),
              HasSubstr("verify-full"));
}

// As a value of the file and of a flag.
TEST_F(Start, NoValueHasWhatIsNotSeen) {
  for (const test::OddName& name : test::kOddNames) {
    if (name.printable) continue;
    std::string quoted;
    for (const char c : name.text) {
      constexpr char kHex[] = "0123456789abcdef";
      const auto u = static_cast<unsigned char>(c);
      const bool is_plain = u >= 0x80 || (u >= 0x20 && u < 0x7f);
      quoted += is_plain ? std::string(1, c) : std::string("\\x") + kHex[u >> 4] + kHex[u & 15];
    }
    for (const char* line : {"breakGlassGroup: \"", "state: \"", "gpuKinds: [\""}) {
      const std::string end = std::string(line).ends_with("[\"") ? "\"]\n" : "\"\n";
      const std::string told = refusal(line + quoted + end);
      EXPECT_NE(told, "") << line << printable(name.text);
      EXPECT_TRUE(is_printable(told)) << printable(told);
    }
    EXPECT_THAT(error_of({"--break-glass-group", std::string(name.text)}),
                HasSubstr(std::string(kWantPrintable)));
  }
}

TEST(Yaml, HowAClusterIsReached) {
  const Config c = accepted(
      "clusters:\n- {name: east, kubeconfig: /k, context: c}\n- {name: here, inCluster: true}\n"
      "- {name: far}\n");
  EXPECT_EQ(c.clusters[0].kubeconfig, "/k");
  EXPECT_EQ(c.clusters[0].context, "c");
  EXPECT_TRUE(c.clusters[1].in_cluster);
  EXPECT_FALSE(c.clusters[2].has_edge());
  EXPECT_THAT(refusal("clusters: [{name: a, inCluster: yes}]\n"), HasSubstr("want true or false"));
  EXPECT_THAT(refusal("clusters: [{name: a, kubeconfig: []}]\n"), HasSubstr("want a text"));
  EXPECT_THAT(refusal("clusters: [{name: a, config: /k}]\n"),
              HasSubstr("kubeconfig, context, inCluster"));
}

TEST(Yaml, FatalConditionsTakeThePlaceOfThoseKnown) {
  EXPECT_EQ(accepted("mode: warn\n").fatal_conditions, std::nullopt);
  EXPECT_EQ(accepted("fatalConditions: [CoolantLow, GpuMemWatch]\n").fatal_conditions,
            (std::vector<std::string>{"CoolantLow", "GpuMemWatch"}));
  EXPECT_EQ(accepted("fatalConditions: []\n").fatal_conditions, std::vector<std::string>());
  EXPECT_EQ(refusal("fatalConditions: ['']\n"),
            "subak.yaml:3: fatalConditions[0]: want the type of a node condition such as "
            "GpuNvlinkWatch");
}

TEST(Yaml, TopologyLabelsAreInOrderAndFew) {
  EXPECT_EQ(accepted("topologyLabels: [example.com/rack, example.com/block]\n").topology_labels,
            (std::vector<std::string>{"example.com/rack", "example.com/block"}));
  EXPECT_EQ(refusal("topologyLabels: ['']\n"),
            "subak.yaml:3: topologyLabels[0]: want the key of a node label such as "
            "topology.example.com/rack");
  EXPECT_EQ(refusal("topologyLabels: [a, a]\n"),
            "subak.yaml:3: topologyLabels[1]: was \"a\", want each label once");
  EXPECT_EQ(refusal("topologyLabels: [a, b, c, d, e]\n"),
            "subak.yaml:3: topologyLabels[4]: was \"e\", want at most 4 labels");
}

TEST(Yaml, DurationsHaveARange) {
  EXPECT_THAT(refusal("hold: 999ms\n"), HasSubstr("want a duration from 1s to "));
  EXPECT_THAT(refusal("halfLife: 1s\n"), HasSubstr("or infinite"));
  EXPECT_EQ(accepted("halfLife: infinite\n").half_life_ms, 0);
}

TEST(Address, OnlyAddressesAndPorts) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:0")->text(), "127.0.0.1:0");
  EXPECT_EQ(parse_listen_address("[::]:65535")->text(), "[::]:65535");
  for (const char* bad : {"", ":9443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:1x",
                          "example.com:1", "::1:9443", "[127.0.0.1]:1", "127.0.0.1:-1"}) {
    EXPECT_FALSE(parse_listen_address(bad).ok()) << bad;
  }
  EXPECT_TRUE((ListenAddress{"127.0.0.2", 1}).loopback());
  EXPECT_FALSE((ListenAddress{"0.0.0.0", 1}).loopback());
}

TEST_F(Start, FlagsGoOverTheFile) {
  const Config c = config_of(
      {"--mode", "enforce", "--cluster", "b:warn:x=observe", "--cluster", "c", "--user-metrics"},
      "mode: warn\nhold: 7m\nclusters: [{name: a}]\n");
  EXPECT_EQ(c.mode, Mode::kEnforce);
  EXPECT_EQ(c.hold_ms, 7 * kMinuteMs);
  ASSERT_EQ(c.clusters.size(), 2u);
  EXPECT_EQ(c.clusters[0], (ClusterConfig{"b", Mode::kWarn, {{"x", Mode::kObserve}}}));
  EXPECT_TRUE(c.user_metrics);
}

TEST_F(Start, BadFlagsNameTheFlag) {
  EXPECT_EQ(error_of({"--mode", "on"}), "--mode: was \"on\", want observe, warn or enforce");
  EXPECT_EQ(error_of({"--device-claims", "allow"}),
            "--device-claims: was \"allow\", want gate, deny or warn");
  EXPECT_EQ(error_of({"--unknown-cluster", "x"}),
            "--unknown-cluster: was \"x\", want warn or deny");
  EXPECT_EQ(error_of({"--cluster", "a:warn:x"}), "--cluster: was \"x\", want NAMESPACE=MODE");
  EXPECT_THAT(error_of({"--cluster", "a:warn:x=warn,x=warn"}),
              HasSubstr("want each namespace once"));
  EXPECT_THAT(error_of({"--no-such-flag"}), HasSubstr("--no-such-flag"));
  EXPECT_THAT(error_of({"--mode", "warn", "--mode", "warn"}), HasSubstr("--mode"));
  EXPECT_THAT(error_of({"--state", "postgres://u:secret@x/y"}),
              AllOf(HasSubstr("passfile"), Not(HasSubstr("secret"))));
  EXPECT_THAT(error_of({"--state", "postgres:x"}), HasSubstr("want a file"));
  EXPECT_THAT(error_of({"--config", "/no/such/file"}), HasSubstr("want a file that can be read"));
}

TEST_F(Start, WhatBelongsTogetherIsChecked) {
  EXPECT_EQ(error_of({}, "tlsKey: k.pem\n"),
            path_ + ":3: tlsKey: was \"k.pem\", want it together with tlsCert");
  EXPECT_EQ(error_of({}, "clusters: [{name: a}, {name: a}]\n"),
            path_ + ":3: clusters: was \"a\", want each cluster once");
  EXPECT_EQ(error_of({}, "clusters: [{name: a, kubeconfig: /k, inCluster: true}]\n"),
            path_ + ":3: clusters: was \"a\", want kubeconfig or inCluster, not both");
  EXPECT_THAT(error_of({}, "clusters: [{name: a, context: c}]\n"),
              HasSubstr("want a context together with its kubeconfig"));
  EXPECT_THAT(error_of({"--in-cluster", "--kubeconfig", "/k"}), HasSubstr("not both"));
  EXPECT_THAT(error_of({"--in-cluster", "--cluster", "a", "--cluster", "b"}),
              HasSubstr("want exactly one cluster"));
  EXPECT_EQ(error_of({"--in-cluster", "--cluster", "a"}), "");
  EXPECT_EQ(error_of({"--listen-grpc", "0.0.0.0:1"}),
            "--listen-grpc: listenGrpc: was \"0.0.0.0:1\", want a loopback address, or tlsCert and "
            "tlsKey");
  EXPECT_THAT(error_of({"--listen-grpc", "0.0.0.0:1", "--tls-cert", "c", "--tls-key", "k"}),
              HasSubstr("tokens file"));
  EXPECT_EQ(error_of({"--listen-grpc", "0.0.0.0:1", "--tls-cert", "c", "--tls-key", "k", "--tokens",
                      "t"}),
            "");
}

TEST_F(Start, AReplicaIsToldOnlyWhatIsItsOwn) {
  const std::vector<std::string> good{"--follow",         "127.0.0.1:9444",
                                      "--tls-cert",       "c",
                                      "--tls-key",        "k",
                                      "--gpu-kind",       "example.com/gpu",
                                      "--listen-webhook", "10.0.0.7:9443",
                                      "--log-level",      "warn"};
  EXPECT_TRUE(config_of(good).follows_plainly());
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return more;
  };
  EXPECT_FALSE(config_of(with({"--follow-ca", "ca"})).follows_plainly());
  for (const Setting& s : settings()) {
    if (s.key == "state" || s.key == "mode" || s.key == "userMetrics" || s.key == "order") {
      const std::string value = s.key == "mode" ? "warn" : s.key == "order" ? "exact" : "x";
      const auto more = s.toggle ? std::vector<std::string>{std::string(s.flag)}
                                 : std::vector<std::string>{std::string(s.flag), value};
      EXPECT_THAT(error_of(with(more)), StartsWith(std::string(s.flag) + ": " + std::string(s.key) +
                                                   ": want no such key beside follow"));
    }
  }
  EXPECT_THAT(error_of(good, "tokens: t\n"),
              HasSubstr(":3: tokens: want no such key beside follow"));
  EXPECT_THAT(error_of({"--follow", "127.0.0.1:9444"}), HasSubstr("want tlsCert and tlsKey"));
  EXPECT_THAT(error_of({"--follow", "leader:9444", "--tls-cert", "c", "--tls-key", "k"}),
              HasSubstr("want followToken"));
  EXPECT_THAT(error_of({"--follow-token", "t"}), HasSubstr("want it together with follow"));
  for (const char* bad : {"leader", ":9444", "leader:0", "leader:99999", "a b:1", "leader:"}) {
    EXPECT_THAT(error_of({"--follow", bad}), HasSubstr("want HOST:PORT")) << bad;
  }
}

TEST_F(Start, HelpAndVersionAreDone) {
  auto result = run({"--help"});
  EXPECT_TRUE(std::get<StartRequest>(result).done);
  for (const Setting& s : settings()) EXPECT_THAT(out_.str(), HasSubstr(std::string(s.flag)));
  for (const char* shown : {"(default: var/subak.db) [state]",
                            "HTTPS (default: 127.0.0.1:9443)",
                            "warn or enforce (default: observe) [mode]",
                            "(default: target-share)",
                            "(default: 7d)",
                            "pods are bound (default: 10m)",
                            "(default: 2h) [patience]",
                            "(default: 4) [reserveJobs]",
                            "(default: 0) [keepWhole]",
                            "(default: 1) [cliqueGangs]",
                            "(default: false) [enforceTimeLimits]",
                            "(default: 5m) [timeLimitGrace]",
                            "(default: 1d) [defaultTimeLimit]",
                            "(default: subak:break-glass)",
                            "(default: one, default) [clusters]",
                            "(default: info)",
                            "(default: off) [userMetrics]",
                            "browsers (default: none) [tokens]",
                            "(default: true) [loopbackAdmin]",
                            "(default: gate) [deviceClaims]",
                            "(default: warn) [unknownCluster]",
                            "(default: none) [kubeconfig]",
                            "(default: off) [inCluster]"}) {
    EXPECT_THAT(out_.str(), HasSubstr(shown));
  }
  out_.str("");
  result = run({"--version"});
  EXPECT_TRUE(std::get<StartRequest>(result).done);
  EXPECT_EQ(out_.str(), "subakd " + std::string(kVersion) + "\n");
  result = run({"--check-config"});
  EXPECT_TRUE(std::get<StartRequest>(result).check_only);
}

TEST(Policy, RulesAboutNvlinkDomains) {
  EXPECT_TRUE(accepted("computeDomainsForNvlink: true\n").claims.domains_for_nvlink);
  const Config c = accepted("keepWhole: 3\ncliqueGangs: 0\n");
  EXPECT_EQ(c.policy_over(Policy()).gangs.keep_whole, 3u);
  EXPECT_EQ(c.policy_over(Policy()).gangs.clique_gangs, 0u);
  EXPECT_EQ(Config().policy_over(Policy()).gangs.clique_gangs, 1u);
  EXPECT_EQ(accepted("readyWithin: 30m\n").policy_over(Policy()).gangs.ready_within_ms,
            30 * kMinuteMs);
  EXPECT_EQ(Policy().gangs.ready_within_ms, 0) << "off by default";
  EXPECT_THAT(refusal("readyWithin: -1m\n"), HasSubstr("readyWithin"));
  EXPECT_THAT(refusal("keepWhole: 1001\n"), HasSubstr("want a number up to 1000"));
  EXPECT_THAT(refusal("cliqueGangs: 65\n"), HasSubstr("want a number up to 64"));
}

}  // namespace
}  // namespace subak
