// No command shows a text of the service as it is: a server answers every call with messages in which each text is one
// of the odd names, and each command prints them in each of its forms.
#include "tests/core/odd_names.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run.h"
#include "cli/text/table.h"
#include "core/printable.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/admin_service.pb.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/job_service.pb.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kDeep = 6;  // messages in messages

// Texts that commands read: numbers of pages and ids.
bool is_read(const FieldDescriptor& field) {
  return field.name() == "next_page_token" || field.name() == "job_id" || field.name() == "id";
}

void fill(Message& message, const std::string& text, int deep);

void set(Message& m, const FieldDescriptor& field, const std::string& text, int deep) {
  const auto* const r = m.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (is_read(field)) {
        if (field.name() != "next_page_token") r->SetString(&m, &field, "1-42");
      } else {
        many ? r->AddString(&m, &field, text) : r->SetString(&m, &field, text);
      }
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      many ? r->AddInt32(&m, &field, 2) : r->SetInt32(&m, &field, 2);
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      many ? r->AddInt64(&m, &field, 2000) : r->SetInt64(&m, &field, 2000);
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      many ? r->AddUInt32(&m, &field, 80) : r->SetUInt32(&m, &field, 80);
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      many ? r->AddUInt64(&m, &field, 3) : r->SetUInt64(&m, &field, 3);
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      many ? r->AddDouble(&m, &field, -0.5) : r->SetDouble(&m, &field, -0.5);
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      many ? r->AddBool(&m, &field, true) : r->SetBool(&m, &field, true);
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      many ? r->AddEnumValue(&m, &field, 1) : r->SetEnumValue(&m, &field, 1);
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (deep > 0) {
        fill(many ? *r->AddMessage(&m, &field) : *r->MutableMessage(&m, &field), text, deep - 1);
      }
      return;
    default:
      ADD_FAILURE() << field.full_name() << " is of a kind that is not filled here";
  }
}

void fill(Message& message, const std::string& text, int deep) {
  const auto& descriptor = *message.GetDescriptor();
  if (descriptor.file()->package() == "google.protobuf") {
    // A time or a duration: any one that is in range.
    message.GetReflection()->SetInt64(&message, descriptor.FindFieldByName("seconds"),
                                      1'700'000'000);
    return;
  }
  for (int i = 0; i < descriptor.field_count(); ++i) set(message, *descriptor.field(i), text, deep);
}

// "/subak.v1.JobService/GetJob" -> an answer full of the text.
std::unique_ptr<Message> answer_to(const std::string& path, const std::string& text) {
  std::string name = path.substr(1);
  name[name.find('/')] = '.';
  const auto* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  if (method == nullptr) return nullptr;
  std::unique_ptr<Message> answer(google::protobuf::MessageFactory::generated_factory()
                                      ->GetPrototype(method->output_type())
                                      ->New());
  fill(*answer, text, kDeep);
  return answer;
}

class Answers : public grpc::CallbackGenericService {
 public:
  std::string text;
  bool refuse = false;

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(grpc::GenericCallbackServerContext* context, const Answers& of)
        : answer_(answer_to(context->method(), of.text)), text_(of.text), refuse_(of.refuse) {
      StartRead(&in_);
    }

   private:
    void OnReadDone(bool ok) override {
      if (!ok || refuse_ || answer_ == nullptr) {
        return Finish({grpc::StatusCode::FAILED_PRECONDITION, text_});
      }
      const grpc::Slice bytes(answer_->SerializeAsString());
      out_ = grpc::ByteBuffer(&bytes, 1);
      StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }

    const std::unique_ptr<Message> answer_;
    const std::string text_;
    const bool refuse_;
    grpc::ByteBuffer in_, out_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Reactor(context, *this);
  }
};

using Words = std::vector<std::string>;

// Each command that shows what the service says. What changes something shows what it has changed.
const std::vector<Words>& commands() {
  static const std::vector<Words> kAll{
      {"status"},
      {"account", "tree", "--users"},
      {"account", "get", "ml"},
      {"account", "history", "ml"},
      {"account", "set", "ml", "--shares", "3", "--reason", "r"},
      {"account", "hold", "ml", "--reason", "r"},
      {"account", "drain", "ml", "--reason", "r"},
      {"account", "resume", "ml", "--reason", "r"},
      {"account", "delete", "ml", "--reason", "r"},
      {"share"},
      {"job", "list"},
      {"job", "get", "1-42"},
      {"job", "watch"},
      {"job", "submit", "--account", "ml", "--gpus", "1"},
      {"job", "cancel", "1-42"},
      {"job", "hold", "1-42"},
      {"job", "release", "1-42"},
      {"queue"},
      {"queue", "--would"},
      {"why", "1-42", "--alternatives"},
      {"plan"},
      {"plan", "--lanes", "3"},
      {"cluster", "list"},
      {"cluster", "nodes"},
      {"cluster", "domains"},
      {"cluster", "mig"},
      {"cluster", "mode", "main", "warn", "--reason", "r"},
      {"cluster", "drain", "n1", "--reason", "r"},
      {"cluster", "undrain", "n1", "--reason", "r"},
      {"cluster", "delete", "main", "--reason", "r"},
      {"usage", "report"},
      {"usage", "report", "--by", "product"},
      {"usage", "ledger"},
      {"usage", "verify"},
      {"audit"},
      {"admin", "finalize", "--reason", "r"},
      {"admin", "accept-clock", "--reason", "r"},
      {"admin", "accept-loss", "--until", "7", "--reason", "r"},
  };
  return kAll;
}

std::string text_of(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += word + " ";
  return out;
}

class OddNames : public testing::Test {
 protected:
  OddNames() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&answers_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  struct Ran {
    int code;
    std::string out, err;
  };
  Ran run(const Words& command, const std::string& form) {
    std::ostringstream out, err;
    Words words{"--server", address_, "--output", form};
    words.insert(words.end(), command.begin(), command.end());
    const int code = run_cli(words, Screen{out, err});
    return {code, out.str(), err.str()};
  }

  // Each line is printable.
  static void expect_shown(const std::string& text, const std::string& what) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(is_printable(line)) << what << ": " << printable(line);
    }
  }

  Answers answers_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// The cells of a line of CSV.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

bool is_number(const std::string& cell) {
  return cell == "-" || cell.find_first_not_of("-0123456789.") == std::string::npos;
}

TEST_F(OddNames, InTablesNoCommandMovesTheCursor) {
  for (const test::OddName& name : test::kOddNames) {
    answers_.text = name.text;
    for (const Words& command : commands()) {
      const Ran ran = run(command, "table");
      const std::string what = text_of(command);
      // What usage verify is told are differences.
      EXPECT_EQ(ran.code, what.starts_with("usage verify") ? 1 : 0) << what << ran.err;
      expect_shown(ran.out + ran.err, what);
    }
  }
}

TEST_F(OddNames, InTheOtherFormsToo) {
  for (const test::OddName& name : test::kOddNames) {
    answers_.text = name.text;
    for (const Words& command : commands()) {
      for (const char* form : {"wide", "yaml", "csv"}) {
        const Ran ran = run(command, form);
        expect_shown(ran.out + ran.err, text_of(command) + form);
      }
    }
    const Ran svg = run({"plan"}, "svg");
    EXPECT_EQ(svg.code, 0) << svg.err;
    expect_shown(svg.out, "svg");
  }
}

TEST_F(OddNames, InCsvNoCellIsAFormula) {
  std::size_t cells = 0, marked = 0;
  for (const test::OddName& name : test::kOddNames) {
    answers_.text = name.text;
    for (const Words& command : commands()) {
      const Ran ran = run(command, "csv");
      if (ran.code != 0) continue;  // it has no table
      std::istringstream lines(ran.out);
      for (std::string line; std::getline(lines, line);) {
        for (const std::string& cell : cells_of(line)) {
          ++cells;
          marked += cell.starts_with('\'');
          if (cell.empty() || is_number(cell)) continue;
          EXPECT_EQ(std::string("=+-@").find(cell.front()), std::string::npos)
              << text_of(command) << cell;
          for (const char* const wide : {"＝", "＋", "－", "＠"}) {
            EXPECT_FALSE(cell.starts_with(wide)) << text_of(command) << cell;
          }
        }
      }
    }
  }
  EXPECT_GT(cells, 10'000u);
  EXPECT_GT(marked, 1'000u);
}

TEST_F(OddNames, RefusalsAreShownToo) {
  answers_.refuse = true;
  for (const test::OddName& name : test::kOddNames) {
    answers_.text = name.text;
    for (const Words& command : commands()) {
      const Ran ran = run(command, "table");
      EXPECT_NE(ran.code, 0) << text_of(command);
      expect_shown(ran.out + ran.err, text_of(command));
    }
  }
}

// JSON keeps the text.
TEST_F(OddNames, JsonIsTheMessage) {
  for (const test::OddName& name : test::kOddNames) {
    answers_.text = name.text;
    const Ran ran = run({"share"}, "json");
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}

}  // namespace
}  // namespace subak::cli
