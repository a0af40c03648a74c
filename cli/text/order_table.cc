#include "cli/text/order_table.h"

#include <algorithm>
#include <string>

#include "cli/text/table.h"

namespace subak::cli {
namespace {

// Returns a position as text; "-": not among the first jobs.
std::string position(std::int32_t at) { return at == 0 ? "-" : std::to_string(at); }

}  // namespace

void print_order(std::ostream& out, const google::protobuf::RepeatedPtrField<v1::OrderPlace>& order,
                 bool wide) {
  if (order.empty()) return;
  const bool same = std::all_of(order.begin(), order.end(),
                                [](const auto& job) { return job.before() == job.after(); });
  if (same) {
    out << "the order of the first " << order.size() << " waiting jobs does not change\n";
    return;
  }
  Table table({{"JOB"},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"POSITION BEFORE", Align::kRight},
               {"POSITION AFTER", Align::kRight}});
  for (const auto& job : order) {
    table.row({job.job(), job.account(), position(job.before()), position(job.after())});
  }
  table.print(out, wide);
}

}  // namespace subak::cli
