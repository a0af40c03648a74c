#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/text/failure.h"
#include "cli/text/nearest.h"

namespace subak::cli {

struct Command::Tree {
  CLI::App app;
  std::map<const CLI::App*, Command::Run> runs;
  std::set<const CLI::App*> draws;
  std::map<const CLI::Option*, std::vector<std::string>> choices;
};

namespace {

CLI::App* app_of(void* app) { return static_cast<CLI::App*>(app); }

template <class T>
CLI::Option* add_option(void* app, const std::string& flag, T& value, const std::string& help,
                        const std::string& value_name) {
  CLI::Option* const option = app_of(app)->add_option(flag, value, help)->type_name(value_name);
  // An empty variable in a script must not count as an omitted option.
  option->check([](const std::string& got) {
    return got.empty() ? std::string("was \"\", want a value") : std::string();
  });
  return option;
}

CommandInfo describe_app(const CLI::App& app, const Command::Tree& tree) {
  CommandInfo info{app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) info.arguments.push_back(option->get_name(true));
    if (option->get_lnames().empty()) continue;
    OptionInfo row{"--" + option->get_lnames().front(),
                   option->get_description(),
                   option->get_type_size() != 0,
                   {}};
    if (const auto it = tree.choices.find(option); it != tree.choices.end()) {
      row.choices = it->second;
    }
    info.options.push_back(std::move(row));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (child->get_group().empty()) continue;
    info.children.push_back(describe_app(*child, tree));
  }
  return info;
}

// Returns the deepest named command.
const CLI::App* chosen(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string command_line_of(const CLI::App& app, const CLI::App& root) {
  if (&app == &root) return root.get_name();
  return command_line_of(*app.get_parent(), root) + " " + app.get_name();
}

std::string help_of(const CLI::App& app, const CLI::App& root) {
  return &app == &root ? app.help() : app.help(command_line_of(*app.get_parent(), root));
}

std::string first_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<std::string> children_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (child->get_group() == "Subcommands") names.push_back(child->get_name());
  }
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app, const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* from : {&app, &root}) {
    for (const CLI::Option* option : from->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string or_else(const std::string& first, const std::string& other) {
  return first.empty() ? other : first;
}

// Returns "account set: "; empty for the root.
std::string title_of(const CLI::App& app, const CLI::App& root) {
  if (&app == &root) return "";
  return command_line_of(app, root).substr(root.get_name().size() + 1) + ": ";
}

// The failure for an unknown word on the command line: no command, argument or option takes it.
Failure unknown_word(const std::string& word, const CLI::App& app, const CLI::App& root) {
  const std::string line = title_of(app, root);
  const std::string see = command_line_of(app, root) + " --help lists what it takes";
  if (word.starts_with("-")) {
    const std::string flag = word.substr(0, word.find('='));
    return usage_failure(line + "there is no option " + flag,
                         or_else(did_you_mean(nearest(flag, flags_of(app, root))), see));
  }
  if (const auto children = children_of(app); !children.empty()) {
    return usage_failure(line + "there is no command \"" + word + "\"",
                         or_else(did_you_mean(nearest(word, children)), see));
  }
  return usage_failure(line + "\"" + word + "\" is one argument too many", see);
}

// Returns the option or argument at the beginning of CLI11's message; nullptr: there is none.
const CLI::Option* named_in(const std::string& message, const CLI::App& app) {
  const std::string name = message.substr(0, message.find_first_of(": "));
  return app.get_option_no_throw(name);
}

// The failure for an option without a value, or with one that is not a number.
Failure bad_value(const std::string& message, const CLI::Option& option, const std::string& title) {
  const std::string name = option.get_name();
  const std::string about = name + " " + option.get_type_name() + ": " + option.get_description();
  const std::size_t sign = message.find(" = ");
  if (sign == std::string::npos) return usage_failure(title + name + " needs a value", about);
  return usage_failure(title + name + ": was \"" + message.substr(sign + 3) + "\", want a number",
                       about);
}

Failure mistake(const CLI::ParseError& error, const CLI::App& app, const CLI::App& root) {
  const std::string title = title_of(app, root);
  const std::string see = command_line_of(app, root) + " --help lists what it takes";
  std::string message = first_line(error.what());
  if (const auto words = root.remaining(true); !words.empty()) {
    const auto flag = std::find_if(words.begin(), words.end(),
                                   [](const std::string& w) { return w.starts_with("-"); });
    return unknown_word(flag != words.end() ? *flag : words.front(), app, root);
  }
  constexpr std::string_view kConversion = "Could not convert: ";
  const bool no_number = message.starts_with(kConversion);
  if (no_number) message.erase(0, kConversion.size());
  const bool no_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  for (const CLI::App* from : {&app, &root}) {
    const CLI::Option* option = no_number || no_value ? named_in(message, *from) : nullptr;
    if (option != nullptr) return bad_value(message, *option, title);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (const auto children = children_of(app); !children.empty()) {
      return usage_failure(title + "which command?", "one of " + some_of(children, 32));
    }
    if (const CLI::Option* option = named_in(message, app)) {
      const std::string name = option->get_name(option->get_positional(), false);
      return usage_failure(title + name + " is missing", name + ": " + option->get_description());
    }
  }
  return usage_failure(message, see);
}

}  // namespace

Command Command::add(const std::string& name, const std::string& help) {
  app_of(app_)->require_subcommand(1);
  CLI::App* child = app_of(app_)->add_subcommand(name, help);
  child->fallthrough();
  return {tree_, child};
}

void Command::argument(const std::string& name, std::string& value, const std::string& help) {
  app_of(app_)->add_option(name, value, help)->required()->type_name("");
}

void Command::optional_argument(const std::string& name, std::string& value,
                                const std::string& help) {
  app_of(app_)->add_option(name, value, help)->type_name("");
}

void Command::arguments(const std::string& name, std::vector<std::string>& values,
                        const std::string& help) {
  app_of(app_)->add_option(name, values, help)->required()->type_name("")->expected(1, -1);
}

void Command::option(const std::string& flag, std::string& value, const std::string& help,
                     const std::string& value_name, const std::string& environment) {
  CLI::Option* option = add_option(app_, flag, value, help, value_name);
  if (!environment.empty()) option->envname(environment);
  if (!value.empty()) option->capture_default_str();
}

void Command::required_option(const std::string& flag, std::string& value, const std::string& help,
                              const std::string& value_name) {
  add_option(app_, flag, value, help, value_name)->required();
}

void Command::option(const std::string& flag, std::optional<std::string>& value,
                     const std::string& help, const std::string& value_name) {
  add_option(app_, flag, value, help, value_name);
}
void Command::option(const std::string& flag, std::optional<double>& value, const std::string& help,
                     const std::string& value_name) {
  add_option(app_, flag, value, help, value_name);
}
void Command::option(const std::string& flag, std::int64_t& value, const std::string& help,
                     const std::string& value_name) {
  add_option(app_, flag, value, help, value_name);
}
void Command::option(const std::string& flag, std::uint64_t& value, const std::string& help,
                     const std::string& value_name) {
  add_option(app_, flag, value, help, value_name);
}
void Command::option(const std::string& flag, double& value, const std::string& help,
                     const std::string& value_name) {
  add_option(app_, flag, value, help, value_name);
}

void Command::list_option(const std::string& flag, std::vector<std::string>& values,
                          const std::string& help, const std::string& value_name) {
  add_option(app_, flag, values, help, value_name)
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Command::repeated_option(const std::string& flag, std::vector<std::string>& values,
                              const std::string& help, const std::string& value_name) {
  add_option(app_, flag, values, help, value_name)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Command::choice(const std::string& flag, std::string& value, const std::string& help,
                     const std::vector<std::string>& choices) {
  std::string name;
  for (const std::string& c : choices) name += (name.empty() ? "" : "|") + c;
  CLI::Option* option = add_option(app_, flag, value, help, name);
  option->check([choices, name](const std::string& got) {
    const bool known = std::find(choices.begin(), choices.end(), got) != choices.end();
    return known ? std::string() : "was \"" + got + "\", want one of " + name;
  });
  if (!value.empty()) option->capture_default_str();
  tree_->choices[option] = choices;
}

void Command::flag(const std::string& flag, bool& value, const std::string& help) {
  app_of(app_)->add_flag(flag, value, help);
}

void Command::details(const std::string& text) { app_of(app_)->footer(text); }

void Command::draws() { tree_->draws.insert(app_of(app_)); }

void Command::hide() { app_of(app_)->group(""); }

void Command::run(Run run) { tree_->runs[app_of(app_)] = std::move(run); }

void Command::run_alone(Run alone) {
  app_of(app_)->require_subcommand(0, 1);
  run(std::move(alone));
}

Parser::Parser(const std::string& name, const std::string& about)
    : tree_(std::make_unique<Command::Tree>()) {
  tree_->app.name(name);
  tree_->app.description(about);
  tree_->app.fallthrough();
  tree_->app.set_help_flag("-h,--help", "what the command does and takes");
}

Parser::~Parser() = default;

Command Parser::root() { return {tree_.get(), &tree_->app}; }

Parsed Parser::parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  CLI::App& app = tree_->app;
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return {nullptr, help_of(*chosen(app), app), false};
  } catch (const CLI::ParseError& e) {
    throw mistake(e, *chosen(app), app);
  }
  return {tree_->runs.at(chosen(app)), "", tree_->draws.contains(chosen(app))};
}

CommandInfo Parser::describe() const { return describe_app(tree_->app, *tree_); }

}  // namespace subak::cli
