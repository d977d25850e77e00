# Run as a script: writes a C++ source whose function FUNCTION() returns the bytes of INPUT, as HEADER declares it. Without
# INPUT there are none.
#
#   -DINPUT=file  -DOUTPUT=file.cc  -DHEADER="path/header.h"  -DNAMESPACE=a::b  -DFUNCTION=name
set(hex)
if(INPUT)
  file(READ ${INPUT} hex HEX)
endif()
string(REGEX REPLACE "(................................................................)" "\\1\n" lines "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
file(WRITE ${OUTPUT} "// Made by cmake/DroverEmbed.cmake. Do not edit.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

std::string_view ${FUNCTION}() {
  static constexpr unsigned char kBytes[] = {
${bytes}0};
  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes - 1};
}

}  // namespace ${NAMESPACE}
")
