# `make package`: two Debian packages from the install rules of cmake/DroverInstall.cmake.
#
#   drover        droverd, the drover command, the systemd unit
#   drover-dev    protoc-gen-drover, headers, libraries, find_package(drover)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME drover)
set(CPACK_PACKAGE_CONTACT "The Drover developers <drover@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "RPC offload: gRPC out of the application, into an engine of its own")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/packages)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
# The unit's file and find_package() have the paths that they have when they are installed.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME drover)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "Drover's engine, its systemd unit and the drover command
 droverd serves gRPC for the services of this machine and hands them objects in shared memory.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME drover-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "drover (= ${PROJECT_VERSION}), cmake (>= 3.25), protobuf-compiler")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "Drover for services: compiler plugin, headers, static libraries
 A gRPC C++ service builds with them unchanged: find_package(drover), then drover_generate().")
include(CPack)
