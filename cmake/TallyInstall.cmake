# The files that `cmake --install` adds to layers (tally_layer) and programs: headers, the CMake package, the
# pkg-config file, and a Debian package by CPack.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tally DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# find_package(tally) gives tally::headers.
install(TARGETS tally_headers EXPORT tally-targets)
set(packagedir ${CMAKE_INSTALL_LIBDIR}/cmake/tally)
install(EXPORT tally-targets NAMESPACE tally:: DESTINATION ${packagedir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/tally-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tally-config.cmake
  INSTALL_DESTINATION ${packagedir})
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/tally-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tally-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tally-config-version.cmake
        DESTINATION ${packagedir})

# pkg-config finds its prefix from its own place, so that an installed tree may be moved.
set(pkgconfigdir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH TALLY_PC_TO_PREFIX /prefix/${pkgconfigdir} /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tally.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tally.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tally.pc DESTINATION ${pkgconfigdir})

# The documents for users, which the programs name by their installed place (cli::document).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN developer EXCLUDE PATTERN make EXCLUDE PATTERN "*.mjs" EXCLUDE PATTERN "*.py" EXCLUDE PATTERN "*.1" EXCLUDE)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(WIN32)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/windows-README.txt DESTINATION . RENAME README.txt)
endif()

# The notices of what is compiled or linked into the programs, from Debian's packages.
set(TALLY_EMBEDDED libcli11-dev libdtl-dev libfmt-dev libprotozero-dev libxxhash-dev nlohmann-json3-dev spirv-tools)
if(TALLY_PORTABLE)
  list(APPEND TALLY_EMBEDDED libpng-dev libspirv-cross-c-shared-dev libsqlite3-dev zlib1g-dev)
endif()
if(WIN32)
  list(APPEND TALLY_EMBEDDED gcc-mingw-w64-base mingw-w64-common)
elseif(TALLY_PORTABLE)
  list(APPEND TALLY_EMBEDDED libncurses-dev)
endif()
foreach(package IN LISTS TALLY_EMBEDDED)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.${package})
  endif()
endforeach()

# A Debian package, or with TALLY_PORTABLE a tarball that runs from any folder, or a zip for Windows: scripts/package makes and tests
# each.
if(WIN32)
  set(CPACK_GENERATOR ZIP)
elseif(TALLY_PORTABLE)
  set(CPACK_GENERATOR TXZ)
else()
  set(CPACK_GENERATOR DEB)
endif()
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME tally-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_NAME tally-gpu)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_CONTACT "Tally maintainers <maintainers@tally.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The layers are opened by the Vulkan loader, which no library of ours links.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libvulkan1)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS mesa-vulkan-drivers)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "glslang-tools, vulkan-validationlayers")
include(CPack)
