# Run by `cmake --install`, because only then the prefix is known for certain (--prefix). Places the configuration in use
# and the systemd unit, which names the binary and the configuration by their full paths.

foreach(folder bindir docdir sysconfdir)
  if(NOT IS_ABSOLUTE "${${folder}}")
    set(${folder} "${CMAKE_INSTALL_PREFIX}/${${folder}}")
  endif()
endforeach()
if(sysconfdir STREQUAL "/usr/etc")
  set(sysconfdir /etc)
endif()

# The example is with the documents; this one belongs to the administrator from the first moment.
set(configuration "${sysconfdir}/lockkeeper/lockkeeper.yaml")
if(EXISTS "$ENV{DESTDIR}${configuration}")
  message(STATUS "Kept as it is: $ENV{DESTDIR}${configuration}")
else()
  file(INSTALL "${source}/config/lockkeeper.yaml" DESTINATION "${sysconfdir}/lockkeeper")
endif()

configure_file("${source}/proxy/lockkeeper.service.in" "${build}/lockkeeper.service" @ONLY)
file(INSTALL "${build}/lockkeeper.service" DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
