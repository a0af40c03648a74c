// A program without a console of files.
#include "server/http/assets.h"

namespace subak {

std::span<const Asset> console_assets() { return {}; }

}  // namespace subak
