// Converts the wishes of a gang (pods that start together), such as a topology, to fields of API
// messages and back. The field of a wish has the name of the wish, so these functions loop over
// kWishes (model/gang_terms.h). Threads: any; pure functions.
#pragma once

#include "model/gang_terms.h"
#include "server/api/convert/check.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/request.pb.h"

namespace subak::api {

// Write all wishes.
void put(const GangTerms& terms, v1::GangRequest* out);
void put(const GangTerms& terms, v1::PodRecord* out);
// Read the wishes strictly: a number beyond its bound is a mistake, and so is an unknown topology.
GangTerms get_terms(Check& check, const v1::GangRequest& in);
GangTerms get_terms(Check& check, const v1::PodRecord& in);
// Reads the wishes in an answer, to show them to people. A value that this program does not know
// counts as unset.
GangTerms known_terms(const v1::GangRequest& in);

}  // namespace subak::api
