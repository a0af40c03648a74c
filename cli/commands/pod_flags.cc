// Reads the flags for what a pod requires of its node beside GPUs.
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "cli/commands/job_submit.h"
#include "cli/text/failure.h"

namespace subak::cli {
namespace {

constexpr char kSelectorHelp[] = "write KEY=VALUE, such as topology.kubernetes.io/zone=a";
constexpr char kTolerationHelp[] =
    "write KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT; EFFECT is NoSchedule, NoExecute or "
    "PreferNoSchedule; * tolerates every taint";
constexpr char kAffinityHelp[] =
    "write it as kubectl does: \"KEY in (A,B)\", \"KEY notin (A,B)\", KEY, '!KEY', KEY=A, KEY!=A, "
    "KEY>5, KEY<5, several joined by commas";
constexpr char kResourceHelp[] = "write NAME=COUNT, such as rdma/hca_shared_devices_a=1";
constexpr char kPortHelp[] = "write PORT, PORT/UDP, or ADDRESS:PORT; PORT is 1 to 65535";

[[noreturn]] void fail(const char* flag, const std::string& text, const char* want,
                       const char* help) {
  throw usage_failure(std::string(flag) + ": was \"" + text + "\", want " + want, help);
}

std::optional<std::int64_t> count_of(const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || rest != end || value < 0 || value > most) return std::nullopt;
  return value;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Splits at commas outside of parentheses.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

void add_selector(const std::string& text, v1::PodShape* shape) {
  const std::size_t cut = text.find('=');
  if (cut == std::string::npos || cut == 0) fail("--selector", text, "a label", kSelectorHelp);
  auto* label = shape->add_node_selector();
  label->set_key(text.substr(0, cut));
  label->set_value(text.substr(cut + 1));
}

void add_toleration(const std::string& text, v1::PodShape* shape) {
  auto* toleration = shape->add_tolerations();
  std::string rest = text;
  if (const std::size_t colon = rest.rfind(':'); colon != std::string::npos) {
    const std::string effect = rest.substr(colon + 1);
    if (effect != "NoSchedule" && effect != "NoExecute" && effect != "PreferNoSchedule") {
      fail("--toleration", text, "an effect behind the colon", kTolerationHelp);
    }
    toleration->set_effect(effect);
    rest.resize(colon);
  }
  const std::size_t cut = rest.find('=');
  if (rest.empty() || cut == 0) fail("--toleration", text, "a taint", kTolerationHelp);
  toleration->set_op(cut == std::string::npos ? "Exists" : "Equal");
  if (rest != "*") toleration->set_key(rest.substr(0, cut));
  if (cut != std::string::npos) toleration->set_value(rest.substr(cut + 1));
}

// Reads "KEY in (A,B)" or "KEY notin (A,B)". Returns false for another form.
bool read_set(const std::string& text, const std::string& word, const char* op,
              v1::Requirement* out) {
  const std::size_t at = text.find(" " + word + " ");
  const std::size_t open = text.find('(');
  if (at == std::string::npos || open == std::string::npos || text.back() != ')') return false;
  out->set_key(trimmed(text.substr(0, at)));
  out->set_op(op);
  for (const std::string& value : parts_of(text.substr(open + 1, text.size() - open - 2))) {
    out->add_values(trimmed(value));
  }
  return trimmed(text.substr(at + word.size() + 2, open - at - word.size() - 2)).empty();
}

// Reads "KEY=A" and similar forms.
bool read_comparison(const std::string& text, v1::Requirement* out) {
  static const std::pair<const char*, const char*> kOps[] = {
      {"!=", "NotIn"}, {"==", "In"}, {"=", "In"}, {">", "Gt"}, {"<", "Lt"}};
  for (const auto& [sign, op] : kOps) {
    const std::size_t at = text.find(sign);
    if (at == std::string::npos) continue;
    out->set_key(trimmed(text.substr(0, at)));
    out->set_op(op);
    out->add_values(trimmed(text.substr(at + std::string(sign).size())));
    return true;
  }
  return false;
}

void read_requirement(const std::string& text, v1::Requirement* out) {
  if (read_set(text, "in", "In", out) || read_set(text, "notin", "NotIn", out)) return;
  out->Clear();
  if (read_comparison(text, out)) return;
  const bool without = text[0] == '!';
  out->set_key(trimmed(without ? text.substr(1) : text));
  out->set_op(without ? "DoesNotExist" : "Exists");
}

void add_term(const std::string& text, v1::PodShape* shape) {
  auto* term = shape->add_affinity();
  for (const std::string& part : parts_of(text)) {
    auto* requirement = term->add_requirements();
    const std::string one = trimmed(part);
    if (!one.empty()) read_requirement(one, requirement);
    if (requirement->key().empty() ||
        requirement->key().find_first_of(" ()") != std::string::npos) {
      fail("--affinity", text, "requirements of node labels", kAffinityHelp);
    }
  }
}

void add_resource(const std::string& text, v1::PodShape* shape) {
  const std::size_t cut = text.rfind('=');
  const auto count = cut == std::string::npos || cut == 0
                         ? std::nullopt
                         : count_of(text.substr(cut + 1), std::numeric_limits<std::int64_t>::max());
  if (!count) fail("--resource", text, "a name and a whole number", kResourceHelp);
  auto* resource = shape->add_extended();
  resource->set_name(text.substr(0, cut));
  resource->set_count(*count);
}

void add_host_port(const std::string& text, v1::PodShape* shape) {
  constexpr std::int64_t kMostPort = 65'535;
  auto* port = shape->add_host_ports();
  std::string rest = text;
  if (const std::size_t slash = rest.find('/'); slash != std::string::npos) {
    port->set_protocol(rest.substr(slash + 1));
    rest.resize(slash);
  }
  if (const std::size_t colon = rest.rfind(':'); colon != std::string::npos) {
    std::string address = rest.substr(0, colon);
    if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
      address = address.substr(1, address.size() - 2);
    }
    port->set_host_ip(address);
    rest = rest.substr(colon + 1);
  }
  const auto number = count_of(rest, kMostPort);
  if (!number || *number == 0) fail("--host-port", text, "a port", kPortHelp);
  port->set_port(static_cast<std::int32_t>(*number));
}

}  // namespace

void put_pod_flags(const PodFlags& flags, v1::PodShape* shape) {
  for (const std::string& text : flags.selectors) add_selector(text, shape);
  for (const std::string& text : flags.affinity) add_term(text, shape);
  for (const std::string& text : flags.tolerations) add_toleration(text, shape);
  for (const std::string& text : flags.resources) add_resource(text, shape);
  for (const std::string& text : flags.host_ports) add_host_port(text, shape);
}

}  // namespace subak::cli
