# ctest runs this when its tests are over (CTestCustom.cmake): it names the groups that were skipped and why, since
# ctest shows no word of a skipped test unless it is asked with -V. It never fails.
set(folder "${BUILD}/Testing/Temporary")
foreach(name IN ITEMS LastTest.log.tmp LastTest.log)  # The first is the run that is ending.
  if(EXISTS "${folder}/${name}")
    file(STRINGS "${folder}/${name}" said REGEX "^bench_[a-z0-9_]+: skipped, ")
    break()
  endif()
endforeach()
set(groups "")
foreach(line IN LISTS said)
  string(REGEX REPLACE "^bench_([a-z0-9_]+): (.*)$" "\\1" group "${line}")
  string(REGEX REPLACE "^bench_([a-z0-9_]+): (.*)$" "\\2" reason "${line}")
  list(APPEND groups ${group})
endforeach()
if(groups)
  list(JOIN groups ", " groups)
  message("\n${groups}: ${reason}")
endif()
