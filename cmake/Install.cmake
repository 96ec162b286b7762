# What a wheel holds, laid out as in site-packages: the library and the extension in tenon/lib, the
# command in tenon/bin. The libraries that a bare system may lack lie beside them.
set_target_properties(tenon PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(tenon_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS tenon LIBRARY DESTINATION tenon/lib NAMELINK_SKIP)
install(TARGETS tenon_cli RUNTIME DESTINATION tenon/bin)
if(TARGET tenon_torch)
  install(TARGETS tenon_torch LIBRARY DESTINATION tenon/lib)
endif()
if(TARGET tenon_mpi)
  install(TARGETS tenon_mpi LIBRARY DESTINATION tenon/lib)
endif()
get_target_property(fmt_type fmt::fmt TYPE)
if(fmt_type STREQUAL SHARED_LIBRARY)
  install(PROGRAMS $<TARGET_FILE:fmt::fmt> DESTINATION tenon/lib
    RENAME $<TARGET_SONAME_FILE_NAME:fmt::fmt>)
endif()
