# `cmake --install BUILD --component tkc`: the command, the headers that emitted files include, the library of kernels, and the
# package that find_package(tkc) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tkc)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tkcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/tkcConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tkcConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)

install(TARGETS tkc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tkc)
install(DIRECTORY runtime/include/tk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tkc COMPONENT tkc)
install(DIRECTORY runtime/hip/tk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tkc-hip COMPONENT tkc)
install(DIRECTORY kernels DESTINATION ${CMAKE_INSTALL_DATADIR}/tkc COMPONENT tkc)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tkcConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tkcConfigVersion.cmake
  DESTINATION ${package} COMPONENT tkc)
