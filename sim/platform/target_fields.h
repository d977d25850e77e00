// Which fields' payloads lie in the engine's own memory (the schema's target bit), by the rule of run.target.
//
//   none              no field
//   >=BYTES           string and bytes fields whose values average at least BYTES in the workload, such as a service's
//                     large fields that stay on the card
//   NAME,NAME...      these, by their full names ("hyperproto_like.like1.M3.field7")
//
// Only string and bytes fields outside of maps: the deserializer and the serializer move no other payload to and from
// the engine's memory.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "message/raw.h"
#include "message/reflection.h"
#include "object/string.h"
#include "workload/workload.h"

namespace drover::sim {

class TargetFields {
 public:
  bool empty() const { return fields_.empty(); }
  void add(const schema::FieldEntry& field) { fields_.insert(&field); }
  bool hold(const schema::FieldEntry& field) const { return fields_.contains(&field); }
  // A copy of the image in which their target flag is set.
  std::vector<uint64_t> flagged(const schema::Image& image) const;

 private:
  std::set<const schema::FieldEntry*> fields_;  // of the workload's images
};

struct TargetFieldsResult {
  TargetFields fields;
  std::string error;
};
TargetFieldsResult target_fields(const std::string& rule, const workload::Workload& workload);

// Calls f(field, string) for each string and bytes value of the object and of all below it, maps' apart.
template <typename F>
void for_each_string(const schema::MessageType& type, Message* object, const F& f) {
  reflection::ConstObject view(type, object);
  char* bytes = object->drover_bytes();
  for (const schema::FieldEntry& field : view.fields()) {
    if (field.label == schema::kLabelMap) continue;
    bool repeated = field.label == schema::kLabelRepeated;
    int count = repeated ? view.size(field) : view.has(field) ? 1 : 0;
    for (int i = 0; i < count; ++i) {
      if (schema::is_message_kind(field.kind)) {
        reflection::ConstObject sub = repeated ? view.sub(field, i) : view.sub(field);
        for_each_string(sub.type(), const_cast<Message*>(sub.message()), f);
      } else if (schema::is_string_kind(field.kind)) {
        char* at = repeated ? raw::words(bytes, field.offset)->begin() + size_t{16} * static_cast<size_t>(i)
                            : bytes + field.offset;
        f(field, *reinterpret_cast<String*>(at));
      }
    }
  }
}

}  // namespace drover::sim
