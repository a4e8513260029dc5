# hiredis::hiredis, from where Debian's libhiredis-dev puts it. Version 1 brings a package of its own
# (hiredis-config.cmake), 0.14 does not; this finds both.
find_path(hiredis_INCLUDE_DIR hiredis/hiredis.h)
find_library(hiredis_LIBRARY hiredis)
if(hiredis_INCLUDE_DIR)
  file(STRINGS "${hiredis_INCLUDE_DIR}/hiredis/hiredis.h" lines REGEX "^#define HIREDIS_(MAJOR|MINOR|PATCH) [0-9]+")
  list(TRANSFORM lines REPLACE "^.* ([0-9]+).*$" "\\1")
  list(JOIN lines "." hiredis_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hiredis REQUIRED_VARS hiredis_LIBRARY hiredis_INCLUDE_DIR
                                  VERSION_VAR hiredis_VERSION)
if(hiredis_FOUND AND NOT TARGET hiredis::hiredis)
  add_library(hiredis::hiredis UNKNOWN IMPORTED)
  set_target_properties(hiredis::hiredis PROPERTIES
    IMPORTED_LOCATION "${hiredis_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${hiredis_INCLUDE_DIR}")
endif()
mark_as_advanced(hiredis_INCLUDE_DIR hiredis_LIBRARY)
