// The tree of commands with their options, and a description of that tree for completion.
// commands.h lists the functions that add the commands. CLI11 parses the command line, and only
// command.cc uses CLI11. The parser writes option values through the given references, which must
// outlive the run.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace subak::cli {

class Session;

// The description of an option for completion.
struct OptionInfo {
  // The name with its dashes: "--server".
  std::string name;
  // The help text, one line.
  std::string help;
  // False: the option is a flag.
  bool takes_value = false;
  // The only values that the option takes. Empty: the option takes any value.
  std::vector<std::string> choices;
};

// The description of a command for completion.
struct CommandInfo {
  // The word on the command line.
  std::string name;
  std::string help;
  // The names of the positional arguments, in order.
  std::vector<std::string> arguments;
  // The options in the order of the help.
  std::vector<OptionInfo> options;
  // The commands below this command.
  std::vector<CommandInfo> children;
};

// One command of the tree. The object is a handle: a copy means the same command. The Parser owns
// the tree and must outlive the handle.
class Command {
 public:
  // The function that does what a command does. It returns the exit code, and may throw Failure.
  using Run = std::function<int(Session&)>;
  struct Tree;

  // Adds a command below this one. A command that has other commands below it cannot run by itself,
  // unless run_alone() says what it does.
  Command add(const std::string& name, const std::string& help);

  // Add positional arguments, in the order of the calls. The parser writes `value` only if the user
  // gives the argument.
  void argument(const std::string& name, std::string& value, const std::string& help);
  void optional_argument(const std::string& name, std::string& value, const std::string& help);
  // Adds an argument that takes one or more values. It must be the last argument of the command.
  void arguments(const std::string& name, std::vector<std::string>& values,
                 const std::string& help);

  // Add an option with one value: "--limit N", where `value_name` is the "N" in the help. Before
  // the parse, `value` has the default; nullopt means that there is no default. The parser writes
  // `value` only if the user gives the option or sets the environment variable `environment`. The
  // option wins over the variable. Each of these is a usage failure: an empty text, a text that is
  // not a number where the option wants a number, and a required option that is missing.
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
  // Adds an option whose value is a list with commas. The user may repeat the option.
  void list_option(const std::string& flag, std::vector<std::string>& values,
                   const std::string& help, const std::string& value_name);
  // Adds an option that the user may repeat. A comma is a part of the value.
  void repeated_option(const std::string& flag, std::vector<std::string>& values,
                       const std::string& help, const std::string& value_name);
  // Adds an option whose value is one of `choices`. Another value is a usage failure.
  void choice(const std::string& flag, std::string& value, const std::string& help,
              const std::vector<std::string>& choices);
  // Adds an option without a value. If the user gives it, the parser sets `value` to true.
  void flag(const std::string& flag, bool& value, const std::string& help);
  // Adds a text below the options in the command's help.
  void details(const std::string& text);
  // Allows --output svg, which other commands refuse.
  void draws();
  // Hides the command from help and completion. A user can still run it.
  void hide();

  // Sets what the command does. Each command without commands below it needs such a function.
  void run(Run run);
  // Does the same for a command with commands below it: it runs if the user names none of these.
  // Call it after all calls of add().
  void run_alone(Run run);

 private:
  friend class Parser;
  Command(Tree* tree, void* app) : tree_(tree), app_(app) {}
  // The command owns neither `tree_` nor `app_`.
  Tree* tree_;
  // The CLI::App of this command. The type stays in command.cc.
  void* app_;
};

// The result of parsing a command line.
struct Parsed {
  // The function to run. Empty: print `text` and exit.
  Command::Run run;
  // The help that the user asked for.
  std::string text;
  // True: the command allows --output svg.
  bool draws = false;
};

// Owns the tree of commands, and parses command lines with it.
class Parser {
 public:
  Parser(const std::string& name, const std::string& about);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Returns the root command, to which the caller adds the families of commands.
  Command root();
  // Parses a command line without the name of the program, and fills the referenced values. Throws
  // Failure (usage). If a word is unknown, the failure has the nearest known name.
  Parsed parse(const std::vector<std::string>& arguments);
  // Returns all commands that are not hidden, for completion.
  CommandInfo describe() const;

 private:
  std::unique_ptr<Command::Tree> tree_;
};

}  // namespace subak::cli
