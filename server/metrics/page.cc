#include "server/metrics/page.h"

namespace subak::metrics {

void write_shell(Exposition& out, const ShellState& state, const Events& events) {
  write_state(out, state);
  write_events(out, events);
}

void write_engine(Exposition& out, const Engine& engine, TimeMs now, bool users) {
  write_accounts(out, engine, now, users);
  write_fleet(out, engine, now);
}

}  // namespace subak::metrics
