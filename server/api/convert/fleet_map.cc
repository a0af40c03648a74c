#include "server/api/convert/fleet_map.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/limits.h"
#include "core/must.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

constexpr std::uint32_t kStates = 16;  // the factor of runs and parts, as in the proto file

std::int32_t to_int(std::uint64_t value) {
  must(value <= INT32_MAX, "a number of the map fits 32 bits");
  return static_cast<std::int32_t>(value);
}

v1::GpuState to_proto(CellState state) {
  return static_cast<v1::GpuState>(static_cast<int>(state) + 1);
}

// Returns the number of a state in the factors of runs and parts.
constexpr std::uint32_t number_of(v1::GpuState state) { return static_cast<std::uint32_t>(state); }

// Returns the length of the common beginning in bytes. It ends before a character of several bytes,
// so that both parts of a name are valid UTF-8.
std::size_t common(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto length = static_cast<std::size_t>(end - a.begin());
  const auto is_inside = [&](std::size_t at) {
    return at < b.size() && (static_cast<unsigned char>(b[at]) & 0xC0) == 0x80;
  };
  while (length > 0 && is_inside(length)) --length;
  return length;
}

void put_tables(const FleetMap& map, v1::FleetMap* out) {
  for (std::size_t i = 0; i < map.areas.size(); ++i) {
    const FleetMap::Area& area = map.areas[i];
    v1::MapArea* const row = out->add_areas();
    row->set_kind(area.kind);
    row->set_name(area.name);
    row->set_parent(area.parent == i ? 0 : to_int(area.parent + 1));
    row->set_nodes(to_int(area.nodes));
  }
  for (const FleetMap::NodeKind& kind : map.kinds) {
    v1::MapNodeKind* const row = out->add_kinds();
    row->set_product(kind.product);
    row->set_gpus(to_int(kind.gpus));
    row->set_uncut_gpus(to_int(kind.layout.gpus));
    row->set_gpu_milligpu(static_cast<std::int32_t>(kind.layout.gpu_milligpu));
    for (const CellLayout::Slices& slices : kind.layout.slices) {
      v1::MapSlices* const to = row->add_slices();
      to->set_profile(slices.profile);
      to->set_count(to_int(slices.count));
      to->set_milligpu(static_cast<std::int32_t>(slices.milligpu));
    }
  }
  for (const FleetMap::Condition& condition : map.conditions) {
    v1::MapCondition* const row = out->add_conditions();
    row->set_text(condition.text);
    row->set_state(to_proto(condition.state));
  }
  for (const FleetMap::Drain& drain : map.drains) {
    v1::MapDrain* const row = out->add_drains();
    row->set_node(to_int(drain.node));
    if (drain.from_ms != 0) put(drain.from_ms, row->mutable_from());
    if (drain.until_ms != 0) put(drain.until_ms, row->mutable_until());
  }
}

// A table of texts, each once. The texts must outlive the object.
class Texts {
 public:
  explicit Texts(google::protobuf::RepeatedPtrField<std::string>* out) : out_(out) {}
  // Returns the index of the text, plus 1; 0 for an empty text.
  std::int32_t index(const std::string& text) {
    if (text.empty()) return 0;
    const auto [it, is_new] = indexes_.try_emplace(text, out_->size() + 1);
    if (is_new) *out_->Add() = text;
    return it->second;
  }

 private:
  google::protobuf::RepeatedPtrField<std::string>* const out_;
  std::unordered_map<std::string_view, std::int32_t> indexes_;
};

void put_owners(const FleetMap& map, v1::FleetMap* out) {
  Texts accounts(out->mutable_accounts()), users(out->mutable_users());
  for (const FleetMap::Owner& owner : map.owners) {
    out->add_owner_accounts(accounts.index(owner.account));
    out->add_owner_users(users.index(owner.user));
  }
}

// Returns the end that all names have. It begins with a character, so that both parts of a name are
// valid UTF-8. A single name has no such end.
std::string_view common_end(const std::vector<FleetMap::Node>& nodes) {
  if (nodes.size() < 2) return {};
  std::string_view end = nodes.front().name;
  for (const FleetMap::Node& node : nodes) {
    const std::string_view name = node.name;
    if (name.ends_with(end)) continue;
    const auto [a, b] = std::mismatch(name.rbegin(), name.rend(), end.rbegin(), end.rend());
    end.remove_prefix(end.size() - static_cast<std::size_t>(b - end.rbegin()));
  }
  while (!end.empty() && (static_cast<unsigned char>(end.front()) & 0xC0) == 0x80)
    end.remove_prefix(1);
  return end;
}

void put_nodes(const FleetMap& map, v1::FleetMap* out) {
  const int nodes = to_int(map.nodes.size());
  out->mutable_name_keeps()->Reserve(nodes);
  out->mutable_name_rests()->Reserve(nodes);
  out->mutable_node_kinds()->Reserve(nodes);
  out->mutable_node_conditions()->Reserve(nodes);
  const std::string_view end = common_end(map.nodes);
  out->set_name_end(end.data(), end.size());
  std::string_view before;
  for (const FleetMap::Node& node : map.nodes) {
    const std::string_view name(node.name.data(), node.name.size() - end.size());
    const std::size_t keeps = common(before, name);
    out->add_name_keeps(to_int(keeps));
    out->add_name_rests(name.data() + keeps, name.size() - keeps);
    out->add_node_kinds(to_int(node.kind));
    out->add_node_conditions(to_int(node.condition));
    before = name;
  }
}

// See FleetMap.job_ends.
std::int32_t end_of(const FleetMap::Job& job, TimeMs now) {
  if (job.end_ms == 0) return 0;
  const DurationMs left = std::max<DurationMs>(0, job.end_ms - now);
  const DurationMs minutes = (left + kMinuteMs - 1) / kMinuteMs;
  return static_cast<std::int32_t>(std::min<DurationMs>(minutes, INT32_MAX - 1) + 1);
}

void put_jobs(const FleetMap& map, v1::FleetMap* out) {
  const int jobs = to_int(map.jobs.size());
  out->mutable_job_numbers()->Reserve(jobs);
  out->mutable_job_owners()->Reserve(jobs);
  out->mutable_job_ends()->Reserve(jobs);
  std::int64_t before = 0;
  for (const FleetMap::Job& job : map.jobs) {
    const auto number = static_cast<std::int64_t>(job.id.sequence());
    out->add_job_numbers(number - before);
    out->add_job_owners(to_int(job.owner));
    out->add_job_ends(end_of(job, map.time_ms));
    before = number;
  }
}

void put_cells(const FleetMap& map, v1::FleetMap* out) {
  const int runs = to_int(map.runs.size());
  out->mutable_runs()->Reserve(runs);
  out->mutable_run_jobs()->Reserve(runs);
  std::int64_t before = 0;
  for (const FleetMap::Run& run : map.runs) {
    const std::uint32_t state =
        number_of(run.parts > 0 ? v1::GPU_STATE_DIVIDED : to_proto(run.state));
    out->add_runs(to_int(std::uint64_t{run.cells} * kStates + state));
    if (run.parts > 0) {
      out->add_part_counts(to_int(run.parts));
    } else if (run.job != FleetMap::kNoJob) {
      out->add_run_jobs(static_cast<std::int32_t>(run.job - before));
      before = run.job;
    }
  }
  for (const FleetMap::Part& part : map.parts) {
    const auto milligpu = static_cast<std::uint64_t>(part.milligpu);
    out->add_parts(to_int(milligpu * kStates + number_of(to_proto(part.state))));
    if (part.job != FleetMap::kNoJob) out->add_part_jobs(to_int(part.job));
  }
  for (const FleetMap::Excess& excess : map.excess) {
    v1::MapExcess* const row = out->add_excess();
    row->set_node(to_int(excess.node));
    row->set_state(to_proto(excess.part.state));
    row->set_job(to_int(excess.part.job));
    row->set_milligpu(excess.part.milligpu);
  }
}

}  // namespace

void put(const FleetMap& map, const std::string& cluster, v1::FleetMap* out) {
  out->set_cluster(cluster);
  out->set_cluster_id(map.cluster.value);
  put(map.time_ms, out->mutable_time());
  put_tables(map, out);
  put_owners(map, out);
  put_nodes(map, out);
  put_jobs(map, out);
  put_cells(map, out);
}

std::optional<Error> put_fleet_map(const Engine& engine, const v1::GetFleetMapRequest& in,
                                   v1::FleetMap* out) {
  const ClusterId id = engine.find_cluster(in.cluster());
  if (!id && in.cluster().empty()) {
    return Error{ErrorCode::kInvalid, "cluster", "",
                 "want a cluster name: there is not exactly one"};
  }
  if (!id) return Error{ErrorCode::kNotFound, "cluster", in.cluster(), "there is no such cluster"};
  put(engine.fleet_map(id), engine.cluster_name(id), out);
  if (out->ByteSizeLong() <= limits::kMaxPageBytes) return std::nullopt;
  const std::string nodes = std::to_string(out->name_keeps_size());
  out->Clear();
  return Error{ErrorCode::kExhausted, "cluster", in.cluster(),
               "the map of its " + nodes + " nodes is too large for one answer: want ListNodes"};
}

}  // namespace subak::api
