#include "tools/demo_edge/opening.h"

#include <cstdarg>
#include <cstdio>

#include "tools/demo_edge/pods.h"

namespace subak::demo {
namespace {

class Opening {
 public:
  Opening(Door& door, Edge& edge, const std::string& ca_file, Checks& out)
      : client_(door, ca_file), edge_(edge), out_(out) {}

  void gated(const char* what, const PodWish& wish) {
    const nlohmann::json pod = pod_of(wish);
    const HttpAnswer answer = ask(pod, wish);
    const auto record = store_pod(pod, read_verdict(answer, uid_of(wish)), wish.name);
    expect(what, "gated", record.has_value(), answer);
    if (record) edge_.store(*record);
  }
  void untouched(const char* what, const PodWish& wish) {
    const HttpAnswer answer = ask(pod_of(wish), wish);
    const Verdict verdict = read_verdict(answer, uid_of(wish));
    expect(what, "untouched", verdict.allowed && verdict.patch.empty(), answer);
  }
  void denied(const char* what, const PodWish& wish, const std::string& says) {
    const HttpAnswer answer = ask(pod_of(wish), wish);
    const Verdict verdict = read_verdict(answer, uid_of(wish));
    const bool ok = !verdict.allowed && (verdict.code == 403 || verdict.code == 422) &&
                    verdict.message.find(says) != std::string::npos;
    expect(what, "denied", ok, answer);
    if (ok) tell("    \"%.86s...\"", verdict.message.c_str());
  }
  void malformed() {
    const HttpAnswer answer = client_.post(R"({"kind":"AdmissionReview","request":)");
    expect("malformed JSON", "HTTP 400", answer.status == 400, answer);
  }
  // Sends the same review again, a dry run, and a review of the stored pod.
  void repeated(const PodWish& wish) {
    const nlohmann::json pod = pod_of(wish);
    const HttpAnswer first = ask(pod, wish);
    const HttpAnswer second = ask(pod, wish);
    expect("the same review twice", "same answer", first.body == second.body, second);
    const HttpAnswer dry = ask(pod, wish, true);
    expect("a dry run", "same answer", first.body == dry.body, dry);
    const Verdict verdict = read_verdict(first, uid_of(wish));
    const auto stored = patched(pod, verdict);
    const HttpAnswer again = ask(stored.value_or(pod), wish);
    const Verdict nothing = read_verdict(again, uid_of(wish));
    expect("a pod that is gated already", "no second patch",
           stored && nothing.allowed && nothing.patch.empty(), again);
  }

 private:
  static std::string uid_of(const PodWish& wish) { return "review-" + wish.name; }

  HttpAnswer ask(const nlohmann::json& pod, const PodWish& wish, bool dry_run = false) {
    return client_.post(review_of(pod, wish, uid_of(wish), dry_run).dump());
  }
  void expect(const char* what, const char* want, bool ok, const HttpAnswer& answer) {
    tell("  %-34s %s", what, ok ? want : "FAILED");
    if (!ok) tell("    HTTP %ld %.300s", answer.status, answer.body.c_str());
    good_ += ok;
    ++all_;
    const Check check{"webhook: every answer as the contract says", good_ == all_,
                      std::to_string(good_) + " of " + std::to_string(all_)};
    if (all_ == 1) {
      out_.push_back(check);
    } else {
      out_.back() = check;
    }
  }

  WebhookClient client_;
  Edge& edge_;
  Checks& out_;
  int good_ = 0, all_ = 0;
};

PodWish plain_wish(const char* ns, const char* name, int gpus, int limit_s) {
  PodWish out;
  out.limit_s = limit_s;
  out.ns = ns;
  out.name = name;
  out.user = "ana";
  out.amount = gpus;
  out.product = "NVIDIA-H100-80GB-HBM3";
  return out;
}

}  // namespace

void opening_reviews(Door& door, Edge& edge, const std::string& ca_file, Checks& out, int limit_s) {
  const auto wish = [limit_s](const char* ns, const char* name, int gpus) {
    return plain_wish(ns, name, gpus, limit_s);
  };
  Opening opening(door, edge, ca_file, out);
  PodWish job = wish("vision", "resnet-0", 2);
  job.job = "resnet";
  opening.gated("a Job's pod with 2 GPUs", job);
  opening.gated("a bare pod with 1 GPU", wish("speech", "notebook", 1));
  for (const char* name : {"llm-0", "llm-1"}) {
    PodWish member = wish("vision", name, 4);
    member.gang = "llm";
    member.gang_size = 2;
    opening.gated("a pod of a gang of 2", member);
  }
  PodWish slice = wish("bio", "infer", 1);
  slice.resource = "nvidia.com/mig-2g.20gb";
  slice.product.clear();
  slice.cores = 2;
  opening.gated("a MIG slice, 2g.20gb", slice);
  PodWish web = wish("vision", "web", 0);
  web.resource.clear();
  web.product.clear();
  opening.untouched("a pod without GPUs", web);
  opening.repeated(wish("vision", "again", 1));
  PodWish much = wish("bio", "huge-0", 8);
  much.gang = "huge";
  much.gang_size = 3;
  opening.denied("24 GPUs for a team limited to 16", much, "16");
  PodWish around = wish("vision", "sneak", 1);
  around.node = "hgx-1";
  opening.denied("spec.nodeName set by hand", around, "spec.nodeName");
  opening.malformed();
}

void tell(const char* format, ...) {
  static const std::int64_t start = wall_ms();
  std::printf("[%5.1f s] ", static_cast<double>(wall_ms() - start) / 1000);
  va_list values;
  va_start(values, format);
  std::vprintf(format, values);
  va_end(values);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace subak::demo
