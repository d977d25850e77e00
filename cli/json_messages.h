// One message between its JSON and its wire bytes, by a schema image. Errors are sentences; an empty
// string means success.
#pragma once

#include <string>
#include <string_view>

#include "json/json.h"
#include "schema/message_type.h"

namespace drover::cli {

// `what` names the message in errors: "the request".
std::string json_to_wire(const schema::MessageType& type, const char* what, std::string_view json, std::string* wire);
std::string wire_to_json(const schema::MessageType& type, const char* what, std::string_view wire,
                         const json::PrintOptions& options, std::string* json);

}  // namespace drover::cli
