#include <type_traits>

#include "model/fact.h"
#include "model/input.h"

namespace subak {

namespace fact {

static_assert(std::is_nothrow_move_constructible_v<Kinds>);
Body::Body() = default;
Body::Body(const Body& other) = default;
Body::Body(Body&& other) noexcept = default;
Body& Body::operator=(const Body& other) = default;
Body& Body::operator=(Body&& other) noexcept = default;
Body::~Body() = default;

}  // namespace fact

namespace in {

static_assert(std::is_nothrow_move_constructible_v<Kinds>);
Body::Body() = default;
Body::Body(const Body& other) = default;
Body::Body(Body&& other) noexcept = default;
Body& Body::operator=(const Body& other) = default;
Body& Body::operator=(Body&& other) noexcept = default;
Body::~Body() = default;

}  // namespace in

}  // namespace subak
