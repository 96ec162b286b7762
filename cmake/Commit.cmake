# cmake -DSOURCE=<checkout> -DOUT=<header> -P Commit.cmake: writes the commit that is being built, and
# touches the header only when it changes. A configured value would be stale after the next commit.
execute_process(
  COMMAND git -C ${SOURCE} rev-parse --short HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define TENON_COMMIT \"${commit}\"\n")
