#include "cli/migrate/slurm_tree.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "cli/migrate/amounts.h"
#include "cli/migrate/classes.h"
#include "cli/migrate/dump_reader.h"
#include "cli/migrate/slurm_fields.h"
#include "cli/text/nearest.h"
#include "core/account_limits.h"
#include "core/duration.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

constexpr std::string_view kRoot = "root";
constexpr std::string_view kGpu = "gres/gpu";
constexpr std::size_t npos = std::string_view::npos;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Reads a count of GPUs: "8", or "1K" for 1024. -1: no limit.
std::optional<std::int64_t> gpu_count(std::string_view text) {
  const bool thousands = text.ends_with('K');
  if (thousands) text.remove_suffix(1);
  const auto number = whole_number(text);
  if (!number || *number < -1 || *number > limits::kMaxMilliGpu / kMilliPerGpu) return {};
  return thousands && *number > 0 ? *number * 1024 : *number;
}

// True for "gres/gpu" and "gres/gpu:TYPE".
bool is_gpu(std::string_view type) {
  return type.starts_with(kGpu) && (type.size() == kGpu.size() || type[kGpu.size()] == ':');
}

class SlurmTree {
 public:
  SlurmTree(const std::vector<SourceFile>& files, std::size_t file, std::size_t root,
            Migration& out)
      : file_(files[file]), index_(file), out_(out), root_(root), reader_(file_) {
    accounts_.emplace(kRoot, root);
  }

  void read() {
    while (const DumpLine* line = reader_.next()) {
      line_ = line;
      if (is("Cluster")) {
        cluster();
      } else if (is("QOS")) {
        qos();
      } else if (is("Parent")) {
        parent();
      } else if (is("Account")) {
        account();
      } else {
        user();
      }
    }
    if (!has_cluster_) {
      refuse(file_, 1, "Cluster", "", "want a line Cluster - 'NAME', as `sacctmgr dump` writes it");
    }
    if (reader_.ends_inside_a_line()) {
      out_.unmatched.push_back({{index_, line_->number},
                                "End of the file",
                                "The last line has no line end",
                                "Look whether the dump is complete."});
    }
  }

 private:
  bool is(std::string_view object) const { return same_name(line_->object, object); }
  SourceLine here() const { return {index_, line_->number}; }
  [[noreturn]] void fail(std::string_view field, std::string_view got,
                         const std::string& want) const {
    refuse(file_, line_->number, std::string(field), std::string(got), want);
  }
  void unmatched(std::string_view field, std::string_view value, std::string_view todo,
                 bool first_only = false) {
    out_.unmatched.push_back({here(), std::string(field),
                              whose() + ": " + std::string(field) + "=" + std::string(value),
                              std::string(todo), first_only});
  }
  // "User 'ana' of 'ml'".
  std::string whose() const {
    std::string text = std::string(line_->object) + " '" + std::string(line_->name) + "'";
    if (is("User")) text += " of '" + parent_name_ + "'";
    return text;
  }

  void cluster() {
    if (has_cluster_) fail("Cluster", line_->name, "want one cluster in a file");
    has_cluster_ = true;
    out_.accounts[root_].at = here();
    root_fields();
  }

  // The root has no siblings, so its shares mean nothing.
  void root_fields() {
    MigratedAccount& root = out_.accounts[root_];
    fields(slurm_fields(), root);
    root.shares = 1;
    root.parent_shares = false;
  }

  void parent() {
    const auto found = accounts_.find(line_->name);
    if (found == accounts_.end()) {
      fail("Parent", line_->name, "want an account that an earlier line declares");
    }
    parent_ = found->second;
    parent_name_ = line_->name;
  }

  void account() {
    if (line_->name == kRoot) return root_fields();
    const auto [at, is_new] = accounts_.emplace(line_->name, out_.accounts.size());
    if (!is_new) refuse_again(at->second);
    add("Account");
  }

  // An account that an earlier line declares already.
  [[noreturn]] void refuse_again(std::size_t first) const {
    for (std::size_t above = parent_; above != root_; above = out_.accounts[above].parent) {
      if (above == first) {
        fail("Account", line_->name,
             "want a tree: this account is above its parent '" + parent_name_ + "'");
      }
    }
    fail("Account", line_->name,
         "want each account once: it is in line " + std::to_string(out_.accounts[first].at.line));
  }

  MigratedAccount& add(const std::string& kind) {
    if (out_.accounts.size() > limits::kMaxAccounts) {
      fail(kind, line_->name,
           "want at most " + std::to_string(limits::kMaxAccounts) + " accounts and users");
    }
    MigratedAccount& row = out_.accounts.emplace_back(row_of(kind));
    fields(slurm_fields(), row);
    return row;
  }

  // The account or user of the present line, without its fields.
  MigratedAccount row_of(const std::string& kind) const {
    MigratedAccount row;
    row.name = line_->name;
    row.kind = kind;
    row.parent = parent_;
    row.at = here();
    return row;
  }

  // Slurm makes the user `root` of the account `root` in every cluster, for its administrator.
  void add_administrator() {
    if (!users_.emplace(std::pair(parent_, std::string(kRoot)), User{}).second) {
      fail("User", kRoot, "want each user of an account once");
    }
    MigratedAccount& row = out_.accounts.emplace_back(row_of("User"));
    row.user = true;
    row.left_out = true;
    for (const DumpField& field : line_->fields) {
      if (same_name(field.name, "Fairshare")) take_shares(field, row);
    }
  }

  // Slurm may have one association of a user for each partition.
  void user() {
    if (parent_ == root_ && line_->name == kRoot) return add_administrator();
    const auto partition =
        std::find_if(line_->fields.begin(), line_->fields.end(),
                     [](const DumpField& field) { return same_name(field.name, "Partition"); });
    const bool partitioned = partition != line_->fields.end();
    const auto [at, is_new] = users_.emplace(std::pair(parent_, std::string(line_->name)),
                                             User{out_.accounts.size(), partitioned});
    User& known = at->second;
    if (!is_new && !known.partitioned && !partitioned) {
      fail("User", line_->name,
           "want each user of an account once: it is in line " +
               std::to_string(out_.accounts[known.row].at.line));
    }
    if (is_new) {
      add("User");
    } else if (known.partitioned && !partitioned) {
      known.partitioned = false;  // the association of all partitions decides
      MigratedAccount& row = out_.accounts[known.row];
      row = row_of("User");
      fields(slurm_fields(), row);
    } else {
      // A further partition: the report has it, and the first association decides.
      MigratedAccount ignored;
      fields(slurm_fields(), ignored);
    }
    out_.accounts[known.row].user = true;
    if (is_new && parent_ == 0) {
      out_.unmatched.push_back({here(), "User", whose(),
                                "A user belongs to an account below the root. So this user "
                                "becomes an account."});
    }
  }

  void qos() {
    MigratedAccount ignored;
    qos_priority_ = 0;
    fields(slurm_qos_fields(), ignored);
    add_class({here(), "QOS", std::string(line_->name), qos_priority_}, out_);
  }

  void fields(std::span<const SlurmField> table, MigratedAccount& row) {
    for (const DumpField& field : line_->fields) {
      const SlurmField* const known = find_field(table, field.name);
      if (known == nullptr) refuse_unknown(table, field);
      take(*known, field, row);
    }
  }

  [[noreturn]] void refuse_unknown(std::span<const SlurmField> table,
                                   const DumpField& field) const {
    std::vector<std::string> names;
    for (const SlurmField& known : table) names.emplace_back(known.name);
    const std::string near = did_you_mean(nearest(std::string(field.name), names));
    fail(field.name, field.value,
         "want a field that Slurm's accounts or QOS have" + (near.empty() ? "" : "; " + near));
  }

  void take(const SlurmField& known, const DumpField& field, MigratedAccount& row) {
    switch (known.use) {
      case SlurmUse::kNone:
      case SlurmUse::kNoneOnce:
        return unmatched(known.name, field.value, known.todo, known.use == SlurmUse::kNoneOnce);
      case SlurmUse::kShares:
        return take_shares(field, row);
      case SlurmUse::kGpuLimit:
        return each_item(field.value, [&](auto item) { take_resource(known, item, row); });
      case SlurmUse::kJobLimit:
        return take_job_limit(known, field, row);
      case SlurmUse::kGpuMinutes:
        return each_item(field.value, [&](auto item) { take_gpu_minutes(known, item, row); });
      case SlurmUse::kTime:
        return take_time(known, field, row);
      case SlurmUse::kRunningJobs:
        return take_count(known, field, row.spec.held);
      case SlurmUse::kWaitingJobs:
        return take_count(known, field, row.spec.draining);
      case SlurmUse::kPriority:
        qos_priority_ = number_of(field, 0);
        return;
      case SlurmUse::kFactor:
        if (!is_one(field.value)) unmatched(known.name, field.value, known.todo);
        return;
      case SlurmUse::kRemark:
        row.remark = field.value;
        return;
    }
  }

  std::int64_t number_of(const DumpField& field, std::int64_t least) const {
    const auto number = whole_number(field.value);
    if (!number || *number < least || *number > UINT32_MAX) {
      fail(field.name, field.value, "want a whole number from " + std::to_string(least));
    }
    return *number;
  }

  // "1.000000".
  static bool is_one(std::string_view text) {
    return text.starts_with('1') && text.find_first_not_of("0.", 1) == std::string_view::npos &&
           (text.size() == 1 || text[1] == '.');
  }

  void take_shares(const DumpField& field, MigratedAccount& row) {
    row.parent_shares = same_name(field.value, "parent") || field.value == "2147483647";
    row.shares = 0;
    if (row.parent_shares) return;
    row.shares = number_of(field, -1);
    if (row.shares == -1) row.shares = 1;  // -1 clears the field
    if (row.shares > limits::kMaxShares) {
      fail(field.name, field.value,
           "want at most " + std::to_string(limits::kMaxShares) + ", or parent");
    }
  }

  // 0 means that nothing may run, or wait. -1 means that there is no limit.
  void take_count(const SlurmField& known, const DumpField& field, bool& none) {
    const std::int64_t number = number_of(field, -1);
    if (number == 0) {
      none = true;
    } else if (number > 0) {
      unmatched(known.name, field.value, known.todo);
    }
  }

  static void set_other_limit(MigratedAccount& row, const std::string& name,
                              const std::string& value) {
    std::vector<std::string>& limits = row.spec.other_limits;
    std::erase_if(limits, [&](const std::string& limit) { return limit.starts_with(name + "="); });
    limits.push_back(name + "=" + value);
  }

  void take_job_limit(const SlurmField& known, const DumpField& field, MigratedAccount& row) {
    const std::int64_t number = number_of(field, -1);
    if (number > limits::kMaxJobLimit) return unmatched(known.name, field.value, known.todo);
    if (number == 0) row.spec.held = true;
    if (number > 0) set_other_limit(row, "jobs", std::to_string(number));
  }

  // Slurm writes minutes.
  void take_time(const SlurmField& known, const DumpField& field, MigratedAccount& row) {
    const auto minutes = whole_number(field.value);
    if (!minutes || *minutes < 1 || *minutes > limits::kMaxTimeLimitMs / kMinuteMs)
      return unmatched(known.name, field.value, known.todo);
    set_other_limit(row, "time", format_duration(*minutes * kMinuteMs));
  }

  void take_gpu_minutes(const SlurmField& known, std::string_view item, MigratedAccount& row) {
    const std::size_t equals = item.find('=');
    const auto minutes = whole_number(equals == npos ? "" : item.substr(equals + 1));
    const std::int64_t number = minutes.value_or(-1);
    if (item.substr(0, equals) != kGpu || number < 0 || number > limits::kMaxGpuMinutes)
      return unmatched(known.name, item, known.todo);
    set_other_limit(row, "gpu-minutes", std::to_string(number));
  }

  // Calls fn(item) for each item of a list such as "cpu=4,gres/gpu=8".
  template <class F>
  static void each_item(std::string_view list, F fn) {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      fn(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }

  void take_resource(const SlurmField& known, std::string_view item, MigratedAccount& row) {
    const std::size_t equals = item.find('=');
    const std::string_view type = item.substr(0, equals);
    const bool has_type = !type.empty() && (type.starts_with("gres/") || type.find(':') == npos);
    if (equals == npos || !has_type) {
      fail(known.name, item, "want TYPE=NUMBER, such as gres/gpu=8 or gres/gpu:h100=8");
    }
    if (!is_gpu(type)) return unmatched(known.name, item, known.todo);
    const auto count = gpu_count(item.substr(equals + 1));
    const std::int64_t most = limits::kMaxMilliGpu / kMilliPerGpu;
    if (!count || *count > most) {
      fail(known.name, item, "want 0 to " + std::to_string(most) + " GPUs, or -1");
    }
    const std::string product(type == kGpu ? kAnyProduct : type.substr(kGpu.size() + 1));
    if (!is_product_name(product)) {
      fail(known.name, item, "want a type of letters, digits and . _ -");
    }
    if (*count != -1) set_amount(row.spec.limit, product, *count);
  }

  struct User {
    std::size_t row = 0;
    // True: all associations so far name a partition.
    bool partitioned = false;
  };

  const SourceFile& file_;
  const std::size_t index_;
  Migration& out_;
  const std::size_t root_;
  DumpReader reader_;
  const DumpLine* line_ = nullptr;
  bool has_cluster_ = false;
  std::size_t parent_ = root_;
  std::string parent_name_{kRoot};
  std::int64_t qos_priority_ = 0;
  std::map<std::string, std::size_t, std::less<>> accounts_;
  std::map<std::pair<std::size_t, std::string>, User> users_;
};

}  // namespace

void read_slurm(const std::vector<SourceFile>& files, std::size_t file, std::size_t root,
                Migration& out) {
  SlurmTree(files, file, root, out).read();
}

std::string cluster_of_dump(const SourceFile& file) {
  DumpReader reader(file);
  while (const DumpLine* line = reader.next()) {
    if (same_name(line->object, "Cluster")) return std::string(line->name);
  }
  return "";
}

}  // namespace subak::cli
