# Writes OUT, a .cpp that holds every header below INCLUDE as text, and those below HIP with "hip/" before their names, so
# that tkc is one file that can inline them.
# Run as a script: cmake -DINCLUDE=… -DHIP=… -DOUT=… -P EmbedRuntime.cmake
set(rows "")
set(INCLUDE_PREFIX "")
set(HIP_PREFIX "hip/")
foreach(folder INCLUDE HIP)
  set(prefix "${${folder}_PREFIX}")
  file(GLOB_RECURSE headers RELATIVE ${${folder}} ${${folder}}/*.h)
  list(SORT headers)
  foreach(header ${headers})
    file(READ ${${folder}}/${header} text)
    # One literal may not exceed 64 KiB everywhere; headers are far shorter.
    string(APPEND rows "    {\"${prefix}${header}\", R\"tkheader(${text})tkheader\"},\n")
  endforeach()
endforeach()
file(WRITE ${OUT} "#include \"backends/emit/RuntimeHeaders.h\"\n\nnamespace tkc::cuda {\n\nconst std::vector<RuntimeHeader> &runtimeHeaders() {\n  static const std::vector<RuntimeHeader> headers = {\n${rows}  };\n  return headers;\n}\n\n} // namespace tkc::cuda\n")
