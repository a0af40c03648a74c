#include <algorithm>
#include <array>
#include <type_traits>

#include "core/decimal.h"
#include "core/limits.h"
#include "server/api/convert/convert.h"
#include "server/api/convert/gang_terms.h"

namespace subak::api {
namespace {

constexpr std::array<std::string_view, 6> kOps{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
constexpr std::array<std::string_view, 4> kTaintEffects{"", "NoSchedule", "NoExecute",
                                                        "PreferNoSchedule"};
constexpr std::array<std::string_view, 3> kTolerationOps{"", "Equal", "Exists"};
constexpr std::array<std::string_view, 4> kProtocols{"", "TCP", "UDP", "SCTP"};

template <std::size_t N>
std::string one_of(Check& check, const char* field, const std::string& value,
                   const std::array<std::string_view, N>& known) {
  if (std::find(known.begin(), known.end(), value) == known.end()) {
    std::string want = "want one of";
    for (std::string_view k : known) {
      if (!k.empty()) want += " " + std::string(k);
    }
    check.fail(field, value, std::move(want));
  }
  return value;
}

AffinityTerm get_term(Check& check, const v1::AffinityTerm& in) {
  AffinityTerm out;
  for (int i = 0; i < in.requirements_size() && check.ok(); ++i) {
    const auto scope = check.in("requirements", i);
    const v1::Requirement& r = in.requirements(i);
    Requirement& requirement = out.requirements.emplace_back();
    requirement.key = check.key("key", r.key());
    requirement.op = one_of(check, "op", r.op(), kOps);
    for (int k = 0; k < r.values_size(); ++k) {
      const auto value = check.in("values", k);
      requirement.values.push_back(check.text("", r.values(k), limits::kMaxTextBytes));
    }
    const bool wants_none = requirement.op == "Exists" || requirement.op == "DoesNotExist";
    if (wants_none != requirement.values.empty()) {
      check.fail("values", std::to_string(requirement.values.size()) + " values",
                 wants_none ? "want none for " + requirement.op
                            : "want at least one for " + requirement.op);
    }
  }
  return out;
}

void get_constraints(Check& check, const v1::PodShape& in, PodShape* out) {
  for (int i = 0; i < in.node_selector_size(); ++i) {
    const auto scope = check.in("node_selector", i);
    const v1::Label& l = in.node_selector(i);
    out->node_selector.push_back(
        {check.key("key", l.key()), check.text("value", l.value(), limits::kMaxTextBytes)});
  }
  std::sort(out->node_selector.begin(), out->node_selector.end());
  for (int i = 0; i < in.affinity_size(); ++i) {
    const auto scope = check.in("affinity", i);
    out->affinity.push_back(get_term(check, in.affinity(i)));
  }
  for (int i = 0; i < in.tolerations_size(); ++i) {
    const auto scope = check.in("tolerations", i);
    const v1::Toleration& t = in.tolerations(i);
    out->tolerations.push_back({check.text("key", t.key(), limits::kMaxTextBytes),
                                one_of(check, "op", t.op(), kTolerationOps),
                                check.text("value", t.value(), limits::kMaxTextBytes),
                                one_of(check, "effect", t.effect(), kTaintEffects)});
  }
  for (int i = 0; i < in.host_ports_size(); ++i) {
    const auto scope = check.in("host_ports", i);
    const v1::HostPort& p = in.host_ports(i);
    out->host_ports.push_back(
        {static_cast<std::int32_t>(check.number("port", p.port(), 1, INT32_MAX)),
         one_of(check, "protocol", p.protocol(), kProtocols),
         check.name("host_ip", p.host_ip(), false)});
  }
  for (int i = 0; i < in.spread_size(); ++i) {
    const auto scope = check.in("spread", i);
    const v1::TopologySpread& s = in.spread(i);
    out->spread.push_back(
        {check.key("key", s.key()), check.number("max_skew", s.max_skew(), 1, UINT32_MAX),
         check.number("min_domains", s.min_domains(), 0, UINT32_MAX), s.any_node(),
         s.only_tolerated(), check.number("group", s.group(), 0, INT64_MAX)});
  }
  for (int i = 0; i < in.near_size(); ++i) {
    const auto scope = check.in("near", i);
    out->near.push_back({check.key("key", in.near(i).key()),
                         check.number("group", in.near(i).group(), 0, INT64_MAX)});
  }
  for (int i = 0; i < in.extended_size(); ++i) {
    const auto scope = check.in("extended", i);
    out->extended.push_back(
        {check.name("name", in.extended(i).name(), true), in.extended(i).count()});
  }
}

void get_gpus(Check& check, const v1::PodShape& in, PodShape* out) {
  out->kind = static_cast<GpuKind>(check.enum_value("kind", in.kind(), v1::GPU_KIND_FRACTION));
  const bool counted =
      out->kind == GpuKind::kWhole || out->kind == GpuKind::kShared || out->kind == GpuKind::kMig;
  const bool fraction = out->kind == GpuKind::kFraction;
  out->gpus =
      check.number("gpus", in.gpus(), counted ? 1 : 0, counted ? limits::kMaxGpusPerPod : 0);
  out->milligpu = check.number("fraction_milligpu", in.fraction_milligpu(), fraction ? 1 : 0,
                               fraction ? kMilliPerGpu - 1 : 0);
  out->profile = check.name("mig_profile", in.mig_profile(), out->kind == GpuKind::kMig);
  if (out->kind != GpuKind::kMig && !out->profile.empty()) {
    check.fail("mig_profile", out->profile, "want none unless kind is GPU_KIND_MIG");
  }
  for (int i = 0; i < in.products_size(); ++i) {
    const auto scope = check.in("products", i);
    out->products.push_back(check.name("", in.products(i), true));
  }
}

std::string gpus_text(const PodShape& shape) {
  switch (shape.kind) {
    case GpuKind::kNone:
      return "0";
    case GpuKind::kFraction:
      return format_milligpu(shape.milligpu);
    case GpuKind::kMig:
      return std::to_string(shape.gpus) + " mig-" + shape.profile;
    case GpuKind::kShared:
      return std::to_string(shape.gpus) + " shared";
    case GpuKind::kWhole:
      return std::to_string(shape.gpus);
  }
  return "?";
}

}  // namespace

PodShape get(Check& check, const v1::PodShape& in) {
  PodShape out;
  get_gpus(check, in, &out);
  out.cpu_milli = in.cpu_milli();
  out.memory_bytes = in.memory_bytes();
  out.container_gpus = in.container_gpus();
  get_constraints(check, in, &out);
  return out;
}

std::vector<PodGroup> get_groups(Check& check, const PodGroups& in) {
  std::vector<PodGroup> out;
  if (in.empty()) check.fail("groups", "", "want at least one group of pods");
  std::int64_t pods = 0;
  for (int i = 0; i < in.size() && check.ok(); ++i) {
    const auto scope = check.in("groups", i);
    const std::int64_t count = check.number("count", in[i].count(), 1, limits::kMaxPodsPerJob);
    pods += count;
    const auto shape = check.in("shape");
    out.push_back({static_cast<std::uint32_t>(count), get(check, in[i].shape())});
    if (pods > limits::kMaxPodsPerJob) break;
  }
  check.number("groups", pods, 0, limits::kMaxPodsPerJob);
  return out;
}

GangRequest get(Check& check, const v1::GangRequest& in) {
  GangRequest out;
  out.groups = get_groups(check, in.groups());
  out.terms = get_terms(check, in);
  return out;
}

void put(const PodShape& shape, v1::PodShape* out) {
  out->set_kind(static_cast<v1::GpuKind>(shape.kind));
  out->set_gpus(shape.gpus);
  out->set_fraction_milligpu(shape.milligpu);
  out->set_mig_profile(shape.profile);
  for (const std::string& product : shape.products) out->add_products(product);
  out->set_cpu_milli(shape.cpu_milli);
  out->set_memory_bytes(shape.memory_bytes);
  out->set_container_gpus(shape.container_gpus);
  for (const ResourceCount& r : shape.extended) {
    auto* row = out->add_extended();
    row->set_name(r.name);
    row->set_count(r.count);
  }
  for (const Label& l : shape.node_selector) {
    auto* row = out->add_node_selector();
    row->set_key(l.key);
    row->set_value(l.value);
  }
  for (const AffinityTerm& term : shape.affinity) {
    auto* row = out->add_affinity();
    for (const Requirement& r : term.requirements) {
      auto* requirement = row->add_requirements();
      requirement->set_key(r.key);
      requirement->set_op(r.op);
      for (const std::string& value : r.values) requirement->add_values(value);
    }
  }
  for (const Toleration& t : shape.tolerations) {
    auto* row = out->add_tolerations();
    row->set_key(t.key);
    row->set_op(t.op);
    row->set_value(t.value);
    row->set_effect(t.effect);
  }
  for (const HostPort& p : shape.host_ports) {
    auto* row = out->add_host_ports();
    row->set_port(p.port);
    row->set_protocol(p.protocol);
    row->set_host_ip(p.host_ip);
  }
  for (const TopologySpread& s : shape.spread) {
    auto* row = out->add_spread();
    row->set_key(s.key);
    row->set_max_skew(s.max_skew);
    row->set_min_domains(s.min_domains);
    row->set_any_node(s.any_node);
    row->set_only_tolerated(s.only_tolerated);
    row->set_group(s.group);
  }
  for (const PodAffinity& a : shape.near) {
    auto* row = out->add_near();
    row->set_key(a.key);
    row->set_group(a.group);
  }
}

void put(const GangRequest& request, v1::GangRequest* out) {
  for (const PodGroup& group : request.groups) {
    auto* row = out->add_groups();
    row->set_count(static_cast<std::int32_t>(group.count));
    put(group.shape, row->mutable_shape());
  }
  put(request.terms, out);
}

std::string shape_text(const GangRequest& request) {
  if (request.groups.empty()) return "?";
  std::string out = std::to_string(request.pods()) + "x" + gpus_text(request.groups.front().shape);
  if (request.groups.size() > 1) out += "+";
  if (request.terms.topology != Topology::kAny) out += " " + topology_text(request.terms);
  each_wish_beside_topology(request.terms, [&]<class T>(const Wish<T>& wish, T value) {
    out += " " + std::string(wish.flag());
    if constexpr (!std::is_same_v<T, bool>) out += " " + std::to_string(value);
  });
  return out;
}

}  // namespace subak::api
