# Writes the commit that the tree is at beside the binaries: cmake -DSOURCE=... -DOUT=... -P write_commit.cmake
# The file is touched only when it changes. A tree without git, or without a commit, has no commit to name.
# Our sources unpacked inside somebody else's checkout have no commit either.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-toplevel
                OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCE}" rev-parse HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
file(REAL_PATH "${SOURCE}" source)
if(failed OR NOT top STREQUAL source)
  set(commit unknown)
  set(dirty false)
else()
  execute_process(COMMAND git -C "${SOURCE}" status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes STREQUAL "")
    set(dirty false)
  else()
    set(dirty true)
  endif()
endif()
set(content "{\"commit\": \"${commit}\", \"dirty\": ${dirty}}\n")
if(EXISTS "${OUT}")
  file(READ "${OUT}" before)
endif()
if(NOT "${before}" STREQUAL "${content}")
  file(WRITE "${OUT}" "${content}")
endif()
