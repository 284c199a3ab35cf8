# The release link: LLVM and Clang from their archives, so that `ldd tkc` shows libc, libm and the loader only.
# The list is what SourceMgr, ThreadPool, JSON, Format and LibTooling reach, found by removing archives while the link
# still succeeds; sections that nothing refers to are dropped again. An undefined `llvm::` or `clang::` symbol in a
# release link means one more name here.
set(tkc_clang_archives
  Tooling ToolingCore Format Frontend Driver Options Serialization Parse Sema Edit Analysis AnalysisLifetimeSafety
  ASTMatchers AST Lex Basic Support APINotes Rewrite)
set(tkc_llvm_archives
  Support Demangle Core BinaryFormat BitstreamReader Option TargetParser ProfileData MC MCParser Object
  FrontendOpenMP FrontendHLSL FrontendDirective WindowsDriver)

set(tkc_archives)
foreach(name IN LISTS tkc_clang_archives)
  list(APPEND tkc_archives "${LLVM_LIBRARY_DIR}/libclang${name}.a")
endforeach()
foreach(name IN LISTS tkc_llvm_archives)
  list(APPEND tkc_archives "${LLVM_LIBRARY_DIR}/libLLVM${name}.a")
endforeach()
foreach(name zstd z)
  find_library(tkc_lib${name} NAMES lib${name}.a REQUIRED)
  list(APPEND tkc_archives "${tkc_lib${name}}")
endforeach()
list(JOIN tkc_archives "," tkc_archives)

target_link_libraries(tkc_llvm INTERFACE "$<LINK_GROUP:RESCAN,${tkc_archives}>")
target_link_libraries(tkc_clang INTERFACE tkc_llvm)

# fmt's compiled half, which Debian has only as a shared library; header-only it costs each file seconds.
add_library(tkc_static_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/StaticFmt.cpp)
target_link_libraries(tkc_fmt INTERFACE tkc_static_fmt)

target_link_options(tkc_options INTERFACE
  $<IF:$<BOOL:${TKC_FULLY_STATIC}>,-static,-static-libstdc++$<SEMICOLON>-static-libgcc> -Wl,--gc-sections -Wl,-O2 $<$<CONFIG:Release>:-s>)
