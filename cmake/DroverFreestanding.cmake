# The codec's core for cores without an operating system (docs/freestanding.md): cross-compiled by clang-19, whatever
# compiler builds the rest, with the C++ headers of codec/freestanding/std and no library at all.
#
#   drover_freestanding_library(ARCH)                     libdrover_codec_freestanding.a for riscv32 or aarch64: target
#                                                         drover_codec_freestanding_ARCH, file in the variable
#                                                         DROVER_FREESTANDING_LIBRARY_ARCH
#   drover_freestanding_program(NAME ARCH SOURCES ...)    a static program on it; target NAME, file in NAME_FILE
#
# DROVER_FREESTANDING says whether the tools are there. The flags below are what a handler's own build needs too.
find_program(DROVER_CROSS_CXX clang++-19)
find_program(DROVER_CROSS_AR llvm-ar-19)
find_program(DROVER_CROSS_LD ld.lld-19)
if(DROVER_CROSS_CXX AND DROVER_CROSS_AR AND DROVER_CROSS_LD)
  set(DROVER_FREESTANDING TRUE)
else()
  set(DROVER_FREESTANDING FALSE)
  message(STATUS "no clang++-19, llvm-ar-19 or ld.lld-19: the freestanding codec is not built")
endif()

set(DROVER_FREESTANDING_FLAGS
    -std=c++20 -O2 -ffreestanding -nostdinc++ -fno-exceptions -fno-rtti -fno-strict-aliasing -fno-stack-protector
    -fomit-frame-pointer -ffunction-sections -fdata-sections -Wall -Wextra -Wshadow -Wno-invalid-offsetof -Werror)
# CV32E40P, as PsPIN's RI5CY, loads and stores words that are not aligned in hardware. For a core that does not, set
# DROVER_RISCV32_FLAGS to -mstrict-align.
set(DROVER_RISCV32_FLAGS "-mno-strict-align" CACHE STRING "Further flags for the riscv32 core")
set(DROVER_FREESTANDING_TARGET_riscv32
    --target=riscv32-unknown-elf -march=rv32imc -mabi=ilp32 -mno-relax ${DROVER_RISCV32_FLAGS})
set(DROVER_FREESTANDING_TARGET_aarch64 --target=aarch64-linux-gnu -fno-pic -mno-outline-atomics)

# Compiles sources (paths from the repo root) for `arch`; the objects' paths go to ${out}.
function(drover_freestanding_objects out arch)
  set(dir ${PROJECT_BINARY_DIR}/freestanding/${arch})
  set(objects)
  foreach(source IN LISTS ARGN)
    set(object ${dir}/${source}.o)
    get_filename_component(object_dir ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${object_dir})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${DROVER_CROSS_CXX} ${DROVER_FREESTANDING_FLAGS} ${DROVER_FREESTANDING_TARGET_${arch}}
              -isystem ${PROJECT_SOURCE_DIR}/codec/freestanding/std -I${PROJECT_SOURCE_DIR}
              -I${DROVER_FORMATS_DIR} -MD -MF ${object}.d
              -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/${source} drover_formats DEPFILE ${object}.d COMMENT "${arch} ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

function(drover_freestanding_library arch)
  drover_freestanding_objects(
    objects ${arch} codec/freestanding/codec.cc codec/freestanding/map_seed.cc
    codec/freestanding/shifts.cc codec/input.cc
    codec/utf8.cc message/clear.cc object/arena.cc object/map.cc object/repeated.cc schema/image.cc)
  set(library ${PROJECT_BINARY_DIR}/freestanding/${arch}/libdrover_codec_freestanding.a)
  add_custom_command(
    OUTPUT ${library}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${library}
    COMMAND ${DROVER_CROSS_AR} rcs ${library} ${objects}
    DEPENDS ${objects} COMMENT "${arch} libdrover_codec_freestanding.a" VERBATIM)
  add_custom_target(drover_codec_freestanding_${arch} ALL DEPENDS ${library})
  set(DROVER_FREESTANDING_LIBRARY_${arch} ${library} CACHE INTERNAL "")
endfunction()

# Linked with nothing but the library: what it needs beyond memcpy, memmove and memset is an error here.
function(drover_freestanding_program name arch)
  drover_freestanding_objects(objects ${arch} ${ARGN})
  set(program ${PROJECT_BINARY_DIR}/freestanding/${arch}/${name})
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${DROVER_CROSS_LD} -static --gc-sections -e _start -o ${program} ${objects}
            ${DROVER_FREESTANDING_LIBRARY_${arch}}
    DEPENDS ${objects} ${DROVER_FREESTANDING_LIBRARY_${arch}} COMMENT "${arch} ${name}" VERBATIM)
  add_custom_target(${name}_${arch} ALL DEPENDS ${program})
  set(${name}_${arch}_FILE ${program} PARENT_SCOPE)
endfunction()
