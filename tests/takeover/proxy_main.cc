// PgProxy as a program, for tests in other languages: takes a command a line, and answers each with a line.
//   pg_proxy SERVER_FOLDER
// Its first line is the folder to connect to. It ends with its input.
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "tests/server/store/support/pg_proxy.h"

namespace subak {
namespace {

int run(const char* server) {
  PgProxy proxy(server);
  std::cout << proxy.folder() << std::endl;
  const std::map<std::string, std::function<void(const std::string&)>> commands{
      {"hold_requests", [&](const std::string& on) { proxy.hold_requests(on == "1"); }},
      {"hold_answers", [&](const std::string& on) { proxy.hold_answers(on == "1"); }},
      {"turn_away", [&](const std::string& on) { proxy.turn_away(on == "1"); }},
      {"cut", [&](const std::string&) { proxy.cut(); }},
      {"drop", [&](const std::string&) { proxy.drop(); }},
      {"lead_to", [&](const std::string& folder) { proxy.lead_to(folder); }},
      {"keep_end", [&](const std::string& tail) { proxy.keep_end_of_batch(std::stoul(tail)); }},
      {"let_go", [&](const std::string&) { proxy.let_go(); }},
      {"state", [](const std::string&) {}},
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    const auto command = commands.find(name);
    if (command == commands.end()) {
      std::cerr << "pg_proxy: no command " << name << '\n';
      return 2;
    }
    command->second(value);
    std::cout << proxy.held_requests() << ' ' << (proxy.keeps_end() ? 1 : 0) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc == 2) return subak::run(argv[1]);
  std::fprintf(stderr, "usage: pg_proxy SERVER_FOLDER\n");
  return 2;
}
