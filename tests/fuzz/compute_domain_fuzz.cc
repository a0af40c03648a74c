// The objects of NVIDIA's DRA driver, as the edge reads them from a watch, and what it then says.
#include "core/limits.h"
#include "server/edge/domains/domain_cache.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_name(const std::string& text) {
  assert(!text.empty() && text.size() <= limits::kMaxNameBytes);
}

void check_domain(const ComputeDomain& domain) {
  check_name(domain.ns);
  check_name(domain.name);
  check_name(domain.uid);
  assert(domain.claim_template.size() <= limits::kMaxNameBytes);
  assert(domain.is_ours() == (domain.attempt > 0));
  assert(domain.not_ready.size() <= domain.nodes && domain.nodes <= limits::kMaxNodes);
  // What Subak writes for the same attempt reads back the same.
  if (!domain.is_ours()) return;
  const std::string text = compute_domain_body(domain.ns, domain.name, domain.job, domain.attempt,
                                               {"v1", "Pod", "p", domain.uid});
  simdjson::dom::parser parser;
  json::Value made;
  assert(parser.parse(text).get(made) == simdjson::SUCCESS);
  assert(json::text_in(made, "metadata", "name") == domain.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simdjson::dom::parser parser;
  json::Value object;
  const auto text = fuzz::text_of(data, size);
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return 0;
  const auto domain = read_compute_domain(object);
  domain.ok() ? check_domain(*domain) : fuzz::check_error(domain.error());
  const auto made = read_claim_template(object);
  if (made.ok()) {
    check_name(made->ns);
    check_name(made->name);
    assert(made->domain_uid.size() <= limits::kMaxNameBytes);
  } else {
    fuzz::check_error(made.error());
  }
  const auto slice = read_channel_slice(object);
  if (slice.ok()) {
    check_name(slice->name);
    assert(slice->node.size() <= limits::kMaxNameBytes);
  } else {
    fuzz::check_error(slice.error());
  }
  std::string unreadable, changed;
  DomainCache cache({.unreadable = [&](const std::string& why) { unreadable = why; },
                     .offers_changed = [&](const std::string& node) { changed = node; }});
  WatchEvent event;
  event.kind = WatchKind::kModified;
  event.object = object;
  cache.see_domain(event, 1);
  assert(unreadable.empty() == domain.ok());
  cache.see_template(event);
  cache.see_slice(event);
  cache.complete_domains();
  for (const ComputeDomainRow& row : domain_rows(cache)) assert(row.ready <= row.nodes);
  event.kind = WatchKind::kDeleted;
  cache.see_domain(event, 2);
  cache.see_template(event);
  cache.see_slice(event);
  assert(cache.all().empty());
  if (slice.ok()) assert(!cache.offers_channel(slice->node));
  return 0;
}
