#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/account_limits.h"
#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

double gpu_seconds(GpuTime time) {
  return static_cast<double>(time.gpu_seconds()) +
         static_cast<double>(time.rest()) / static_cast<double>(GpuTime::kRawPerGpuSecond);
}

// Returns the accounts with series: whole levels of the tree, from the top, as long as they fit. If
// the first level does not fit, its first accounts. Users count as one more level. The root is left
// out: its empty path is no label value.
std::vector<const AccountRow*> shown(const std::vector<AccountRow>& rows, bool users,
                                     std::size_t most) {
  std::map<std::size_t, std::vector<const AccountRow*>> levels;
  std::map<AccountId, std::size_t> depth;
  for (const AccountRow& row : rows) {
    if (row.spec.path.empty()) continue;
    depth[row.id] = depth[row.parent] + 1;
    if (row.spec.user && !users) continue;
    levels[row.spec.user ? limits::kMaxAccountDepth + 1 : depth[row.id]].push_back(&row);
  }
  std::vector<const AccountRow*> out;
  for (const auto& [level, accounts] : levels) {
    if (out.size() + accounts.size() > most) {
      const auto some = static_cast<std::ptrdiff_t>(out.empty() ? most : 0);
      out.insert(out.end(), accounts.begin(), accounts.begin() + some);
      break;
    }
    out.insert(out.end(), accounts.begin(), accounts.end());
  }
  return out;
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

// Writes the text format for many series that differ in one label. Each label is written once, and
// each value goes straight into the page.
class AccountText {
 public:
  explicit AccountText(std::vector<const AccountRow*> rows) : rows_(std::move(rows)) {
    for (const AccountRow* row : rows_) {
      labels_.push_back("{account=\"" + label_value(row->spec.path) + "\"");
    }
    text_.reserve(kUsualBytes * rows_.size());
  }

  // Writes a gauge of each account. A parent's value includes all accounts below it, so add up one
  // level, not all.
  template <class Value>
  void gauge(std::string_view name, std::string_view help, Value value) {
    family(name, help, "gauge", value);
  }
  template <class Value>
  void counter(std::string_view name, std::string_view help, Value value) {
    family(name, help, "counter", value);
  }
  void limits(const Engine& engine) {
    begin("subak_account_limit_milligpu",
          "The most GPUs at once, of one product or of all products (gpu). No series: no "
          "limit.",
          "gauge");
    for_each_limit(engine, [](const AccountNode&, ProductId, MilliGpu limit) { return limit; });
    begin("subak_account_limited_milligpu",
          "GPUs held and running that count against the limit. No series: no limit.", "gauge");
    for_each_limit(engine, [](const AccountNode& node, ProductId product, MilliGpu) {
      if (product == ProductId()) return node.alloc();
      for (const ProductLevel& level : node.holdings.levels()) {
        if (level.product == product) return level.total();
      }
      return MilliGpu{0};
    });
  }
  void budgets(const Engine& engine, TimeMs now) {
    begin("subak_account_budget_seconds",
          "GPU-seconds of a budget in its present period: spent, held by running jobs, and left. "
          "The three add up to what the period grants. No series: no budget.",
          "gauge");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const BudgetBook& book : engine.accounts().node(rows_[i]->id).jobs.budgets) {
        const BudgetFigures figures = book.at(now);
        const std::string label = ",budget=\"" + label_value(budgets_text({book.budget()})) + "\"";
        line(i, label + ",kind=\"spent\"");
        number(gpu_seconds(figures.spent));
        line(i, label + ",kind=\"held\"");
        number(gpu_seconds(figures.held));
        line(i, label + ",kind=\"left\"");
        number(gpu_seconds(figures.left()));
      }
    }
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kUsualBytes = 1200;  // of one account's series

  // Writes a line of the open family for each product with a limit of an account.
  template <class Value>
  void for_each_limit(const Engine& engine, Value value) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const AccountNode& node = engine.accounts().node(rows_[i]->id);
      for (const auto& [product, limit] : node.limits.gpus) {
        const std::string_view name =
            product == ProductId() ? kAnyProduct : engine.fleet().products().name(product);
        line(i, ",product=\"" + label_value(name) + "\"");
        number(value(node, product, limit));
      }
    }
  }
  template <class Value>
  void family(std::string_view name, std::string_view help, std::string_view type, Value value) {
    begin(name, help, type);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      line(i, "");
      number(value(*rows_[i]));
    }
  }
  void begin(std::string_view name, std::string_view help, std::string_view type) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help);
    text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void line(std::size_t row, std::string_view more) {
    text_.append(name_).append(labels_[row]).append(more).append("} ");
  }
  template <class Number>
  void number(Number value) {
    std::array<char, 32> buffer;
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(value)) {
        text_.append(std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf").append("\n");
        return;
      }
    }
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    text_.append(buffer.data(), end).append("\n");
  }

  std::vector<const AccountRow*> rows_;
  std::vector<std::string> labels_;
  std::string_view name_;
  std::string text_;
};

using R = const AccountRow&;

void write_shares(AccountText& out) {
  out.gauge("subak_account_shares",
            "Shares, as configured. They are relative to the siblings' shares.",
            [](R r) { return r.spec.shares; });
  out.counter("subak_account_usage_gpu_seconds_total", "GPU time held and used, never decayed.",
              [](R r) { return gpu_seconds(r.usage_total); });
  out.gauge("subak_account_decayed_usage", "Usage in GPU-seconds, decayed.",
            [](R r) { return r.usage_gpu_seconds; });
  out.gauge("subak_account_share_factor",
            "2^-(usage share / share). 1: no usage. 0.5: usage equals the share. Below 0.5: "
            "usage above the share.",
            [](R r) { return r.share_factor; });
  out.gauge("subak_account_norm_shares",
            "Shares, divided by the sum of the account's and its siblings' shares.",
            [](R r) { return r.norm_shares; });
  out.gauge("subak_account_effective_usage",
            "Decayed usage, divided by the parent's decayed usage.",
            [](R r) { return r.effective_usage; });
}

void write_amounts(AccountText& out, const Engine& engine, TimeMs now) {
  out.gauge("subak_account_running_milligpu", "GPUs of bound pods.", [](R r) { return r.running; });
  out.gauge("subak_account_held_milligpu", "GPUs of holds whose pods are not bound yet.",
            [](R r) { return r.held; });
  out.gauge("subak_account_queued_milligpu", "The fewest GPUs that the waiting jobs need.",
            [](R r) { return r.queued; });
  out.gauge("subak_account_quota_milligpu", "Guaranteed GPUs.", [](R r) { return r.quota; });
  out.gauge("subak_account_borrowed_milligpu", "GPUs held or running beyond the account's quota.",
            [](R r) { return r.lending.borrowed; });
  out.gauge("subak_account_lent_milligpu",
            "Unused quota of the account for which no GPUs are idle: others hold them.",
            [](R r) { return r.lending.lent; });
  out.limits(engine);
  out.budgets(engine, now);
}

}  // namespace

std::string write_accounts(Families& out, const Engine& engine, const Survey& survey, TimeMs now,
                           bool users, std::size_t most) {
  const std::vector<AccountRow> rows = engine.account_rows(now);
  const std::size_t all =
      static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const AccountRow& row) {
        return !row.spec.path.empty() && (users || !row.spec.user);
      }));
  std::vector<const AccountRow*> with_series = shown(rows, users, most);
  out.gauge("subak_accounts_without_series",
            "Accounts without series of their own. Only the figures of their parents "
            "include them.");
  out.sample({}, all - with_series.size());
  out.gauge("subak_not_recallable_milligpu",
            "GPUs beyond quota of jobs that Subak never asks to end, by the reason why.");
  for (std::size_t why = 0; why < EnumText<Unrecallable>::names.size(); ++why) {
    const MilliGpu amount = rows.empty() ? 0 : rows.front().lending.not_recallable[why];
    out.sample({{"why", std::string(EnumText<Unrecallable>::names[why])}}, amount);
  }
  AccountText text(std::move(with_series));
  text.gauge("subak_jobs_pending", "Jobs that wait at the account or below it.",
             [](R r) { return r.jobs_queued; });
  text.gauge("subak_account_oldest_wait_seconds",
             "The longest wait of a job at the account or below it. 0: no job waits.", [&](R r) {
               const auto oldest = survey.oldest_submit.find(r.id);
               const bool waits = oldest != survey.oldest_submit.end() && r.jobs_queued > 0;
               return waits ? static_cast<double>(now - oldest->second) / kSecondMs : 0.0;
             });
  write_shares(text);
  write_amounts(text, engine, now);
  return text.take();
}

}  // namespace subak::metrics
