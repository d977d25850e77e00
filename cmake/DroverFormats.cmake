# The formats that cross a boundary, from their definition files (tools/formats): written at build time into
# DROVER_FORMATS_DIR, and included by their path in the tree:
#
#   schema/image.toml  ->  schema/image_format.h, schema/image_format_c.h, sv/drover_image_pkg.sv,
#                          python/drover_image_format.py (for tests that play a peer: tests/hostile)
#
# Target drover_formats writes them; drover_options puts the headers on every target's include path.
# DROVER_FORMAT_HEADERS and DROVER_FORMAT_PACKAGES list the files, in the order of their imports.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set(DROVER_FORMATS_DIR ${PROJECT_BINARY_DIR}/formats)
set(DROVER_FORMAT_DEFINITIONS
    object/object.toml object/region.toml schema/image.toml codec/errors.toml codec/preserialize/preserialized.toml
    rtl/deserializer/deserializer.toml rtl/serializer/serializer.toml channel/channel.toml channel/control.toml datagram/frame.toml datagram/link.toml
    rtl/nic/nic.toml rtl/nic/connection.toml)

set(DROVER_FORMAT_HEADERS)
set(DROVER_FORMAT_PACKAGES)
set(DROVER_FORMAT_MODULES)
foreach(definition IN LISTS DROVER_FORMAT_DEFINITIONS)
  string(REGEX REPLACE "\\.toml$" "" base ${definition})
  get_filename_component(stem ${base} NAME)
  list(APPEND DROVER_FORMAT_HEADERS ${DROVER_FORMATS_DIR}/${base}_format.h ${DROVER_FORMATS_DIR}/${base}_format_c.h)
  list(APPEND DROVER_FORMAT_PACKAGES ${DROVER_FORMATS_DIR}/sv/drover_${stem}_pkg.sv)
  list(APPEND DROVER_FORMAT_MODULES ${DROVER_FORMATS_DIR}/python/drover_${stem}_format.py)
endforeach()

list(TRANSFORM DROVER_FORMAT_DEFINITIONS PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE definitions)
set(generator c_header cpp_header definition doc_tables generate python_module sv_package)
list(TRANSFORM generator REPLACE "(.+)" ${PROJECT_SOURCE_DIR}/tools/formats/\\1.py)
add_custom_command(
  OUTPUT ${DROVER_FORMAT_HEADERS} ${DROVER_FORMAT_PACKAGES} ${DROVER_FORMAT_MODULES}
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/formats/generate.py --out ${DROVER_FORMATS_DIR}
          ${DROVER_FORMAT_DEFINITIONS}
  DEPENDS ${definitions} ${generator} COMMENT "Formats" VERBATIM)
add_custom_target(drover_formats DEPENDS ${DROVER_FORMAT_HEADERS} ${DROVER_FORMAT_PACKAGES} ${DROVER_FORMAT_MODULES})
