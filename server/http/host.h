// Whose name a request came under. Private to server/http.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace subak {

// `host` as the header has it, with or without a port. An address cannot be made to point
// elsewhere, so any is ours; `names` are compared without regard to case or a dot at the end.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

}  // namespace subak
