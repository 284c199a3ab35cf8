# `cmake --install BUILD --component tkc`: the command with its man page and completions, the headers that emitted files include, the library
# of kernels, and the package that find_package(tkc) finds. `cpack` in BUILD makes a .deb and a .tar.gz of the same.
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

# What the command says of itself.
set(said ${CMAKE_CURRENT_BINARY_DIR}/said)
file(MAKE_DIRECTORY ${said})
add_custom_command(OUTPUT ${said}/tkc.1 ${said}/tkc.bash ${said}/_tkc ${said}/tkc.fish DEPENDS tkc VERBATIM
  COMMAND tkc man > ${said}/tkc.1
  COMMAND tkc completion bash > ${said}/tkc.bash
  COMMAND tkc completion zsh > ${said}/_tkc
  COMMAND tkc completion fish > ${said}/tkc.fish)
add_custom_target(tkc_said ALL DEPENDS ${said}/tkc.1)
install(FILES ${said}/tkc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tkc)
install(FILES ${said}/tkc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tkc COMPONENT tkc)
install(FILES ${said}/_tkc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tkc)
install(FILES ${said}/tkc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tkc)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tkc RENAME copyright COMPONENT tkc)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME tkc)
set(CPACK_PACKAGE_CONTACT "The authors of tkc")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GPU kernels written as their algorithm, compiled to CUDA or HIP")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tkc)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
