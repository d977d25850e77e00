# drover_service_files(NAME name OUTPUT variable PROTOS file...): a C++ source, whose path `variable` gets, with the
# descriptors of .proto files of the calling folder's proto/ that the engine serves itself. NAME_files() returns them, as
# NAME_files.h beside the CMakeLists.txt declares; without protoc there are none.
find_program(DROVER_PROTOC protoc)
function(drover_service_files)
  cmake_parse_arguments(ARG "" "NAME;OUTPUT" "PROTOS" ${ARGN})
  set(directory ${CMAKE_CURRENT_SOURCE_DIR}/proto)
  set(set)
  set(input)
  if(DROVER_PROTOC)
    set(set ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.fds)
    set(input -DINPUT=${set})
    list(TRANSFORM ARG_PROTOS PREPEND ${directory}/ OUTPUT_VARIABLE files)
    add_custom_command(
      OUTPUT ${set}
      COMMAND ${DROVER_PROTOC} -I${directory} --include_imports --descriptor_set_out=${set} ${ARG_PROTOS}
      DEPENDS ${files}
      COMMENT "Descriptors of the ${ARG_NAME} service" VERBATIM)
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_files.cc)
  set(embed ${Drover_SOURCE_DIR}/cmake/DroverEmbed.cmake)
  file(RELATIVE_PATH header ${Drover_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_NAME}_files.h)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} ${input} -DOUTPUT=${source} -DHEADER=${header} -DNAMESPACE=drover::engine
            -DFUNCTION=${ARG_NAME}_files -P ${embed}
    DEPENDS ${set} ${embed}
    VERBATIM)
  set(${ARG_OUTPUT} ${source} PARENT_SCOPE)
endfunction()
