// subak completion: scripts for bash, zsh and fish, written from the command tree itself.
#include <algorithm>
#include <functional>

#include "cli/commands.h"
#include "cli/failure.h"

namespace subak::cli {
namespace {

// Calls `each` for every command with its path: "", "account", "account set".
using Each = std::function<void(const std::string& path, const CommandInfo& command)>;
void walk(const CommandInfo& command, const std::string& path, const Each& each) {
  each(path, command);
  for (const CommandInfo& child : command.children) {
    walk(child, path.empty() ? child.name : path + " " + child.name, each);
  }
}

// In single quotes of any of the three shells.
std::string quoted(const std::string& text, bool fish) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += fish ? "\\'" : "'\\''";
    else if (c == '\\' && fish)
      out += "\\\\";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

// Options of a command and the global ones.
std::vector<OptionInfo> options_of(const CommandInfo& root, const CommandInfo& command) {
  std::vector<OptionInfo> options = command.options;
  for (const OptionInfo& global : root.options) {
    const bool there = std::any_of(options.begin(), options.end(),
                                   [&](const OptionInfo& o) { return o.name == global.name; });
    if (!there) options.push_back(global);
  }
  return options;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::vector<std::string> paths_of(const CommandInfo& root) {
  std::vector<std::string> paths;
  walk(root, "", [&](const std::string& path, const CommandInfo&) {
    if (!path.empty()) paths.push_back(path);
  });
  return paths;
}

// The part that bash and zsh share: `at` becomes the path of the command that was typed, then
// `list` the words that may follow; `value` is set where only files or free text may.
std::string shared_cases(const CommandInfo& root) {
  std::string text = "  case \"$at:$previous\" in\n";
  walk(root, "", [&](const std::string& path, const CommandInfo& command) {
    for (const OptionInfo& option : options_of(root, command)) {
      if (!option.takes_value) continue;
      text += "    '" + path + ":" + option.name + "') list='" + join(option.choices, " ") +
              "'; value=1 ;;\n";
    }
  });
  text += "  esac\n  if [[ -z $value ]]; then\n    case \"$at\" in\n";
  walk(root, "", [&](const std::string& path, const CommandInfo& command) {
    std::vector<std::string> words;
    for (const CommandInfo& child : command.children) words.push_back(child.name);
    for (const OptionInfo& option : options_of(root, command)) words.push_back(option.name);
    text += "      '" + path + "') list='" + join(words, " ") + "' ;;\n";
  });
  return text + "    esac\n  fi\n";
}

std::string path_cases(const CommandInfo& root) {
  std::vector<std::string> patterns;
  for (const std::string& path : paths_of(root)) patterns.push_back("'" + path + "'");
  return "    case \"${at:+$at }$word\" in\n      " + join(patterns, "|") +
         ") at=\"${at:+$at }$word\" ;;\n    esac\n";
}

std::string bash_script(const CommandInfo& root) {
  return "# bash completion of subak: source <(subak completion bash)\n"
         "_subak() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local at='' word list='' value=''\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n" +
         path_cases(root) + "  done\n" + shared_cases(root) +
         "  COMPREPLY=($(compgen -W \"$list\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _subak subak\n";
}

std::string zsh_script(const CommandInfo& root) {
  return "#compdef subak\n"
         "# zsh completion of subak: source <(subak completion zsh)\n"
         "_subak() {\n"
         "  local previous=\"${words[CURRENT-1]}\" at='' word list='' value=''\n"
         "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n" +
         path_cases(root) + "  done\n" + shared_cases(root) +
         "  if [[ -n $list ]]; then compadd -- ${=list}; else _files; fi\n"
         "}\n"
         "if [[ ${funcstack[1]:-} == _subak ]]; then _subak \"$@\"; else compdef _subak subak; "
         "fi\n";
}

std::string fish_line(const std::string& path, const std::string& rest, const std::string& help) {
  return "complete -c subak -n " + quoted("__subak_at " + quoted(path, true), true) + " " + rest +
         " -d " + quoted(help, true) + "\n";
}

std::string fish_script(const CommandInfo& root) {
  std::string paths;
  for (const std::string& path : paths_of(root)) paths += " " + quoted(path, true);
  std::string text =
      "# fish completion of subak: subak completion fish | source\n"
      "function __subak_at\n"
      "  set -l at ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    set -l next (string trim -- \"$at $word\")\n"
      "    contains -- $next" +
      paths +
      "; and set at $next\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n";
  walk(root, "", [&](const std::string& path, const CommandInfo& command) {
    for (const CommandInfo& child : command.children) {
      text += fish_line(path, "-f -a " + child.name, child.help);
    }
    for (const OptionInfo& option : options_of(root, command)) {
      std::string rest = "-l " + option.name.substr(2);
      if (option.takes_value) rest += " -r";
      if (!option.choices.empty()) rest += " -f -a " + quoted(join(option.choices, " "), true);
      text += fish_line(path, rest, option.help);
    }
  });
  return text;
}

}  // namespace

void add_completion(Command root, const Parser& parser) {
  Command completion = root.add("completion", "a completion script for your shell");
  const std::pair<const char*, std::string (*)(const CommandInfo&)> shells[] = {
      {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  for (const auto& [name, script] : shells) {
    completion.add(name, std::string("for ") + name).run([&parser, script](Session& s) {
      s.out() << script(parser.describe());
      return 0;
    });
  }
}

}  // namespace subak::cli
