// What PostgreSQL itself does with the service's own facts: bare statements of the same rows, one after another.
//   pg_raw URI ROWS_PER_COMMIT ROWS
// Inserts the last ROWS facts of the database into a new table of the same form, which it drops again. Prints one JSON
// object.
#include <libpq-fe.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr char kTable[] = "CREATE TABLE raw (LIKE facts INCLUDING ALL)";
constexpr char kRead[] =
    "SELECT array_agg(seq), array_agg(epoch), array_agg(time_ms), array_agg(kind), "
    "array_agg(body), array_agg(ledger), "
    "array_agg(audit), array_agg(sum) FROM (SELECT *, (seq - 1) / $1::bigint AS part FROM facts "
    "ORDER BY seq DESC LIMIT "
    "$2::bigint) AS f GROUP BY part ORDER BY part";
constexpr char kInsert[] =
    "INSERT INTO raw SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], "
    "$5::bytea[], "
    "$6::bigint[], $7::bigint[], $8::bigint[])";
constexpr int kColumns = 8;

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

PGconn* connection = nullptr;

Result run(const char* sql, const std::vector<const char*>& values, const std::vector<int>& lengths,
           int format) {
  const std::vector<int> formats(values.size(), format);
  Result out(PQexecParams(connection, sql, static_cast<int>(values.size()), nullptr, values.data(),
                          lengths.data(), formats.data(), 1),
             &PQclear);
  const ExecStatusType status = PQresultStatus(out.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return out;
  std::fprintf(stderr, "pg_raw: %s\n", PQerrorMessage(connection));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: pg_raw URI ROWS_PER_COMMIT ROWS\n");
    return 2;
  }
  connection = PQconnectdb(argv[1]);
  const Result parts = run(kRead, {argv[2], argv[3]}, {0, 0}, 0);
  run(kTable, {}, {}, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < PQntuples(parts.get()); ++i) {
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (int column = 0; column < kColumns; ++column) {
      values.push_back(PQgetvalue(parts.get(), i, column));
      lengths.push_back(PQgetlength(parts.get(), i, column));
    }
    run(kInsert, values, lengths, 1);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  run("DROP TABLE raw", {}, {}, 1);
  std::printf("{\"rows\": %s, \"seconds\": %.6f, \"statements\": %d}\n", argv[3], took.count(),
              PQntuples(parts.get()));
  PQfinish(connection);
}
