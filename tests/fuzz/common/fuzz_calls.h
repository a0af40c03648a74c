// Converts a message of the API to the input that the service would post, for api_fuzz.
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
// By its name without the package; null: there is none.
std::unique_ptr<google::protobuf::Message> new_message(std::string_view name);

// Nothing if `check` failed, or if the service would have refused for what the state says.
std::optional<Call> read_call(api::Check& check, const google::protobuf::Message& message,
                              const Engine& engine);

}  // namespace subak::fuzz
