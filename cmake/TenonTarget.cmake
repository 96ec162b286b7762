# How every target of Tenon is compiled, and the two helpers that the folders use.
#
# Contraction is off everywhere: a fused multiply-add exists only where an operator's body has an
# `fma` node, so that a fused kernel returns the bits of its parts (docs/architecture.md).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

add_library(tenon_options INTERFACE)
# -Wrestrict is off because GCC 12 reports `"literal" + std::string` wrongly.
target_compile_options(tenon_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wno-psabi $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${TENON_WERROR}>:-Werror>)
if(TENON_SANITIZE)
  # The address sanitizer finds what `null` and `object-size` would; together with `vptr` they
  # double the time of compiling.
  # g++ 12 takes members of a std::variant for uninitialised once the checks' calls keep it from seeing
  # through them; the same sources are compiled without the sanitizers and with that warning.
  target_compile_options(tenon_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(tenon_options INTERFACE -fsanitize=address,undefined)
endif()
target_include_directories(tenon_options INTERFACE
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)

# tenon_compile_quickly(<name>): for code that nobody waits for, a third of the compile time less.
function(tenon_compile_quickly name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# tenon_library(<name> SOURCES <file>... [DEPS <target>...]): a static library of one layer.
function(tenon_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tenon_options ${ARG_DEPS})
endfunction()

# tenon_test(<name> SOURCES <file>... [DEPS <target>...] [LABELS <label>...]): a GoogleTest
# executable, one ctest entry per TEST. Without LABELS it carries `cpu`.
function(tenon_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tenon_options ${ARG_DEPS} GTest::gmock_main)
  tenon_compile_quickly(${name})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE TENON_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
