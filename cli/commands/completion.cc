// subak completion: completion scripts for bash, zsh and fish, made from the command tree.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/text/failure.h"

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

// Puts a text in single quotes, for any of the three shells.
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

// Returns the options of a command and the global ones.
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

std::string path_cases(const CommandInfo& root) {
  std::vector<std::string> patterns;
  for (const std::string& path : paths_of(root)) patterns.push_back("'" + path + "'");
  return "    case \"${at:+$at }$word\" in\n      " + join(patterns, "|") +
         ") at=\"${at:+$at }$word\" place=0 ;;\n      *) place=$((place + 1)) ;;\n    esac\n";
}

// The words that may follow as an option's value or as an argument, in addition to its own choices.
// They are a fixed list, or a kind of names that `subak __complete` lists.
struct Words {
  std::vector<std::string> fixed;
  std::string kind;
};

const Words& words_for(const std::string& name) {
  static const Words kNone;
  static const std::map<std::string, Words> kAll{
      {"--account", {{}, "accounts"}},
      {"PATH", {{}, "accounts"}},
      {"ACCOUNT", {{}, "accounts"}},
      {"--cluster", {{}, "clusters"}},
      {"CLUSTER", {{}, "clusters"}},
      {"JOB", {{}, "jobs"}},
      {"NODE", {{}, "nodes"}},
      {"--product", {{}, "products"}},
      {"MODE", {{"observe", "warn", "enforce"}, ""}},
      {"--by", {{"account", "user", "product", "state", "day", "week", "month"}, ""}},
      {"--topology",
       {{"any", "node", "nvlink", "nvlink-exclusive", "rack", "prefer:node", "prefer:nvlink",
         "prefer:rack"},
        ""}}};
  const auto it = kAll.find(name);
  return it == kAll.end() ? kNone : it->second;
}

Words words_of(const OptionInfo& option) {
  Words words = words_for(option.name);
  if (!option.choices.empty()) words.fixed = option.choices;
  return words;
}

// Returns the assignments of one case of the script, such as " kind=accounts" or " list='a b'".
std::string setting(const Words& words) {
  std::string text;
  if (!words.fixed.empty()) text += " list='" + join(words.fixed, " ") + "'";
  if (!words.kind.empty()) text += " kind=" + words.kind;
  return text;
}

// Returns the options that take the next word, in all commands.
std::string value_options(const CommandInfo& root) {
  std::set<std::string> names{"-f"};
  walk(root, "", [&](const std::string&, const CommandInfo& command) {
    for (const OptionInfo& option : command.options) {
      if (option.takes_value) names.insert(option.name);
    }
  });
  return join({names.begin(), names.end()}, "|");
}

// Returns the part that bash and zsh share. The words before the current one are in "${before[@]}".
// `at` becomes the path of the typed command and `place` the number of its arguments so far. Then
// `list` gets the words that may follow. `value` is set if only files or free text may follow.
std::string shared_part(const CommandInfo& root) {
  std::string text =
      "  local at='' place=0 word list='' kind='' flags='' value='' skip='' previous=''\n"
      "  for word in \"${before[@]}\"; do\n"
      "    previous=\"$word\"\n"
      "    if [[ -n $skip ]]; then skip=''; continue; fi\n"
      "    case \"$word\" in\n"
      "      " +
      value_options(root) +
      ") skip=1; continue ;;\n"
      "      -*) continue ;;\n"
      "    esac\n" +
      path_cases(root) +
      "  done\n"
      "  case \"$at:$previous\" in\n";
  walk(root, "", [&](const std::string& path, const CommandInfo& command) {
    for (const OptionInfo& option : options_of(root, command)) {
      if (!option.takes_value) continue;
      text +=
          "    '" + path + ":" + option.name + "') value=1" + setting(words_of(option)) + " ;;\n";
    }
  });
  text += "  esac\n  if [[ -z $value ]]; then\n    case \"$at:$place\" in\n";
  walk(root, "", [&](const std::string& path, const CommandInfo& command) {
    std::vector<std::string> children;
    for (const CommandInfo& child : command.children) children.push_back(child.name);
    if (!children.empty()) {
      text += "      '" + path + ":0') list='" + join(children, " ") + "' ;;\n";
    }
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const std::string set = setting(words_for(command.arguments[i]));
      if (set.empty()) continue;
      text += "      '" + path + ":" + std::to_string(i) + "')" + set + " ;;\n";
    }
  });
  text += "    esac\n    case \"$at\" in\n";
  walk(root, "", [&](const std::string& path, const CommandInfo& command) {
    std::vector<std::string> names;
    for (const OptionInfo& option : options_of(root, command)) names.push_back(option.name);
    text += "      '" + path + "') flags='" + join(names, " ") + "' ;;\n";
  });
  return text +
         "    esac\n"
         "    [[ $current == -* || -z $list$kind ]] && list=\"$flags\" kind=''\n"
         "  fi\n"
         "  [[ -n $kind ]] && list=\"$list $(\"$program\" " +
         kCompleteCommand + " \"$kind\" 2>/dev/null)\"\n";
}

std::string bash_script(const CommandInfo& root) {
  return "# bash completion of subak: source <(subak completion bash)\n"
         "_subak() {\n"
         "  local program=\"${COMP_WORDS[0]}\" current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  local before=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n" +
         shared_part(root) +
         "  COMPREPLY=($(compgen -W \"$list\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _subak subak\n";
}

std::string zsh_script(const CommandInfo& root) {
  return "#compdef subak\n"
         "# zsh completion of subak: source <(subak completion zsh)\n"
         "_subak() {\n"
         "  local program=\"${words[1]}\" current=\"${words[CURRENT]}\"\n"
         "  local -a before=(\"${(@)words[2,CURRENT-1]}\")\n" +
         shared_part(root) +
         "  if [[ -n ${list// /} ]]; then compadd -- ${=list}; else _files; fi\n"
         "}\n"
         "if [[ ${funcstack[1]:-} == _subak ]]; then _subak \"$@\"; else compdef _subak subak; "
         "fi\n";
}

std::string fish_line(const std::string& path, const std::string& rest, const std::string& help) {
  return "complete -c subak -n " + quoted("__subak_at " + quoted(path, true), true) + " " + rest +
         " -d " + quoted(help, true) + "\n";
}

std::string fish_words(const Words& words) {
  if (words.kind.empty()) return join(words.fixed, " ");
  return "(subak " + std::string(kCompleteCommand) + " " + words.kind + " 2>/dev/null)";
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
    for (const std::string& argument : command.arguments) {
      const Words words = words_for(argument);
      if (words.fixed.empty() && words.kind.empty()) continue;
      text += fish_line(path, "-f -a " + quoted(fish_words(words), true), argument);
    }
    for (const OptionInfo& option : options_of(root, command)) {
      std::string rest = "-l " + option.name.substr(2);
      if (option.takes_value) rest += " -r";
      const std::string words = fish_words(words_of(option));
      if (!words.empty()) rest += " -f -a " + quoted(words, true);
      text += fish_line(path, rest, option.help);
    }
  });
  return text;
}

}  // namespace

void add_completion(Command root, const Parser& parser) {
  Command completion = root.add("completion", "print a completion script for your shell");
  const std::pair<const char*, std::string (*)(const CommandInfo&)> shells[] = {
      {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  for (const auto& [name, script] : shells) {
    completion.add(name, std::string("for ") + name).run([&parser, script = script](Session& s) {
      s.out() << script(parser.describe());
      return 0;
    });
  }
}

}  // namespace subak::cli
