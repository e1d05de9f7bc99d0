# What `cmake --install` puts where: the program, the library and its headers, the runtime, the
# standard library, and what lets other builds find them (find_package(mxc), pkg-config mxc).
#
#   bin/mxc   bin/mxc-im2rec   lib/libmxc.so   lib/libmxrt.so   lib/libmxrt_core.a   lib/libmxrun.a
#   lib/python/mx   include/mxc   include/mxrt   share/mx/stdlib   lib/cmake/mxc   lib/pkgconfig/mxc.pc
#
# `lib` on every system: the library finds share/mx/stdlib beside its own folder.
#
# lib/mx has the plugins (libmxrt_grpc.so, if gRPC was there), and links to the two libraries of LLVM, unless the system's linker finds those by itself:
# Debian's libMLIR is in no folder that it searches. The installed files name no folder but this one,
# relative to themselves: LLVM may move, and the link with it.

set(CMAKE_INSTALL_LIBDIR lib)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All or nothing: after a build of some targets alone nothing is installed, rather than half of it.
set(installed mxc mxc-im2rec mxrun libmxc mxrt mxrt_core)
if(TARGET mx_python)
  list(APPEND installed mx_python)
endif()
if(TARGET mxrt_grpc)
  list(APPEND installed mxrt_grpc)
  install(TARGETS mxrt_grpc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/mx)
endif()
set(check "")
foreach(target IN LISTS installed)
  string(APPEND check "
    if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
      list(APPEND missing \"$<TARGET_FILE_NAME:${target}>\")
    endif()")
endforeach()
install(CODE "set(missing)${check}
    if(missing)
      list(JOIN missing \", \" missing)
      message(FATAL_ERROR \"not built yet: \${missing}; nothing was installed.\\nBuild everything first: cmake --build ${PROJECT_BINARY_DIR}\")
    endif()")

install(TARGETS mxc mxc-im2rec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS mxrun ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS libmxc mxrt mxrt_core EXPORT mxcTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET mx_python)
  install(TARGETS mx_python LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/python/mx)
  install(FILES ${PROJECT_SOURCE_DIR}/compiler/Python/mx/__init__.py
    ${PROJECT_SOURCE_DIR}/compiler/Python/mx/notebook.py
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/python/mx)
endif()
# The same entry in the build: CMake, when it has to change one, puts an empty entry behind the first,
# and the loader reads an empty entry as the current folder.
set_target_properties(mxc libmxc PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/mx" BUILD_WITH_INSTALL_RPATH ON)
if(NOT LLVM_LIBRARY_DIR IN_LIST CMAKE_PLATFORM_IMPLICIT_LINK_DIRECTORIES)
  foreach(library MLIR LLVM)
    get_target_property(kind ${library} IMPORTED_CONFIGURATIONS)
    list(GET kind 0 kind)
    get_target_property(file ${library} IMPORTED_LOCATION_${kind})
    get_target_property(name ${library} IMPORTED_SONAME_${kind})
    cmake_path(GET name FILENAME name)
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/mx)
    file(CREATE_LINK ${folder}/${name} ${PROJECT_BINARY_DIR}/lib/mx/${name} SYMBOLIC)
    install(FILES ${PROJECT_BINARY_DIR}/lib/mx/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/mx)
  endforeach()
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/compiler/include/mxc ${PROJECT_SOURCE_DIR}/runtime/include/mxrt
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/stdlib DESTINATION ${CMAKE_INSTALL_DATADIR}/mx)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package ${PROJECT_BINARY_DIR}/package)
set(cmakedir ${CMAKE_INSTALL_LIBDIR}/cmake/mxc)
install(EXPORT mxcTargets NAMESPACE mxc:: DESTINATION ${cmakedir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/mxcConfig.cmake.in
  ${package}/mxcConfig.cmake INSTALL_DESTINATION ${cmakedir} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${package}/mxcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/package/mxc.pc.in ${package}/mxc.pc @ONLY)
install(FILES ${package}/mxcConfig.cmake ${package}/mxcConfigVersion.cmake DESTINATION ${cmakedir})
install(FILES ${package}/mxc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
