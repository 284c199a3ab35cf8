# cmake -DSOURCE=FOLDER -DOUTPUT=FILE.cpp -P Commit.cmake: a source file with the commit of the sources. It is empty where they are in no
# repository of git, or SOURCE is. The file stays as it is where nothing has changed.
cmake_minimum_required(VERSION 3.25)
set(commit "")
if(SOURCE AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(commit AND changes)
    string(APPEND commit ", modified")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"namespace tkc::driver {
extern const char *const commit;
const char *const commit = \"@commit@\";
} // namespace tkc::driver
")
