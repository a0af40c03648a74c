#include "cli/session.h"

#include <chrono>
#include <map>
#include <thread>

#include "cli/names.h"
#include "cli/text/failure.h"
#include "cli/text/nearest.h"
#include "cli/text/text_form.h"
#include "subak/v1/account_service.pb.h"

namespace subak::cli {
namespace {

Form form_of(const std::string& name) {
  static const std::map<std::string, Form> kForms{{"table", Form::kTable}, {"wide", Form::kWide},
                                                  {"json", Form::kJson},   {"yaml", Form::kYaml},
                                                  {"csv", Form::kCsv},     {"svg", Form::kSvg}};
  return kForms.at(name);
}

// Returns the kind of names that `field` of a request refers to.
NameKind kind_of(const std::string& field) {
  if (field == "cluster") return NameKind::kClusters;
  if (field == "node" || field == "domain") return NameKind::kNodes;
  return field == "job" || field == "job_id" ? NameKind::kJobs : NameKind::kAccounts;
}

// Returns no suggestion if the caller may not list, or the service is gone by now.
std::vector<std::string> names_or_none(Client& client, NameKind kind) {
  try {
    return known_names(client, kind);
  } catch (const Failure&) {
    return {};
  }
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::kRed:
      return "\x1b[31m";
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kYellow:
      return "\x1b[33m";
    case Colour::kBlue:
      return "\x1b[34m";
    case Colour::kBold:
      return "\x1b[1m";
    case Colour::kDim:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

Session::Session(Screen screen, const GlobalOptions& options)
    : screen_(screen), options_(options), form_(form_of(options.output)) {}

Client& Session::client() {
  if (client_ == nullptr) client_ = std::make_unique<Client>(options_.server);
  return *client_;
}

void Session::exchange(std::string_view method, const google::protobuf::Message& request,
                       google::protobuf::Message& answer) {
  try {
    client().call(method, request, answer);
  } catch (Failure& failure) {
    const NameKind kind = kind_of(failure.field);
    if (failure.exit_code != kExitNotFound || failure.got.empty() || kind == NameKind::kJobs) throw;
    const auto near = nearest(failure.got, names_or_none(client(), kind));
    if (!near.empty()) failure.todo = did_you_mean(near);
    throw;
  }
}

void Session::must_be_account(const std::string& path) {
  v1::GetAccountRequest request;
  request.set_path(path);
  call<v1::Account>("AccountService/GetAccount", request);
}

std::string Session::paint(Colour colour, const std::string& text) const {
  return screen_.colour ? code_of(colour) + text + "\x1b[0m" : text;
}

void Session::show(const google::protobuf::Message& message, const std::function<Table()>& table) {
  switch (form_) {
    case Form::kJson:
      out() << to_json(message);
      return;
    case Form::kYaml:
      out() << to_yaml(message);
      return;
    case Form::kCsv:
      table().print_csv(out());
      return;
    case Form::kSvg:
      return;
    case Form::kTable:
    case Form::kWide:
      table().print(out(), form_ == Form::kWide);
      return;
  }
}

void Session::show_text(const google::protobuf::Message& message,
                        const std::function<void()>& text) {
  if (form_ == Form::kCsv) {
    throw usage_failure("--output csv: this command has no table", "use table, json or yaml");
  }
  if (form_ == Form::kJson || form_ == Form::kYaml) {
    show(message, [] { return Table({}); });
    return;
  }
  text();
}

void Session::show_one_of_many(const google::protobuf::Message& message,
                               const std::function<void()>& text) {
  if (form_ == Form::kJson) {
    out() << to_json_line(message) << std::flush;
  } else if (form_ == Form::kYaml) {
    out() << "---\n" << to_yaml(message) << std::flush;
  } else {
    text();
    out() << std::flush;
  }
}

std::int64_t Session::present_ms() {
  const std::int64_t shown_ms = client_ == nullptr ? 0 : client_->shown().time_ms;
  return shown_ms > 0 ? shown_ms : now_ms();
}

void Session::say(const std::string& line) {
  if (form_ == Form::kTable || form_ == Form::kWide) out() << printable(line) << '\n';
}

void print_line(Session& session, const std::string& name, const std::string& value,
                std::size_t width) {
  std::string head = name + ":";
  head.resize(width, ' ');
  session.out() << head << printable(value) << '\n';
}

int repeat(Session& session, double seconds, const std::function<void()>& draw) {
  while (true) {
    if (seconds > 0 && session.screen().colour) session.out() << "\x1b[H\x1b[2J";
    draw();
    session.out() << std::flush;
    if (seconds <= 0 || !session.out()) return kExitDone;
    if (!session.screen().colour) session.out() << '\n';
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

}  // namespace subak::cli
