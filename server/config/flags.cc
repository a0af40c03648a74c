#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <utility>

#include "core/duration.h"
#include "core/names.h"
#include "core/printable.h"
#include "server/config/policy_keys.h"
#include "server/config/settings.h"
#include "server/yaml/written_file.h"

namespace subak {
namespace {

struct Flags {
  std::string file;
  bool check_only = false;
  bool version = false;
  std::vector<std::vector<std::string>> values;  // by index in settings()
};

// Returns the value without the flag, from the same places as at a start. Lists, files and other
// optional values: "none".
std::string default_of(const Setting& setting) {
  if (setting.toggle) return "off";
  const Config config;
  for (const PolicyValue& value : policy_values(config, Policy())) {
    if (value.key == setting.key) return value.value;
  }
  const std::map<std::string_view, std::string> values{
      {"state", config.state},
      {"databaseDurability", std::string(enum_name(config.database_durability))},
      {"listenWebhook", config.listen_webhook.text()},
      {"listenGrpc", config.listen_grpc.text()},
      {"listenHttp", config.listen_http.text()},
      {"mode", std::string(enum_name(Mode::kObserve))},
      {"clusters", "one, " + std::string(names::kFirstCluster)},
      {"breakGlassGroup", config.break_glass_group},
      {"loopbackAdmin", config.loopback_admin ? "true" : "false"},
      {"deviceClaims", std::string(enum_name(config.claims.devices))},
      {"alignment", std::string(enum_name(config.alignment.level))},
      {"failRequestsGreaterThanOne", config.node_labels.fail_greater_than_one ? "true" : "false"},
      {"computeDomainsForNvlink", config.claims.domains_for_nvlink ? "true" : "false"},
      {"unknownCluster", std::string(enum_name(config.webhook.unknown_cluster))},
      {"protectGangs", config.webhook.protect_gangs ? "true" : "false"},
      {"logLevel", std::string(enum_name(config.log_level))},
      {"prometheusEvery", format_duration(config.prometheus_every_ms)},
      {"idleWarnAfter", format_duration(config.idle_warn_ms)},
      {"showIdleHolders", config.show_idle_holders ? "true" : "false"},
  };
  const auto known = values.find(setting.key);
  return known == values.end() ? "none" : known->second;
}

void declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.file, "configuration, YAML")
      ->type_name("FILE")
      ->check([](const std::string& file) {
        return file.empty() ? std::string("was \"\", want a file that can be read") : std::string();
      });
  app.add_flag("--check-config", flags.check_only,
               "check the configuration, print what is wrong, and exit");
  app.add_flag("--version", flags.version, "print the version");
  flags.values.resize(settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    const std::string help = std::string(setting.help) + " (default: " + default_of(setting) +
                             ") [" + std::string(setting.key) + "]";
    if (setting.toggle) {
      app.add_flag_callback(
          std::string(setting.flag), [&flags, i] { flags.values[i] = {"true"}; }, help);
      continue;
    }
    app.add_option(std::string(setting.flag), flags.values[i], help)
        ->type_name(std::string(setting.value))
        ->expected(1)
        ->multi_option_policy(setting.list ? CLI::MultiOptionPolicy::TakeAll
                                           : CLI::MultiOptionPolicy::Throw);
  }
}

std::optional<std::string> read_file(const Flags& flags, Config& config,
                                     std::vector<Origin>& origins) {
  const Result<std::string> text = read_written_file(flags.file, "--config");
  return text ? apply_yaml(*text, flags.file, config, origins) : text.error().message();
}

std::optional<std::string> apply_flags(const Flags& flags, Config& config,
                                       std::vector<Origin>& origins) {
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    if (flags.values[i].empty()) continue;
    if (setting.list) setting.clear(config);
    for (const std::string& value : flags.values[i]) {
      if (auto error = config::set(setting, config, value)) {
        error->field = setting.flag;
        return printable(error->message());
      }
    }
    origins.push_back({std::string(setting.key), std::string(setting.flag)});
  }
  return std::nullopt;
}

// Names the place that sets the key last, which is the effective one.
std::string with_origin(const Error& error, const std::vector<Origin>& origins) {
  for (auto it = origins.rbegin(); it != origins.rend(); ++it) {
    if (it->key == error.field) return it->where + ": " + printable(error.message());
  }
  return printable(error.message());
}

}  // namespace

std::variant<StartRequest, StartError> read_start(int argc, const char* const* argv,
                                                  std::ostream& out) {
  CLI::App app{
      "Subak shares a GPU fleet fairly. The name in brackets is the flag's key in the file of "
      "--config."};
  app.name("subakd");
  Flags flags;
  declare(app, flags);
  StartRequest request;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    request.done = true;
    return request;
  } catch (const CLI::ParseError& e) {
    return StartError{std::string(e.what()) + " (subakd --help lists the flags)"};
  }
  if (flags.version) {
    out << "subakd " << kVersion << '\n';
    request.done = true;
    return request;
  }
  std::vector<Origin> origins;
  if (!flags.file.empty()) {
    if (auto error = read_file(flags, request.config, origins)) return StartError{*error};
  }
  if (auto error = apply_flags(flags, request.config, origins)) return StartError{*error};
  if (auto error = check_replica_keys(request.config, origins)) {
    return StartError{with_origin(*error, origins)};
  }
  if (auto error = check_config(request.config)) return StartError{with_origin(*error, origins)};
  request.check_only = flags.check_only;
  return request;
}

}  // namespace subak
