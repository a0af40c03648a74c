// Names the user who made an object, for the annotation subak.gpu/created-by (docs/design/0121).
// Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>

namespace subak {

// Returns a user name as Subak writes it: other characters than A-Z a-z 0-9 . _ - @ become "-". A
// name longer than kMaxNameBytes is cut, and a hash at its end makes it unique again. Empty for
// names that begin with "system:", as those of service accounts.
std::string person_name(std::string_view username);

// Returns the value of the annotation for a caller with this user name: the name itself. A name of
// more than limits::kMaxTextBytes is cut as by person_name().
std::string stamp_of(std::string_view username);

// True if the user name may belong to a controller that creates objects for users: it begins with
// "system:". A service account of the object's own namespace is no such controller, because users
// of the namespace may have its token.
bool may_be_controller(std::string_view username, std::string_view ns);

}  // namespace subak
