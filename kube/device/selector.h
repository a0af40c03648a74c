// Evaluates the selectors of DeviceClasses and ResourceClaims, which are CEL expressions about one
// device. claim.h finds with them the devices that a pod may get. Subak understands the part of CEL
// that drivers document for selectors:
//   device.driver, device.attributes["DOMAIN"].NAME, device.capacity["DOMAIN"].NAME
//   "NAME" in device.attributes["DOMAIN"], has(device.attributes["DOMAIN"].NAME)
//   texts, integers, true, false, lists, quantity("40Gi")
//   ==  !=  <  <=  >  >=  in  &&  ||  !  and parentheses
//   TEXT.startsWith(T), .endsWith(T), .contains(T), .lowerAscii(), .upperAscii()
//   QUANTITY.compareTo(Q), .isGreaterThan(Q), .isLessThan(Q)
// Sources: the CEL specification; Kubernetes documentation of Dynamic Resource Allocation; k8s.io/
// dynamic-resource-allocation/cel.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/device/device.h"

namespace subak {

// Whether a selector selects a device.
enum class Selects : std::uint8_t {
  kNo,
  kYes,
  // The device's uuid decides, and the caller gave none.
  kByUuid,
  // The selector has a part that Subak does not understand, and this part decides.
  kUnknown,
};

// Evaluates `selector` for a device of this kind. `uuid`: the device's uuid; nullptr: any device of
// the kind. As in Kubernetes, a selector that reads an absent attribute selects nothing, unless the
// other side of `&&` or `||` decides. Attributes that identifies_device() names are not in a kind:
// a selector that reads one of them, except the uuid, is kUnknown. The cost is linear in the length
// of the selector, which is at most limits::kMaxSelectorBytes.
Selects evaluate_selector(std::string_view selector, const DeviceKind& kind,
                          const std::string* uuid = nullptr);

}  // namespace subak
