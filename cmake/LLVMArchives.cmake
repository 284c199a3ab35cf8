# LLVM and Clang from their archives: the shared libraries cost tkc 17 ms of a processor at every start, and the tests start
# it some thousand times; of a release `ldd tkc` shows libc, libm and the loader only. The list is what SourceMgr, ThreadPool,
# JSON, Format and LibTooling reach, found by removing archives while the link still succeeds; sections that nothing refers to
# are dropped again. An undefined `llvm::` or `clang::` symbol in a link means one more name here.
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
