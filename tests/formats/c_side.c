/* Every generated C header, compiled as C: their static assertions hold here. */
#include "c_side.h"

#include <string.h>

#include "channel/channel_format_c.h"
#include "channel/control_format_c.h"
#include "codec/errors_format_c.h"
#include "codec/preserialize/preserialized_format_c.h"
#include "object/object_format_c.h"
#include "object/region_format_c.h"
#include "rtl/deserializer/deserializer_format_c.h"
#include "rtl/serializer/serializer_format_c.h"
#include "schema/image_format_c.h"

void drover_test_side_word(uint64_t* words) {
  words[0] = words[1] = ~(uint64_t)0; /* the setters leave no old bit */
  drover_deserializer_side_word_set_number(words, 0x1234567);
  drover_deserializer_side_word_set_element_op(words, DROVER_DESERIALIZER_ELEMENT_OP_UTF8);
  drover_deserializer_side_word_set_repeated(words, 1);
  drover_deserializer_side_word_set_is_map(words, 0);
  drover_deserializer_side_word_set_target(words, 1);
  drover_deserializer_side_word_set_oneof(words, 0);
  drover_deserializer_side_word_set_has_bit(words, DROVER_DESERIALIZER_HAS_BIT_NONE);
  drover_deserializer_side_word_set_offset(words, 0xabc);
  drover_deserializer_side_word_set_case_offset(words, 0x9d1);
  drover_deserializer_side_word_set_sub(words, 0x5a5a5a5a5a5a5a);
  words[1] &= ~(uint64_t)0 >> 5; /* bits that no member has */
}

void drover_test_completion_record(uint64_t* words) {
  memset(words, 0, 8 * DROVER_DESERIALIZER_COMPLETION_RECORD_WORDS);
  drover_deserializer_completion_record_set_kind(words, DROVER_DESERIALIZER_RECORD_KIND_SOFTWARE);
  drover_deserializer_completion_record_set_lane(words, 3);
  drover_deserializer_completion_record_set_code(words, DROVER_DESERIALIZER_SOFTWARE_REASON_NO_RUN);
  drover_deserializer_completion_record_set_cookie(words, 0xdeadbeef);
  drover_deserializer_completion_record_set_root(words, 0x8123456789);
  drover_deserializer_completion_record_set_position(words, 0x87654321);
  drover_deserializer_completion_record_set_chunk(words, 0xabcdef1);
  drover_deserializer_completion_record_set_run(words, 0x1fedcba);
  drover_deserializer_completion_record_set_run_chunks(words, 0x801);
  drover_deserializer_completion_record_set_engine_run(words, 0x7654321);
  drover_deserializer_completion_record_set_engine_chunks(words, 0x0ff);
}

uint64_t drover_test_record_position(const uint64_t* words) {
  return drover_deserializer_completion_record_get_position(words);
}
uint64_t drover_test_record_root(const uint64_t* words) {
  return drover_deserializer_completion_record_get_root(words);
}

void drover_test_command(uint64_t* words) {
  memset(words, 0, 8 * DROVER_SERIALIZER_COMMAND_WORDS);
  drover_serializer_command_set_records(words, 0x1122334455667788);
  drover_serializer_command_set_payload(words, 0x99aabbccddeeff00);
  drover_serializer_command_set_record_bytes(words, 0x01020304);
  drover_serializer_command_set_payload_bytes(words, 0xf0e0d0c0);
  drover_serializer_command_set_cookie(words, 0xbeef);
  drover_serializer_command_set_message(words, 0x8001);
  drover_serializer_command_set_walk(words, 1);
  drover_serializer_command_set_pushed(words, 0);
  drover_serializer_command_set_header_size(words, 64);
  drover_serializer_command_set_length_format(words, DROVER_SERIALIZER_LENGTH_FORMAT_BIG_ENDIAN);
  drover_serializer_command_set_length_at(words, 60);
}

uint64_t drover_test_completion(void) {
  uint64_t word = 0;
  drover_serializer_completion_set_size(&word, 0x80000001);
  drover_serializer_completion_set_error(&word, DROVER_SERIALIZER_ERROR_BUS);
  drover_serializer_completion_set_cookie(&word, 0xcafe);
  return word;
}

void drover_test_field_entry(unsigned char* bytes) {
  struct drover_image_field_entry entry = {0};
  entry.number = 7;
  entry.kind = DROVER_IMAGE_KIND_MESSAGE;
  entry.label = DROVER_IMAGE_LABEL_REPEATED;
  entry.flags = DROVER_IMAGE_FIELD_FLAG_TARGET | DROVER_IMAGE_FIELD_FLAG_EXPLICIT_PRESENCE;
  entry.has_bit = DROVER_IMAGE_NO_HAS_BIT;
  entry.sub = 12;
  entry.default_value = 0x01020304;
  memcpy(bytes, &entry, sizeof entry);
}

void drover_test_call_slot(unsigned char* bytes) {
  struct drover_channel_call_slot slot = {0};
  slot.type = DROVER_CHANNEL_REQUEST_SLOT_TYPE_CALL;
  slot.method = 513;
  slot.generation = 9;
  slot.deadline_ns = DROVER_CHANNEL_NO_DEADLINE;
  slot.rx_chunks = 77;
  memcpy(bytes, &slot, sizeof slot);
}

const char* drover_test_decode_error(unsigned value) { return drover_errors_decode_error_name(value); }
const char* drover_test_software_reason(unsigned value) { return drover_deserializer_software_reason_name(value); }
const char* drover_test_control_code(unsigned value) { return drover_control_control_code_name(value); }
