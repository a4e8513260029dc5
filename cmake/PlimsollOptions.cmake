# Flags, sanitizers and the compiler cache, for every target through plimsoll_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Functions and lines, for profiles, stack traces and breakpoints; a quarter to a third of the compiler's time goes into
# the rest. For a debugger's view of variables: -DPLIMSOLL_DEBUG_INFO=-g.
set(PLIMSOLL_DEBUG_INFO "-g1" CACHE STRING "The compiler's debug information")
set(CMAKE_CXX_FLAGS_DEBUG "${PLIMSOLL_DEBUG_INFO}")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 ${PLIMSOLL_DEBUG_INFO} -DNDEBUG")

find_program(PLIMSOLL_CCACHE ccache)
if(PLIMSOLL_CCACHE)
  # The base directory makes a build in another worktree (as `plimsoll-compare ab` makes) a cache hit.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${PLIMSOLL_CCACHE})
endif()

file(RELATIVE_PATH up "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
string(REGEX REPLACE "/$" "" up "${up}")
add_library(plimsoll_options INTERFACE)
target_include_directories(plimsoll_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(plimsoll_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # Equal sources give equal binaries wherever they are built: the build id then tells whether anything changed.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
  # ccache makes paths relative to the build folder; without it they are absolute.
  -ffile-prefix-map=${up}=. -ffile-prefix-map=generated=build/generated
  -fno-omit-frame-pointer
  $<$<BOOL:${PLIMSOLL_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12's flow analysis reports uses that are not there inside coroutine frames and std::string (GCC #105562), and
  # takes the frame's own operators new and delete for a mismatch (GCC #109224).
  # -fpch-preprocess lets ccache see what the precompiled header of the tests holds.
  target_compile_options(plimsoll_options INTERFACE -fcoroutines -fpch-preprocess -Wno-maybe-uninitialized -Wno-restrict
                                                    -Wno-mismatched-new-delete)
  if("thread" IN_LIST PLIMSOLL_SANITIZE)
    target_compile_options(plimsoll_options INTERFACE -Wno-tsan)  # Asio's fences; it locks beside them.
  endif()
endif()
target_link_options(plimsoll_options INTERFACE -Wl,--build-id=sha1)
if(PLIMSOLL_SANITIZE)
  string(REPLACE "," ";" sanitizers "${PLIMSOLL_SANITIZE}")
  list(JOIN sanitizers "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${sanitizers})
endif()
