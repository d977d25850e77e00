/* What the C side of the formats test does by the generated C headers; formats_test.cc compares it with C++. */
#ifndef DROVER_TESTS_FORMATS_C_SIDE_H
#define DROVER_TESTS_FORMATS_C_SIDE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* Words with a different value in each member. */
void drover_test_side_word(uint64_t* words);
void drover_test_completion_record(uint64_t* words);
void drover_test_command(uint64_t* words);
uint64_t drover_test_completion(void);
/* A member of each width, back. */
uint64_t drover_test_record_position(const uint64_t* words);
uint64_t drover_test_record_root(const uint64_t* words);
/* Structs, into 64 zeroed bytes. */
void drover_test_field_entry(unsigned char* bytes);
void drover_test_call_slot(unsigned char* bytes);
const char* drover_test_decode_error(unsigned value);
const char* drover_test_software_reason(unsigned value);
const char* drover_test_control_code(unsigned value);
#ifdef __cplusplus
}
#endif
#endif
