# What `cmake --install` puts where: the program, the library and its headers, the runtime, the
# standard library, and what lets other builds find them (find_package(mxc), pkg-config mxc).
#
#   bin/mxc   lib/libmxc.so   lib/libmxrt.so   lib/libmxrt_core.a   lib/libmxrun.a
#   include/mxc   include/mxrt   share/mx/stdlib   lib/cmake/mxc   lib/pkgconfig/mxc.pc
#
# `lib` on every system: the library finds share/mx/stdlib beside its own folder.

set(CMAKE_INSTALL_LIBDIR lib)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS mxc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS mxrun ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS libmxc mxrt mxrt_core EXPORT mxcTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The libraries of LLVM are found where they were when this was built.
set_target_properties(mxc libmxc PROPERTIES INSTALL_RPATH "$ORIGIN/../lib;${LLVM_LIBRARY_DIR}")

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
