// Operations on any object, driven by its schema: clear, merge, compare, move, copy into one run of memory, print. All
// objects here are trusted: built by this process, or received from an engine.
//
// `to` allocates from its own arena (object/owner.h); running out of memory ends the process, as it does in the
// accessors. Objects nested deeper than kMaxDepth make a function give up and return false (or null, or "").
// Thread-safety: as a std::string's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "message/clear.h"
#include "message/message.h"
#include "message/text_options.h"
#include "object/arena.h"
#include "object/pause.h"
#include "schema/message_type.h"

namespace drover::message {

// Back to the empty message. Memory goes back to the object's arena for reuse.
void clear(const schema::MessageType& type, Message* object);

// Unsets one field of the object, of any label; of a oneof only the member that is set.
void clear_field(const schema::MessageType& type, Message* object, const schema::FieldEntry& field);

// Merges as protobuf does: fields set in `from` are set in `to`, repeated elements and map entries are added,
// sub-messages merge. Strings that `to`'s arena may borrow (Arena::set_borrowable) are referred to instead of copied.
bool merge(const schema::MessageType& type, Message* to, const Message& from);

// Swaps the memory of two objects of one type if they may exchange owner words: both in the same arena, or both with
// their own arena (or none yet). False: not swapped.
bool swap_in_place(const schema::MessageType& type, Message* a, Message* b);

// Same fields set, same values (floats by their bits), same map content in any order, same unknown bytes.
bool equal(const schema::MessageType& type, const Message& a, const Message& b);

// All required fields are set, here and in sub-messages. False also if `pause` ended it.
bool is_initialized(const schema::MessageType& type, const Message& object, const Pause& pause = {});
// Paths of the missing ones: "a.b", "c[2].d".
void find_missing(const schema::MessageType& type, const Message& object, std::vector<std::string>* paths);

// Removes unknown fields. Known extensions (message/extensions.h) stay.
void discard_unknown(const schema::MessageType& type, Message* object);

// ---- one contiguous copy, for sending
// The bytes that deep_copy_into takes if nothing is borrowed.
size_t linearized_size(const schema::MessageType& type, const Message& object);
// Copies the object and all below it into one allocation; its sub-objects lie behind it. Null: out of memory, or
// too deep. Strings that the arena may borrow are referred to.
Message* deep_copy_into(const schema::MessageType& type, const Message& object, Arena* arena);

// ---- text format
// Appends the object's text. With one_line, each field ends with a blank, also the last.
void print_text(const schema::MessageType& type, const Message& object, const TextOptions& options, std::string* out);
// The object's text; with one_line, without a blank at the end.
std::string debug_text(const schema::MessageType& type, const Message& object, const TextOptions& options);

}  // namespace drover::message
