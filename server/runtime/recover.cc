#include "server/runtime/runtime.h"

namespace subak {
namespace {

class EngineSink final : public FactSink {
 public:
  explicit EngineSink(Engine& engine) : engine_(engine) {}
  void checkpoint_fact(const Fact& fact) override { engine_.evolve(fact); }
  void checkpoint_end(std::uint64_t seq) override { engine_.set_seq(seq); }
  void fact(const Fact& fact) override { engine_.evolve(fact); }

 private:
  Engine& engine_;
};

}  // namespace

// A store that is no file has a database behind it with ways of its own.
Result<std::string> Store::make_copy(const std::function<bool()>&) {
  return Error{ErrorCode::kPrecondition, "backup", describe(),
               "want a store of one file; others are backed up with their database's own tools"};
}

Result<Recovered> recover_engine(StoreReader& reader, Engine& engine) {
  EngineSink sink(engine);
  return reader.recover(sink);
}

}  // namespace subak
