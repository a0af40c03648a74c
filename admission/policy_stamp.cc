// Who made an object: the annotation subak.gpu/created-by (docs/design/0121).
#include "admission/policy_parts.h"
#include "core/names.h"
#include "kube/owners/maker.h"
#include "kube/patch.h"

namespace subak {
namespace policy {
namespace {

struct StampedMetadata {
  bool exists = false, has_annotations = false, has_stamp = false;
  Text stamp;
};

StampedMetadata stamped_metadata(std::optional<json::Value> object) {
  StampedMetadata out;
  const auto metadata = object ? json::member(*object, "metadata") : std::nullopt;
  out.exists = metadata && json::is_object(*metadata);
  const auto annotations = out.exists ? json::member(*metadata, "annotations") : std::nullopt;
  out.has_annotations = annotations && json::is_object(*annotations);
  const auto stamp =
      out.has_annotations ? json::member(*annotations, names::kCreatedBy) : std::nullopt;
  out.has_stamp = stamp.has_value();
  if (stamp) out.stamp = json::text(*stamp);
  return out;
}

}  // namespace

std::string maker_of_pod(const Context& c, const Pod& pod) {
  if (is_trusted(c) && pod.keys.user.set) return std::string(pod.keys.user.value);
  return stamp_of(c.review.username);
}

}  // namespace policy

Decision decide_stamp(const Review& review) {
  const bool is_new = review.operation == "CREATE";
  if (!review.object || !review.sub_resource.empty() || (!is_new && review.operation != "UPDATE"))
    return policy::untouched(Because::kNotOurs);
  const auto now = policy::stamped_metadata(review.object);
  const auto before = policy::stamped_metadata(is_new ? std::nullopt : review.old_object);
  const bool wants = is_new || before.has_stamp;
  const std::string want = is_new ? stamp_of(review.username) : std::string(before.stamp);
  if (now.has_stamp == wants && now.stamp == want) return policy::untouched(Because::kUnchanged);
  PatchWriter patch;
  if (!now.exists) patch.add("/metadata", "{}");
  if (wants) {
    patch.add_members("/metadata/annotations", now.has_annotations, {{names::kCreatedBy, want}});
  } else {
    patch.remove("/metadata/annotations/" + pointer_token(names::kCreatedBy));
  }
  Decision d = policy::untouched(Because::kStamped);
  d.patch = std::move(patch).finish();
  d.verdict = Verdict::kPatched;
  return d;
}

}  // namespace subak
