#include "server/runtime/runtime.h"

namespace subak {
namespace {

class EngineSink final : public FactSink {
 public:
  EngineSink(Engine& engine, const std::function<void(const Fact&)>& saw)
      : engine_(engine), saw_(saw) {}
  void checkpoint_fact(const Fact& fact) override { engine_.evolve(fact); }
  void checkpoint_end(std::uint64_t seq) override { engine_.set_seq(seq); }
  void fact(const Fact& fact) override {
    engine_.evolve(fact);
    if (saw_) saw_(fact);
  }

 private:
  Engine& engine_;
  const std::function<void(const Fact&)>& saw_;
};

}  // namespace

// A database has its own ways to make copies.
Result<std::string> Store::make_copy(const std::function<bool()>&) {
  return Error{ErrorCode::kPrecondition, "backup", describe(),
               "want a store of one file; others are backed up with their database's own tools"};
}

Result<Recovered> recover_engine(StoreReader& reader, Engine& engine,
                                 const std::function<void(const Fact&)>& saw) {
  EngineSink sink(engine, saw);
  return reader.recover(sink);
}

}  // namespace subak
