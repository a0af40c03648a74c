#include "model/fact.h"

namespace subak {

std::uint32_t known_fact_version() { return kFactVersion; }

}  // namespace subak
