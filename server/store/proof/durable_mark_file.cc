#include "server/store/proof/durable_mark_file.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "server/codec/codec.h"
#include "server/store/file/refusals.h"
#include "server/store/file/row_sum.h"
#include "server/store/file/whole_file.h"

namespace subak {
namespace {

constexpr std::int64_t kMostBytes = 4096;

// Readable for people too. The checksum is that of the other numbers.
std::string text_of(const MarkedFact& known) {
  const std::uint32_t check =
      RowSum(known.sum).add(known.seq).add(known.time_ms).add(known.accepted).value();
  char text[256];
  std::snprintf(text, sizeof text,
                "subak known 1\nseq %" PRIu64 "\ntime_ms %" PRId64 "\nsum %" PRIu32
                "\naccepted %" PRIu64 "\ncheck %" PRIu32 "\n",
                known.seq, known.time_ms, known.sum, known.accepted, check);
  return text;
}

}  // namespace

std::uint32_t sum_of_marked(const Fact& fact) {
  std::string body;
  const bool fits = codec::encode(fact.body, body).has_value();
  return fact_sum(fits ? 0 : 1, fact.seq, fact.time_ms, codec::kind_of(fact.body), body);
}

std::optional<Error> write_durable_mark_file(const std::string& path, const MarkedFact& known) {
  return write_whole_file(path, text_of(known));
}

Result<MarkedFact> read_durable_mark_file(const std::string& path) {
  const std::int64_t size = file_size(path);
  if (size < 0) return MarkedFact();
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (size <= kMostBytes) text.assign(std::istreambuf_iterator<char>(in), {});
  MarkedFact known;
  const int read = std::sscanf(text.c_str(),
                               "subak known 1\nseq %" SCNu64 "\ntime_ms %" SCNd64 "\nsum %" SCNu32
                               "\naccepted %" SCNu64,
                               &known.seq, &known.time_ms, &known.sum, &known.accepted);
  if (read == 4 && text == text_of(known)) return known;
  return refuse_store(path, "not what this replica has written",
                      "want it as it was; without it this replica takes whatever the database has");
}

}  // namespace subak
