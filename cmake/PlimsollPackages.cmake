# Every package that the tree needs, found once. All come from Debian 12; README.md names the versions.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(PostgreSQL 15 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tl-expected 1.0 REQUIRED)
find_package(benchmark 1.7 REQUIRED)
find_package(GTest 1.12 REQUIRED)

# Asio's headers are the bulk of every translation unit's cost; nobody spawns through Boost.Process.
add_library(plimsoll_asio INTERFACE)
target_link_libraries(plimsoll_asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(plimsoll_asio INTERFACE BOOST_ASIO_NO_DEPRECATED
                                                   BOOST_ASIO_DISABLE_BOOST_COROUTINE)
