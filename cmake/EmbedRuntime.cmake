# Writes OUT, a .cpp that holds every header below INCLUDE as text, so that tkc is one file that can inline them.
# Run as a script: cmake -DINCLUDE=… -DOUT=… -P EmbedRuntime.cmake
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/*.h)
list(SORT headers)
set(rows "")
foreach(header ${headers})
  file(READ ${INCLUDE}/${header} text)
  # One literal may not exceed 64 KiB everywhere; headers are far shorter.
  string(APPEND rows "    {\"${header}\", R\"tkheader(${text})tkheader\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"backends/cuda/RuntimeHeaders.h\"\n\nnamespace tkc::cuda {\n\nconst std::vector<RuntimeHeader> &runtimeHeaders() {\n  static const std::vector<RuntimeHeader> headers = {\n${rows}  };\n  return headers;\n}\n\n} // namespace tkc::cuda\n")
