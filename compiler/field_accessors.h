// The accessors of one field, as protobuf C++ spells them, on top of the object's storage.
#pragma once

#include "compiler/class_text.h"
#include "compiler/names.h"
#include "schema/model.h"

namespace drover::compiler {

// The type that an accessor takes and returns by value, and of a Map's key and value.
std::string value_type(const FieldDescriptor* field, const Options& options);
// The C++ type of the member that stores the field ("::drover::String"); for a oneof member, of its use of the slot.
std::string storage_type(const FieldDescriptor* field, const Options& options);
// "<Key, Value>" of a map field.
std::string map_arguments(const FieldDescriptor* field, const Options& options);
// The member's name inside the generated class's `drover_` struct.
std::string storage_member(const FieldDescriptor* field);
std::string oneof_slot(const OneofDescriptor* oneof);

// Adds all accessors of `field`; `model` is the same field in the laid-out schema.
void add_accessors(const FieldDescriptor* field, const schema::FieldModel& model, const Options& options,
                   ClassText* text);
// Adds the case enum, x_case() and clear_x() of a real oneof.
void add_oneof(const OneofDescriptor* oneof, ClassText* text);

}  // namespace drover::compiler
