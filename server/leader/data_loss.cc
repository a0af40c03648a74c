#include "server/leader/data_loss.h"

#include <future>
#include <string>

#include "server/log/log.h"

namespace subak {

Result<LossSeen> accept_loss(DurableMark& known, const LossAsked& asked, std::uint64_t last) {
  const DataLossConsent word{asked.until, asked.actor, asked.reason};
  const auto lost = known.accept(word, last, asked.validate_only);
  if (!lost.ok()) return lost.error();
  if (!asked.validate_only) {
    log::warn("an operator accepted that facts are lost", {{"until", asked.until},
                                                           {"known", lost->seq},
                                                           {"actor", asked.actor},
                                                           {"reason", asked.reason}});
  }
  return LossSeen{lost->seq, lost->time_ms};
}

std::optional<Error> record_data_loss(const DurableMark& known, Runtime& runtime) {
  std::string actor;
  const auto loss = known.word(&actor);
  if (!loss) return std::nullopt;
  std::promise<std::optional<Error>> said;
  Input input;
  input.actor = actor;
  input.body = in::CallDenied{std::string(kLossSubject), loss_message(*loss)};
  const bool queued =
      runtime.post(std::move(input), [&said](const Reply& reply) { said.set_value(reply.error); });
  if (queued) return said.get_future().get();
  return Error{ErrorCode::kPrecondition, "store.facts", "",
               "the runtime does not accept the entry about the data loss"};
}

}  // namespace subak
