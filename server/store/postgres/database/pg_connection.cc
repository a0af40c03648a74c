#include "server/store/postgres/database/pg_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/limits.h"

namespace subak::postgres {
namespace {

// Types by number, the same in every PostgreSQL (pg_type.dat).
constexpr std::uint32_t kBytea = 17, kInt8 = 20, kText = 25;
constexpr std::uint32_t kByteaList = 1001, kInt8List = 1016;

// Most significant byte first, as PostgreSQL sends them.
template <class T>
void append(std::string& out, T number) {
  for (int shift = static_cast<int>(sizeof number) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(number >> shift);
  }
}

std::string binary(std::int64_t number) {
  std::string out;
  append(out, static_cast<std::uint64_t>(number));
  return out;
}

std::string trimmed(const char* words) {
  std::string out = words == nullptr ? "" : words;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

// The session's settings. It ends by itself if this process dies in the middle of a transaction.
constexpr char kSession[] =
    "SET synchronous_commit = on; SET client_encoding = 'UTF8'; SET lock_timeout = 500; "
    "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 10000; "
    "SET client_min_messages = warning";

// The words as libpq wants them, with a null at the end. They live as long as address and password.
struct Words {
  std::vector<const char*> keys, values;
  explicit Words(const Address& address, const std::string& password = {}) {
    for (const auto& [key, value] : address.parameters) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    if (!password.empty()) {
      keys.push_back("password");
      values.push_back(password.c_str());
    }
    keys.push_back(nullptr);
    values.push_back(nullptr);
  }
};

}  // namespace

// After a connection that TLS ended, libpq reports that no server answered.
bool is_refusal(const Address& address, std::string_view words) {
  for (const char* const tls : {"SSL", "certificate"}) {
    if (words.find(tls) != std::string_view::npos) return true;
  }
  const Words asked(address);
  const PGPing ping = PQpingParams(asked.keys.data(), asked.values.data(), 0);
  return ping == PQPING_OK || ping == PQPING_NO_ATTEMPT;
}

Parameters& Parameters::add_value(std::uint32_t type, std::string value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}

// One dimension that begins at 1, no nulls.
Parameters& Parameters::add_list(std::uint32_t type, std::span<const std::string> elements) {
  const std::uint32_t of = type == kByteaList ? kBytea : kInt8;
  std::string out;
  append(out, std::uint32_t{elements.empty() ? 0u : 1u});
  append(out, std::uint32_t{0});
  append(out, of);
  if (!elements.empty()) {
    append(out, static_cast<std::uint32_t>(elements.size()));
    append(out, std::uint32_t{1});
  }
  for (const std::string& element : elements) {
    append(out, static_cast<std::uint32_t>(element.size()));
    out += element;
  }
  return add_value(type, std::move(out));
}

Parameters& Parameters::add(std::int64_t number) { return add_value(kInt8, binary(number)); }
Parameters& Parameters::add(std::string_view text) { return add_value(kText, std::string(text)); }
Parameters& Parameters::add_bytes(std::string_view bytes) {
  return add_value(kBytea, std::string(bytes));
}

Parameters& Parameters::add(std::span<const std::int64_t> numbers) {
  std::vector<std::string> elements;
  elements.reserve(numbers.size());
  for (const std::int64_t number : numbers) elements.push_back(binary(number));
  return add_list(kInt8List, elements);
}

Parameters& Parameters::add_bytes(std::span<const std::string> bytes) {
  return add_list(kByteaList, bytes);
}

PgResult::PgResult(pg_result* result) : result_(result) {}
PgResult::~PgResult() { PQclear(result_); }
PgResult::PgResult(PgResult&& other) noexcept : result_(std::exchange(other.result_, nullptr)) {}
PgResult& PgResult::operator=(PgResult&& other) noexcept {
  std::swap(result_, other.result_);
  return *this;
}

bool PgResult::ok() const {
  const ExecStatusType status = PQresultStatus(result_);
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

int PgResult::rows() const { return PQntuples(result_); }

std::int64_t PgResult::number(int row, int column) const {
  std::uint64_t out = 0;
  for (const char byte : bytes(row, column)) out = out << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(out);
}

std::string_view PgResult::bytes(int row, int column) const {
  return {PQgetvalue(result_, row, column),
          static_cast<std::size_t>(PQgetlength(result_, row, column))};
}

std::string_view PgResult::sqlstate() const {
  const char* const state = PQresultErrorField(result_, PG_DIAG_SQLSTATE);
  return state == nullptr ? std::string_view() : state;
}

std::string PgResult::message() const {
  return trimmed(PQresultErrorField(result_, PG_DIAG_MESSAGE_PRIMARY));
}

PgConnection::PgConnection() = default;
PgConnection::~PgConnection() { close(); }

void PgConnection::close() {
  PQfinish(connection_);
  connection_ = nullptr;
}

void PgConnection::on_notice(void* self, const pg_result* notice) {
  const char* const severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity != nullptr && std::string_view(severity) == "WARNING") {
    static_cast<PgConnection*>(self)->warned_ = true;
  }
}

std::optional<Error> PgConnection::open(const Address& address) {
  close();
  const auto password = read_password(address);
  if (!password) {
    broken_ = Broken::kCut;
    return password.error();
  }
  const Words asked(address, *password);
  connection_ = PQconnectdbParams(asked.keys.data(), asked.values.data(), 0);
  if (PQstatus(connection_) != CONNECTION_OK) {
    cut(Broken::kCut);
    return error("store.open", {});
  }
  PQsetNoticeReceiver(connection_, on_notice, this);
  PQsetnonblocking(connection_, 1);
  const PgResult set = script(kSession);
  if (set.ok()) return std::nullopt;
  const Error failed = error("store.open", set);
  close();
  return failed;
}

PgResult PgConnection::run(const char* sql, const Parameters& parameters) {
  if (connection_ == nullptr) return {};
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const std::string& value : parameters.values_) {
    values.push_back(value.data());
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values.size(), 1);
  return wait(PQsendQueryParams(connection_, sql, static_cast<int>(values.size()),
                                parameters.types_.data(), values.data(), lengths.data(),
                                formats.data(), 1) == 1);
}

PgResult PgConnection::script(const std::string& sql) {
  if (connection_ == nullptr) return {};
  return wait(PQsendQuery(connection_, sql.c_str()) == 1);
}

PgResult PgConnection::cut(Broken how) {
  words_ = how == Broken::kTooLate ? "no answer in time" : trimmed(PQerrorMessage(connection_));
  broken_ = how;
  close();
  return {};
}

// Waits until more was sent or received. False: broken_ says why not.
bool PgConnection::ready() {
  const int left = PQflush(connection_);
  pollfd socket{PQsocket(connection_), static_cast<short>(POLLIN | (left > 0 ? POLLOUT : 0)), 0};
  const int got = left < 0 ? -1 : ::poll(&socket, 1, static_cast<int>(limits::kDatabaseReplyMs));
  if (got == 0) broken_ = Broken::kTooLate;
  if (got == 0 || left < 0) return false;
  return (got < 0 && errno == EINTR) || PQconsumeInput(connection_) == 1;
}

// Returns the last result, or the first that failed.
PgResult PgConnection::wait(bool sent) {
  warned_ = false;
  broken_ = Broken::kCut;  // unless more is known later
  if (!sent) return cut(Broken::kCut);
  PgResult out;
  while (true) {
    while (PQflush(connection_) != 0 || PQisBusy(connection_) == 1) {
      if (!ready()) return cut(broken_);
    }
    PgResult next(PQgetResult(connection_));
    if (!next) break;
    if (!out || out.ok()) out = std::move(next);
  }
  if (PQstatus(connection_) != CONNECTION_OK) {
    cut(Broken::kCut);  // the server announced its own end
  } else {
    broken_ = Broken::kNo;
  }
  return out;
}

Error PgConnection::error(std::string_view what, const PgResult& result) const {
  const std::string words = result.message().empty() ? words_ : result.message();
  const char* const want = broken_ != Broken::kNo          ? kWantServer
                           : result.sqlstate() == kNoRight ? kWantRights
                                                           : "";
  return {ErrorCode::kPrecondition, std::string(what), words, want};
}

}  // namespace subak::postgres
