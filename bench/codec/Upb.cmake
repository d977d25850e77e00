# drover_upb: upb from a protobuf source tree named by UPB_SRC (the folder that holds upb/ and third_party/utf8_range/),
# with its fast decoder, compiled as Drover itself is. Nothing of it is part of Drover. Without UPB_SRC: no target.
set(UPB_SRC "" CACHE PATH "A protobuf source tree; the codec benchmark then compares with its upb")
if(NOT UPB_SRC)
  return()
endif()
if(NOT EXISTS ${UPB_SRC}/upb/wire/decode_fast)
  message(FATAL_ERROR "UPB_SRC=${UPB_SRC} holds no upb/wire/decode_fast: protobuf 33 or later is needed")
endif()

file(GLOB_RECURSE upb_sources CONFIGURE_DEPENDS ${UPB_SRC}/upb/*.c)
list(FILTER upb_sources EXCLUDE REGEX "/upb/(conformance|io|json|test|util|bazel)/|/stage0/|test|/cmake/google/protobuf/compiler/")
add_library(drover_upb STATIC EXCLUDE_FROM_ALL ${upb_sources} ${UPB_SRC}/third_party/utf8_range/utf8_range.c)
target_include_directories(drover_upb SYSTEM PUBLIC ${UPB_SRC} ${UPB_SRC}/third_party/utf8_range
                                                    ${UPB_SRC}/upb/reflection/cmake)
# The fast decoder or a failure to compile; without the option upb leaves it out.
target_compile_definitions(drover_upb PUBLIC UPB_ENABLE_FASTTABLE)
target_compile_options(drover_upb PRIVATE -w)

# "7035001" -> "35.1"
file(STRINGS ${UPB_SRC}/src/google/protobuf/stubs/common.h upb_version_line REGEX "define GOOGLE_PROTOBUF_VERSION ")
string(REGEX REPLACE ".* ([0-9])0*([1-9][0-9]*)([0-9][0-9][0-9])$" "\\2;\\3" upb_version "${upb_version_line}")
list(GET upb_version 0 upb_minor)
list(GET upb_version 1 upb_patch)
math(EXPR upb_patch "${upb_patch}" OUTPUT_FORMAT DECIMAL)
