# drover_simdutf: simdutf, where it is installed (Debian from 13 on: libsimdutf-dev) or found under a folder of
# CMAKE_PREFIX_PATH; the peer of UTF-8 validation. Absent otherwise.
find_path(SIMDUTF_INCLUDE_DIR simdutf.h)
find_library(SIMDUTF_LIBRARY simdutf)
if(SIMDUTF_INCLUDE_DIR AND SIMDUTF_LIBRARY)
  add_library(drover_simdutf INTERFACE)
  target_include_directories(drover_simdutf SYSTEM INTERFACE ${SIMDUTF_INCLUDE_DIR})
  target_link_libraries(drover_simdutf INTERFACE ${SIMDUTF_LIBRARY})
  target_compile_definitions(drover_simdutf INTERFACE DROVER_HAS_SIMDUTF)
endif()
