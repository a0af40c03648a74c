#include "tests/fuzz/common/fuzz_calls.h"

#include <array>

namespace subak::fuzz {
namespace {

using google::protobuf::Message;

const std::array<const Message*, kMessages>& prototypes() {
  static const std::array<const Message*, kMessages> kAll{
      &v1::ObserveRequest::default_instance(),       &v1::CreateJobRequest::default_instance(),
      &v1::CreateAccountRequest::default_instance(), &v1::UpdateAccountRequest::default_instance(),
      &v1::DeleteAccountRequest::default_instance(), &v1::UpdateClusterRequest::default_instance(),
      &v1::ImportNodesRequest::default_instance(),   &v1::DrainNodeRequest::default_instance(),
      &v1::UndrainNodeRequest::default_instance(),   &v1::CancelJobRequest::default_instance(),
      &v1::HoldJobRequest::default_instance(),       &v1::ReleaseJobRequest::default_instance(),
      &v1::FinalizeRequest::default_instance(),      &v1::AcceptClockRequest::default_instance(),
      &v1::DeleteClusterRequest::default_instance(), &v1::ListClaimsRequest::default_instance(),
      &v1::ApplyAccountsRequest::default_instance(), &v1::MoveAccountRequest::default_instance(),
  };
  return kAll;
}

Call read(api::Check& check, const v1::ObserveRequest& in, const Engine&) {
  return {api::get_event(check, in, check.name("cluster", in.cluster(), false)), ""};
}

Call read(api::Check& check, const v1::CreateJobRequest& in, const Engine&) {
  const auto scope = check.in("job");
  in::SubmitJob body = api::get(check, in.job());
  body.validate_only = in.validate_only();
  return {std::move(body), check.name("request_id", in.request_id(), false)};
}

template <class Request>
Call edit_account(api::Check& check, const Request& in, in::SetAccount body) {
  check.name("account.path", in.account().path(), false);
  body.reason = api::get_reason(check, in.reason(), true);
  body.validate_only = in.validate_only();
  const auto scope = check.in("account");
  body.spec = api::get(check, in.account(), body.unchanged);
  return {std::move(body), check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::CreateAccountRequest& in, const Engine&) {
  in::SetAccount body;
  body.must_create = true;
  return edit_account(check, in, std::move(body));
}

Call read(api::Check& check, const v1::UpdateAccountRequest& in, const Engine&) {
  in::SetAccount body;
  body.unchanged = api::get_unchanged(check, in.account(), in.update_mask());
  body.revision = check.number("revision", in.revision(), 0, INT64_MAX);
  body.must_exist = !in.allow_missing();
  body.retroactive = in.retroactive();
  return edit_account(check, in, std::move(body));
}

Call read(api::Check& check, const v1::ApplyAccountsRequest& in, const Engine&) {
  return {api::get(check, in), check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::MoveAccountRequest& in, const Engine&) {
  return {api::get(check, in), check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::DeleteAccountRequest& in, const Engine&) {
  return {in::DeleteAccount{check.name("path", in.path(), true),
                            check.number("revision", in.revision(), 0, INT64_MAX),
                            api::get_reason(check, in.reason(), true), in.validate_only()},
          check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::UpdateClusterRequest& in, const Engine&) {
  in::SetCluster body;
  body.name = check.name("name", in.name(), true);
  body.reason = api::get_reason(check, in.reason(), true);
  body.validate_only = in.validate_only();
  const int mode = check.enum_value("mode", in.mode(), v1::MODE_ENFORCE);
  body.mode = mode > 0 ? static_cast<Mode>(mode - 1) : Mode::kEnforce;
  body.must_exist = !in.allow_missing();
  return {std::move(body), check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::DeleteClusterRequest& in, const Engine&) {
  return {in::DeleteCluster{check.name("name", in.name(), true),
                            api::get_reason(check, in.reason(), true), in.validate_only()},
          check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::ImportNodesRequest& in, const Engine&) {
  in::ImportNodes body;
  body.cluster = check.name("cluster", in.cluster(), false);
  body.reason = api::get_reason(check, in.reason(), true);
  body.validate_only = in.validate_only();
  for (int i = 0; i < in.nodes_size() && check.ok(); ++i) {
    const auto scope = check.in("nodes", i);
    body.nodes.push_back(api::get(check, in.nodes(i)));
  }
  return {std::move(body), check.name("request_id", in.request_id(), false)};
}

template <class Request>
Call drain(api::Check& check, const Request& in, bool drained) {
  return {
      in::DrainNode{check.name("cluster", in.cluster(), false), check.name("node", in.node(), true),
                    drained, api::get_reason(check, in.reason(), true), 0, 0},
      check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::DrainNodeRequest& in, const Engine&) {
  Call call = drain(check, in, true);
  auto& body = std::get<in::DrainNode>(call.body);
  if (in.has_from()) body.from_ms = check.time("from", in.from());
  if (in.has_until()) body.until_ms = check.time("until", in.until());
  return call;
}

Call read(api::Check& check, const v1::UndrainNodeRequest& in, const Engine&) {
  return drain(check, in, false);
}

Call read(api::Check& check, const v1::CancelJobRequest& in, const Engine&) {
  return {in::CancelJob{api::get_job_id(check, "job_id", in.job_id()),
                        api::get_reason(check, in.reason(), false)},
          check.name("request_id", in.request_id(), false)};
}

template <class Request>
Call hold(api::Check& check, const Request& in, bool held) {
  return {in::HoldJob{api::get_job_id(check, "job_id", in.job_id()), held,
                      api::get_reason(check, in.reason(), false)},
          check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::HoldJobRequest& in, const Engine&) {
  return hold(check, in, true);
}

Call read(api::Check& check, const v1::ReleaseJobRequest& in, const Engine&) {
  return hold(check, in, false);
}

Call read(api::Check& check, const v1::FinalizeRequest& in, const Engine&) {
  const std::int64_t version = check.number("fact_version", in.fact_version(), 0, kFactVersion);
  return {in::Finalize{version == 0 ? kFactVersion : static_cast<std::uint32_t>(version),
                       api::get_reason(check, in.reason(), true), in.validate_only()},
          check.name("request_id", in.request_id(), false)};
}

Call read(api::Check& check, const v1::AcceptClockRequest& in, const Engine&) {
  in::AcceptClock body;
  body.wall_ms = 1;
  body.reason = api::get_reason(check, in.reason(), true);
  body.validate_only = in.validate_only();
  return {std::move(body), check.name("request_id", in.request_id(), false)};
}

template <class... Request>
std::optional<Call> read_any(api::Check& check, const Message& message, const Engine& engine) {
  std::optional<Call> call;
  const auto try_one = [&](const auto* request) {
    if (request != nullptr) call = read(check, *request, engine);
  };
  (try_one(dynamic_cast<const Request*>(&message)), ...);
  if (!check.ok()) return std::nullopt;
  return call;
}

}  // namespace

std::unique_ptr<Message> new_message(std::size_t number) {
  return std::unique_ptr<Message>(prototypes()[number]->New());
}

std::unique_ptr<Message> new_message(std::string_view name) {
  for (const Message* prototype : prototypes()) {
    if (prototype->GetDescriptor()->name() == name) {
      return std::unique_ptr<Message>(prototype->New());
    }
  }
  return nullptr;
}

std::optional<Call> read_call(api::Check& check, const Message& message, const Engine& engine) {
  return read_any<v1::ObserveRequest, v1::CreateJobRequest, v1::CreateAccountRequest,
                  v1::UpdateAccountRequest, v1::DeleteAccountRequest, v1::UpdateClusterRequest,
                  v1::ImportNodesRequest, v1::DrainNodeRequest, v1::UndrainNodeRequest,
                  v1::CancelJobRequest, v1::HoldJobRequest, v1::ReleaseJobRequest,
                  v1::FinalizeRequest, v1::AcceptClockRequest, v1::DeleteClusterRequest,
                  v1::ApplyAccountsRequest, v1::MoveAccountRequest>(check, message, engine);
}

}  // namespace subak::fuzz
