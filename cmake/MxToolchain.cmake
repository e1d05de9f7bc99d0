# Language level, output folders, build kinds, compiler cache, sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
# Debug is for daily work: assertions on, fast enough to run the whole suite.
set(CMAKE_C_FLAGS_DEBUG     "-O1 -g -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_DEBUG   "-O1 -g -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_RELEASE   "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Programs always land in <build>/bin, libraries in <build>/lib.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(MX_CCACHE ccache)
if(MX_CCACHE)
  # Without the sloppiness ccache gives up on every source that uses a precompiled header. With
  # CCACHE_DEPEND it compares whole files: without, it takes two headers that differ in comments for
  # the same, and clang refuses a precompiled header whose files have another size.
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${MX_CCACHE})
  foreach(lang C CXX)
    if(NOT DEFINED CMAKE_${lang}_COMPILER_LAUNCHER)
      set(CMAKE_${lang}_COMPILER_LAUNCHER ${launcher})
    endif()
  endforeach()
endif()

set(MX_IS_CLANG OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(MX_IS_CLANG ON)
  if(CMAKE_GENERATOR STREQUAL "Ninja")
    add_compile_options(-fcolor-diagnostics)
  endif()
endif()

if(MX_SANITIZE)
  list(JOIN MX_SANITIZE "," mx_sanitizers)
  add_compile_options(-fsanitize=${mx_sanitizers} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  if(MX_IS_CLANG)
    # It reads a word in front of each function that is called by pointer. In
    # front of generated code there may be nothing, not even memory.
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=${mx_sanitizers})
endif()
if(MX_FUZZ)
  if(NOT MX_IS_CLANG)
    message(FATAL_ERROR "MX_FUZZ needs clang: run `cmake --preset fuzz`")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(MX_COVERAGE)
  if(NOT MX_IS_CLANG)
    message(FATAL_ERROR "MX_COVERAGE needs clang: run `cmake --preset coverage`")
  endif()
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
