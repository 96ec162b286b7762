# The Python parser: tree-sitter's core and its Python grammar, as plain C. Debian's is too old for
# this grammar. Source packages come from PyPI into .deps once; later configurations need no network.

# tenon_source_package(<project> <version> <file> <sha256>): unpacked under .deps/<project>-<version>.
function(tenon_source_package project version file sha256)
  set(deps ${CMAKE_SOURCE_DIR}/.deps)
  set(archive ${deps}/${file})
  if(NOT EXISTS ${archive})
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    message(STATUS "Downloading the source package of ${project} ${version}")
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --no-binary :all: --dest ${deps}
              ${project}==${version}
      RESULT_VARIABLE failed ERROR_VARIABLE log)
    if(failed OR NOT EXISTS ${archive})
      message(FATAL_ERROR
        "${project} ${version} could not be downloaded by pip. Put ${file} from PyPI into ${deps} "
        "and configure again. pip said:\n${log}")
    endif()
  endif()
  file(SHA256 ${archive} actual)
  if(NOT actual STREQUAL sha256)
    message(FATAL_ERROR
      "${archive} has SHA-256 ${actual}, expected ${sha256}. Delete it and configure again.")
  endif()
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${CMAKE_BINARY_DIR}/_deps)
endfunction()

tenon_source_package(tree-sitter 0.23.2 tree-sitter-0.23.2.tar.gz
  66bae8dd47f1fed7bdef816115146d3a41c39b5c482d7bad36d9ba1def088450)
tenon_source_package(tree-sitter-python 0.23.6 tree_sitter_python-0.23.6.tar.gz
  354bfa0a2f9217431764a631516f85173e9711af2c13dbd796a8815acfe505d9)

set(core ${CMAKE_BINARY_DIR}/_deps/tree-sitter-0.23.2/tree_sitter/core/lib)
set(grammar ${CMAKE_BINARY_DIR}/_deps/tree_sitter_python-0.23.6)
# The grammar includes <tree_sitter/parser.h>, which the core keeps beside its sources.
foreach(header parser.h array.h alloc.h ts_assert.h)
  configure_file(${core}/src/${header}
    ${CMAKE_BINARY_DIR}/_deps/grammar_include/tree_sitter/${header} COPYONLY)
endforeach()

add_library(tree_sitter_core STATIC ${core}/src/lib.c)
target_include_directories(tree_sitter_core SYSTEM PUBLIC ${core}/include PRIVATE ${core}/src)
target_compile_options(tree_sitter_core PRIVATE -w -O2)
target_compile_definitions(tree_sitter_core PRIVATE _POSIX_C_SOURCE=200112L _DEFAULT_SOURCE)
add_library(tree_sitter_python STATIC ${grammar}/src/parser.c ${grammar}/src/scanner.c)
target_include_directories(tree_sitter_python SYSTEM
  PRIVATE ${CMAKE_BINARY_DIR}/_deps/grammar_include)
target_compile_options(tree_sitter_python PRIVATE -w -O2)
target_link_libraries(tree_sitter_python PUBLIC tree_sitter_core)
