# tkc_library(NAME SOURCES… LINK …): a static library of this project with the flags they all share.

add_library(tkc_options INTERFACE)
target_include_directories(tkc_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_include_directories(tkc_options SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
target_compile_options(tkc_options INTERFACE
  -Wall -Wextra -Werror=switch -Werror=return-type -Wno-unused-parameter
  -ffunction-sections -fdata-sections)
target_link_libraries(tkc_options INTERFACE Threads::Threads)
if(TKC_FUZZ)
  target_compile_options(tkc_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(tkc_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC tkc_options ${arg_LINK})
endfunction()

# LLVM and Clang are archives by name, because the CMake targets of the Debian packages pull in the shared libraries.
add_library(tkc_llvm INTERFACE)
add_library(tkc_clang INTERFACE)
include(cmake/LLVMArchives.cmake)
target_link_options(tkc_options INTERFACE -Wl,--gc-sections)

add_library(tkc_fmt INTERFACE)
if(TKC_STATIC)
  # fmt's compiled half, which Debian has only as a shared library; header-only it costs each file seconds.
  add_library(tkc_static_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/StaticFmt.cpp)
  target_link_libraries(tkc_fmt INTERFACE tkc_static_fmt)
  target_link_options(tkc_options INTERFACE
    $<IF:$<BOOL:${TKC_FULLY_STATIC}>,-static,-static-libstdc++$<SEMICOLON>-static-libgcc> -Wl,-O2 $<$<CONFIG:Release>:-s>)
else()
  target_link_libraries(tkc_fmt INTERFACE fmt::fmt)
endif()
