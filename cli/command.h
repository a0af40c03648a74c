// The tree of commands with their options, and the data about them for completion. CLI11 does the
// parsing, and only command.cc uses it. Option values are written through the given references,
// which must outlive the run. Threads: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace subak::cli {

class Session;

// An option as completion needs it.
struct OptionInfo {
  std::string name;  // "--server"
  std::string help;
  bool takes_value = false;
  std::vector<std::string> choices;  // the only values; empty: any
};

// A command as completion needs it.
struct CommandInfo {
  std::string name;
  std::string help;
  std::vector<std::string> arguments;  // names of the positional ones
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> children;
};

// One command; a cheap handle.
class Command {
 public:
  using Run = std::function<int(Session&)>;
  struct Tree;

  Command add(const std::string& name, const std::string& help);

  // Add positional arguments, in the order of the calls.
  void argument(const std::string& name, std::string& value, const std::string& help);
  void optional_argument(const std::string& name, std::string& value, const std::string& help);
  // Adds one or more arguments, the last of a command.
  void arguments(const std::string& name, std::vector<std::string>& values,
                 const std::string& help);

  void option(const std::string& flag, std::string& value, const std::string& help,
              const std::string& value_name, const std::string& environment = "");
  void required_option(const std::string& flag, std::string& value, const std::string& help,
                       const std::string& value_name);
  void option(const std::string& flag, std::optional<std::string>& value, const std::string& help,
              const std::string& value_name);
  void option(const std::string& flag, std::optional<double>& value, const std::string& help,
              const std::string& value_name);
  void option(const std::string& flag, std::int64_t& value, const std::string& help,
              const std::string& value_name);
  void option(const std::string& flag, std::uint64_t& value, const std::string& help,
              const std::string& value_name);
  void option(const std::string& flag, double& value, const std::string& help,
              const std::string& value_name);
  // Adds an option whose value is comma-separated and that may be repeated.
  void list_option(const std::string& flag, std::vector<std::string>& values,
                   const std::string& help, const std::string& value_name);
  // Adds an option that may be repeated; commas are part of the value.
  void repeated_option(const std::string& flag, std::vector<std::string>& values,
                       const std::string& help, const std::string& value_name);
  void choice(const std::string& flag, std::string& value, const std::string& help,
              const std::vector<std::string>& choices);
  void flag(const std::string& flag, bool& value, const std::string& help);
  // Adds a text below the options in the command's help.
  void details(const std::string& text);
  // Allows --output svg, which other commands refuse.
  void draws();
  // Hides the command from help and completion.
  void hide();

  void run(Run run);

 private:
  friend class Parser;
  Command(Tree* tree, void* app) : tree_(tree), app_(app) {}
  Tree* tree_;
  void* app_;  // CLI::App
};

// The result of parsing a command line.
struct Parsed {
  Command::Run run;  // empty: print `text` and exit
  std::string text;  // help
  bool draws = false;
};

class Parser {
 public:
  Parser(const std::string& name, const std::string& about);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Command root();
  // Throws Failure (usage).
  Parsed parse(const std::vector<std::string>& arguments);
  CommandInfo describe() const;

 private:
  std::unique_ptr<Command::Tree> tree_;
};

}  // namespace subak::cli
