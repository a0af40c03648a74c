// Converts a request of the API to the engine's input as the service does, for api_fuzz.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/convert/convert.h"

namespace subak::fuzz {

struct Call {
  in::Body body;
  std::string request_id;
};

inline constexpr std::size_t kMessages = 18;
std::unique_ptr<google::protobuf::Message> new_message(std::size_t number);
// Makes a message by its name without the package; nullptr: there is no such message.
std::unique_ptr<google::protobuf::Message> new_message(std::string_view name);

// Returns nullopt if `check` has an error, or if the state makes the service refuse the call.
std::optional<Call> read_call(api::Check& check, const google::protobuf::Message& message,
                              const Engine& engine);

}  // namespace subak::fuzz
