#include <string>

#include "server/http/header_text.h"
#include "server/http/routes.h"

namespace subak {
namespace {

constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Subak</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100%; margin-bottom: 2em }
th, td { text-align: right; padding: .25em .6em; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }
#note { color: #a00 }
footer { color: #666 }
</style>
</head>
<body>
<h1>Subak</h1>
<p id="note">Loading.</p>
<p id="jobs"></p>
<h2>Clusters</h2><table id="clusters"></table>
<h2>Accounts</h2><table id="accounts"></table>
<h2>Queue</h2><table id="queue"></table>
<footer>Version @VERSION@ · <a href="/metrics">metrics</a> · <a href="/readyz">readiness</a></footer>
<script>
const gpus = m => (m / 1000).toLocaleString("en", {maximumFractionDigits: 3});
const part = x => (100 * x).toFixed(1) + " %";
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\p{NChar}]/gu;
const shown = text => String(text).replace(hidden, c => {
  const code = c.codePointAt(0), short = {10: "\\n", 9: "\\t", 13: "\\r"}[code];
  if (short) return short;
  return code > 0xffff ? "\\U" + code.toString(16).padStart(8, "0") : "\\u" + code.toString(16).padStart(4, "0");
});
const wait = ms => ms < 3.6e6 ? Math.round(ms / 6e4) + " min" : (ms / 3.6e6).toFixed(1) + " h";
function fill(id, head, rows) {
  const table = document.getElementById(id);
  table.replaceChildren();
  const add = (cells, tag) => {
    const tr = table.insertRow();
    for (const cell of cells) tr.appendChild(document.createElement(tag)).textContent = shown(cell);
  };
  add(head, "th");
  for (const row of rows) add(row, "td");
}
async function load() {
  const note = document.getElementById("note");
  try {
    const reply = await fetch("/api/summary");
    if (!reply.ok) throw new Error(await reply.text());
    const s = await reply.json();
    document.getElementById("jobs").textContent = "Jobs: " + s.jobs.running + " running, " +
      s.jobs.starting + " starting, " + s.jobs.queued + " queued, " + s.jobs.paused + " paused";
    fill("clusters", ["Cluster", "Mode", "Complete", "GPUs", "In use"], s.clusters.map(c =>
      [c.cluster, c.mode, c.synced ? "yes" : "no", gpus(c.installed_milligpu), gpus(c.allocated_milligpu)]));
    fill("accounts", ["Account", "Share", "Usage", "Quota", "Running", "Held", "Waiting", "Jobs waiting"],
      s.accounts.map(a => [a.account, part(a.norm_shares), part(a.effective_usage), gpus(a.quota_milligpu),
        gpus(a.running_milligpu), gpus(a.held_milligpu), gpus(a.queued_milligpu), a.jobs_queued]));
    fill("queue", ["Job", "Account", "Name", "GPUs", "Waited"], s.queue.map(j =>
      [j.job, j.account, j.name, gpus(j.milligpu), wait(j.waited_ms)]));
    note.textContent = "";
  } catch (error) {
    note.textContent = "No answer: " + shown(error.message);
  }
}
load();
setInterval(load, 5000);
</script>
</body>
</html>
)html";

// Returns the policy's source expression for the inline element of this tag (policy_hash()).
std::string hash_of(std::string_view tag) {
  const std::string begin = "<" + std::string(tag) + ">", end = "</" + std::string(tag) + ">";
  const std::size_t from = kPage.find(begin) + begin.size();
  return policy_hash(kPage.substr(from, kPage.find(end) - from));
}

}  // namespace

std::string console_policy() {
  return "default-src 'none'; script-src " + hash_of("script") + "; style-src " + hash_of("style") +
         "; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

std::string console_page(std::string_view version) {
  std::string page(kPage);
  constexpr std::string_view kMark = "@VERSION@";
  page.replace(page.find(kMark), kMark.size(), version);
  return page;
}

}  // namespace subak
