# `cmake --install BUILD --prefix P`:
#
#   bin/                        droverd, drover, protoc-gen-drover
#   include/drover/             headers, by the paths they are included with
#   include/drover/proto/       drover/options.proto (docs/lines.md)
#   lib/                        static libraries
#   lib/cmake/drover/           find_package(drover): the targets drover::..., and drover_generate()
#   lib/systemd/system/         droverd@.service (docs/deploy.md)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/drover)

set(header_rooms object schema message codec streams text generated json util channel host)
set(libraries drover_headers drover_protobuf_names)
foreach(name IN LISTS header_rooms ITEMS wkt lines lines_engine)
  if(TARGET drover_${name})
    list(APPEND libraries drover_${name})
  endif()
endforeach()
set_target_properties(drover_headers PROPERTIES EXPORT_NAME headers)
set_target_properties(drover_protobuf_names PROPERTIES EXPORT_NAME protobuf_names)
set_target_properties(drover_wkt PROPERTIES EXPORT_NAME wkt)
set_target_properties(drover_lines PROPERTIES EXPORT_NAME lines)
set_target_properties(protoc-gen-drover PROPERTIES EXPORT_NAME protoc-gen-drover)
target_include_directories(drover_protobuf_names INTERFACE $<INSTALL_INTERFACE:include/drover/generated/include>)
target_include_directories(drover_util PUBLIC $<INSTALL_INTERFACE:include/drover/util/include>)
target_include_directories(drover_host PUBLIC $<INSTALL_INTERFACE:include/drover/host/include>)
target_include_directories(drover_wkt PUBLIC $<INSTALL_INTERFACE:include/drover/wkt>)

install(TARGETS ${libraries} protoc-gen-drover EXPORT drover_targets COMPONENT development)
install(EXPORT drover_targets FILE droverTargets.cmake NAMESPACE drover:: DESTINATION ${package_dir}
        COMPONENT development)
# Schemas at run time need protobuf C++: a part of the package for projects that have it.
install(TARGETS drover_schema_builder EXPORT drover_schema_builder_targets COMPONENT development)
install(EXPORT drover_schema_builder_targets FILE droverSchemaBuilderTargets.cmake NAMESPACE drover::
        DESTINATION ${package_dir} COMPONENT development)
foreach(program droverd drover)
  if(TARGET ${program})
    install(TARGETS ${program} COMPONENT runtime)
  endif()
endforeach()

install(DIRECTORY ${header_rooms} DESTINATION include/drover COMPONENT development FILES_MATCHING PATTERN "*.h"
        PATTERN "*_testing.h" EXCLUDE PATTERN "testdata" EXCLUDE PATTERN "guide" EXCLUDE PATTERN "std" EXCLUDE)
install(DIRECTORY compiler/proto/ DESTINATION include/drover/proto COMPONENT development
        FILES_MATCHING PATTERN "*.proto")
install(DIRECTORY ${DROVER_FORMATS_DIR}/ DESTINATION include/drover COMPONENT development
        FILES_MATCHING PATTERN "*_format*.h"
        PATTERN "sv" EXCLUDE PATTERN "rtl" EXCLUDE)
install(DIRECTORY $<TARGET_PROPERTY:drover_wkt,BINARY_DIR>/drover_wkt.gen/ DESTINATION include/drover/wkt
        COMPONENT development FILES_MATCHING PATTERN "*.pb.h")

set(DROVER_INSTALLED_PROTO_DIR include/drover/proto)
configure_package_config_file(cmake/droverConfig.cmake.in droverConfig.cmake INSTALL_DESTINATION ${package_dir}
                              PATH_VARS DROVER_INSTALLED_PROTO_DIR)
write_basic_package_version_file(droverConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/droverConfig.cmake ${PROJECT_BINARY_DIR}/droverConfigVersion.cmake
              cmake/DroverGenerate.cmake DESTINATION ${package_dir} COMPONENT development)

# The unit names the engine by its full path, which is known when it is installed.
install(CODE "set(bin_dir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
configure_file(\"${PROJECT_SOURCE_DIR}/engine/droverd@.service.in\" \"${PROJECT_BINARY_DIR}/droverd@.service\" @ONLY)"
        COMPONENT runtime)
install(FILES ${PROJECT_BINARY_DIR}/droverd@.service DESTINATION lib/systemd/system COMPONENT runtime)
