// What makes subakd_next of subakd: it knows one version of facts more. That version has the kinds and fields of the one
// before; what only it writes is that a store was finalized to it.
#include "model/fact.h"
namespace subak {

std::uint32_t known_fact_version() { return kFactVersion + 1; }

}  // namespace subak
