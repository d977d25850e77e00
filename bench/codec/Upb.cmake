# drover_upb: upb from a protobuf source tree named by UPB_SRC (the folder that holds upb/ and third_party/utf8_range/),
# with its fast decoder, compiled as Drover itself is. No part of it becomes part of Drover. Without UPB_SRC: no target.
set(UPB_SRC "" CACHE PATH "A protobuf source tree; the codec benchmark then compares with its upb")
if(NOT UPB_SRC)
  return()
endif()
if(NOT EXISTS ${UPB_SRC}/upb/wire/decode_fast/select.c)
  message(FATAL_ERROR "UPB_SRC=${UPB_SRC}: no upb there that makes its fast tables at run time (upb/wire/decode_fast)")
endif()
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR CMAKE_C_COMPILER_VERSION VERSION_LESS 19)
  message(WARNING "UPB_SRC is ignored: upb's fast decoder needs clang 19 or later")
  return()
endif()

file(GLOB_RECURSE upb_sources CONFIGURE_DEPENDS ${UPB_SRC}/upb/*.c)
list(FILTER upb_sources EXCLUDE REGEX "${UPB_SRC}/upb/(conformance|io|json|test|util|bazel)/|/stage0/|test\\.c$")
add_library(drover_upb STATIC EXCLUDE_FROM_ALL ${upb_sources} ${UPB_SRC}/third_party/utf8_range/utf8_range.c)
target_include_directories(drover_upb SYSTEM PUBLIC ${UPB_SRC} ${UPB_SRC}/third_party/utf8_range
                                                    ${UPB_SRC}/upb/reflection/cmake)
# The fast decoder or a failure to compile; without the definition upb leaves it out.
target_compile_definitions(drover_upb PUBLIC UPB_ENABLE_FASTTABLE)
target_compile_options(drover_upb PRIVATE -w)

# "7035001" is release 35.1
set(upb_version unknown)
if(EXISTS ${UPB_SRC}/src/google/protobuf/stubs/common.h)
  file(STRINGS ${UPB_SRC}/src/google/protobuf/stubs/common.h line REGEX "define GOOGLE_PROTOBUF_VERSION [0-9]+")
  if(line MATCHES "[0-9]0*([1-9][0-9]*)00([0-9])$")
    set(upb_version ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
  endif()
endif()
# An older fast decoder has tables without sub-messages.
file(STRINGS ${UPB_SRC}/upb/wire/decode_fast/combinations.h line REGEX "type == kUpb_DecodeFast_Message")
if(NOT line)
  string(APPEND upb_version " (no sub-messages in its fast tables)")
endif()
