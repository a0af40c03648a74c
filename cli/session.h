// The context of every command: the output, the form of the output, and the connection to the
// service. Each Command::Run gets a Session. Threads: one at a time.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/client.h"
#include "cli/text/table.h"

namespace subak::cli {

// The forms of --output. kWide is a table with more columns.
enum class Form { kTable, kWide, kJson, kYaml, kCsv, kSvg };

// How the user called the program.
enum class Program {
  // As `subak`.
  kSubak,
  // As `kubectl subak`, whose lists are about one namespace.
  kKubectl,
};

// The options that every command has.
struct GlobalOptions {
  ServerOptions server{"127.0.0.1:9444", "", ""};
  // The text of --output. Session turns it into a Form.
  std::string output = "table";
};

// The output streams, and what they can show.
struct Screen {
  std::ostream& out;
  // The stream for errors, warnings and progress.
  std::ostream& err;
  // True: `out` is a terminal that shows colours.
  bool colour = false;
  // True: `err` is a terminal, so commands may show progress there.
  bool progress = false;
};

enum class Colour { kRed, kGreen, kYellow, kBlue, kBold, kDim };

// The output and the connection of one run of one command.
class Session {
 public:
  // `options.output` must name a form (the parser has checked that). `options` must outlive the
  // session.
  Session(Screen screen, const GlobalOptions& options);

  Form form() const { return form_; }
  bool is_csv() const { return form_ == Form::kCsv; }
  std::ostream& out() { return screen_.out; }
  std::ostream& err() { return screen_.err; }
  const Screen& screen() const { return screen_; }
  // Returns the connection to the service. The first call opens the connection. The session owns
  // the connection. client() throws the same failures as Client().
  Client& client();
  // Runs client().call(). If the service does not know a name, the failure suggests the nearest
  // known names.
  template <class Answer>
  Answer call(std::string_view method, const google::protobuf::Message& request) {
    Answer answer;
    exchange(method, request, answer);
    return answer;
  }

  // Throws Failure with the nearest names if the service does not know this account or user. A
  // command calls this function when a list for `path` is empty.
  void must_be_account(const std::string& path);

  // Returns `text` in a colour, if colours are shown.
  std::string paint(Colour colour, const std::string& text) const;

  // For json and yaml, prints the message itself. For svg, prints nothing, because the command
  // draws by itself. For all other forms, prints the table that `table` returns.
  void show(const google::protobuf::Message& message, const std::function<Table()>& table);
  // Does the same as show() for output that is not a table: `text` prints that output. With csv it
  // throws Failure (usage).
  void show_text(const google::protobuf::Message& message, const std::function<void()>& text);
  // Prints one of the many messages of a stream: as a JSON object on one line, as a YAML document,
  // or with `text`.
  void show_one_of_many(const google::protobuf::Message& message,
                        const std::function<void()>& text);
  // Prints a line "warning: ..." on err for each warning.
  template <class Strings>
  void warn(const Strings& warnings) {
    for (const std::string& w : warnings) err() << "warning: " << printable(w) << '\n';
  }
  // Returns the time that output shows as the present: the moment of the last answer if the command
  // is about an earlier one, else the time of the wall clock.
  std::int64_t present_ms();
  // Prints one line for people. With json, yaml, csv and svg it prints nothing.
  void say(const std::string& line);

 private:
  // Does the same as call(), for messages of any types.
  void exchange(std::string_view method, const google::protobuf::Message& request,
                google::protobuf::Message& answer);

  Screen screen_;
  const GlobalOptions& options_;
  Form form_;
  // The connection; nullptr before the first call.
  std::unique_ptr<Client> client_;
};

// Implements --watch: calls `draw` at once and then every `seconds`, until the user interrupts the
// command. On a terminal with colours it clears the screen before each call. 0 seconds: calls
// `draw` once.
int repeat(Session& session, double seconds, const std::function<void()>& draw);

// Prints the name and a colon, padded to `width` columns, then the value.
void print_line(Session& session, const std::string& name, const std::string& value,
                std::size_t width);

// Returns all pages of a list in one answer, with at most `most` rows (0: all rows). `rows(answer)`
// returns a pointer to the repeated field of the rows. `join(all, page)`, if given, is called
// before a page is added to the pages so far.
template <class Answer, class Request, class Rows, class Join = std::nullptr_t>
Answer all_pages(Session& session, std::string_view method, Request request, std::int64_t most,
                 Rows rows, Join join = {}) {
  constexpr int kPage = 1000;
  Answer all;
  while (true) {
    const std::int64_t left = most == 0 ? kPage : most - rows(all)->size();
    if (left <= 0) return all;
    request.set_page_size(static_cast<int>(left < kPage ? left : kPage));
    Answer page = session.call<Answer>(method, request);
    if constexpr (!std::is_null_pointer_v<Join>) join(all, page);
    all.MergeFrom(page);
    if (page.next_page_token().empty()) {
      all.clear_next_page_token();
      return all;
    }
    request.set_page_token(page.next_page_token());
  }
}

}  // namespace subak::cli
