# The few functions every CMakeLists.txt of the project is written with.
#
#   mxc_add_library(<Name> SOURCES a.cpp… [DEPENDS t…] [PCH header…])
#       a static library of the compiler, target mxc<Name>.
#       Headers are found from compiler/ ("Support/Source.h") and, for the
#       dialects, from the repository root ("dialects/mx/Ops.h").
#   mxrt_add_library(<name> SOURCES a.cpp… [DEPENDS t…] [PCH header…])
#       a static library of the runtime, target <name>.
#       Headers are found from runtime/include ("mxrt/status.h", public to
#       users of the library) and runtime/ ("engine/Engine.h", private).
#   mx_add_tool(<name> SOURCES a.cpp… [DEPENDS t…])
#       a program in <build>/bin.
#   mx_add_unittest(<name> SOURCES a.cpp… [DEPENDS t…])
#       a GoogleTest binary that lit runs with all other tests. It may include
#       internal headers of compiler/ and runtime/. [PCH header…] as above.
#   mx_add_fuzzer(<name> SOURCES a.cpp… [DEPENDS t…])
#       a libFuzzer program in <build>/bin when MX_FUZZ is on. Otherwise a program
#       of the same name that only replays the inputs it is given, so that lit
#       can run every old finding in every build: `RUN: name -runs=0 %S/corpus`.
#   mx_tablegen(<target> <file.td> <output> "<flags>" …)
#       runs mlir-tblgen once for each output, in the folder's build directory.
#   mx_add_folders(<pattern>…)
#       add_subdirectory for each matching folder that has a CMakeLists.txt.
#
# DEPENDS are linked PUBLIC; mx::llvm among them gives LLVM and MLIR. LLVM's own
# add_mlir_* functions are not used: they link static archives next to the shared
# library, and the program then aborts at start with "Option registered more than
# once".

include_guard(GLOBAL)

function(_mx_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wno-unused-parameter)
  if(MX_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(_mx_use_pch target)
  if(ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    if(MX_IS_CLANG)
      # ccache can only reuse objects built with a header that has no time in it.
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endfunction()

function(_mx_require_sources function name)
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "${function}(${name}): SOURCES is empty")
  endif()
endfunction()

function(mxc_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PCH" ${ARGN})
  _mx_require_sources(mxc_add_library ${name})
  set(target mxc${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/compiler ${PROJECT_SOURCE_DIR}/compiler/include
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS})
  _mx_set_warnings(${target})
  _mx_use_pch(${target} ${ARG_PCH})
endfunction()

function(mxrt_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PCH" ${ARGN})
  _mx_require_sources(mxrt_add_library ${name})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  _mx_set_warnings(${name})
  _mx_use_pch(${name} ${ARG_PCH})
endfunction()

function(mx_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  _mx_require_sources(mx_add_tool ${name})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  _mx_set_warnings(${name})
  set_property(GLOBAL APPEND PROPERTY MX_TOOLS ${name})
endfunction()

function(mx_add_unittest name)
  if(NOT MX_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PCH" ${ARGN})
  _mx_require_sources(mx_add_unittest ${name})
  find_package(GTest REQUIRED)
  find_package(Threads REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  # lit finds the binaries by the ending of their name.
  string(REGEX REPLACE "Tests?$" "" stem ${name})
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME ${stem}Tests
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/compiler ${PROJECT_SOURCE_DIR}/runtime
    ${PROJECT_SOURCE_DIR}/runtime/include ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE MX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main
                        Threads::Threads)
  _mx_set_warnings(${name})
  _mx_use_pch(${name} ${ARG_PCH})
  set_property(GLOBAL APPEND PROPERTY MX_UNITTESTS ${name})
  set_property(GLOBAL APPEND PROPERTY MX_UNITTEST_FILES ${stem}Tests)
endfunction()

function(mx_add_fuzzer name)
  if(NOT MX_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  _mx_require_sources(mx_add_fuzzer ${name})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/compiler ${PROJECT_SOURCE_DIR}/runtime
    ${PROJECT_SOURCE_DIR}/runtime/include ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  if(MX_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/fuzz/Replay.cpp)
  endif()
  _mx_set_warnings(${name})
  set_property(GLOBAL APPEND PROPERTY MX_FUZZERS ${name})
endfunction()

function(mx_tablegen target source)
  find_program(MX_MLIR_TBLGEN mlir-tblgen HINTS ${MX_LLVM_BINDIR} NO_DEFAULT_PATH REQUIRED)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/dialects/*.td
       ${CMAKE_CURRENT_SOURCE_DIR}/*.td)
  file(GLOB generated ${CMAKE_CURRENT_BINARY_DIR}/*.td)
  set(outputs "")
  while(ARGN)
    list(POP_FRONT ARGN output flags)
    separate_arguments(flags)
    add_custom_command(
      OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
      COMMAND ${MX_MLIR_TBLGEN} ${flags} --write-if-changed -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_BINARY_DIR} -I ${MX_LLVM_PREFIX}/include
              ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${CMAKE_CURRENT_BINARY_DIR}/${output}
      DEPENDS ${inputs} ${generated} VERBATIM)
    list(APPEND outputs ${CMAKE_CURRENT_BINARY_DIR}/${output})
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()

function(mx_add_folders)
  foreach(pattern IN LISTS ARGN)
    file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern}/CMakeLists.txt)
    foreach(file IN LISTS lists)
      cmake_path(GET file PARENT_PATH folder)
      add_subdirectory(${folder})
    endforeach()
  endforeach()
endfunction()

# lit runs every *Tests binary it finds, so those of removed tests must go.
function(mx_remove_stale_unittests)
  get_property(wanted GLOBAL PROPERTY MX_UNITTEST_FILES)
  file(GLOB present RELATIVE ${PROJECT_BINARY_DIR}/test/unit ${PROJECT_BINARY_DIR}/test/unit/*Tests)
  foreach(file IN LISTS present)
    if(NOT file IN_LIST wanted)
      file(REMOVE ${PROJECT_BINARY_DIR}/test/unit/${file})
    endif()
  endforeach()
endfunction()

# What was found and what will be built, one line each.
function(mx_print_summary)
  get_property(tools GLOBAL PROPERTY MX_TOOLS)
  get_property(unittests GLOBAL PROPERTY MX_UNITTESTS)
  get_property(fuzzers GLOBAL PROPERTY MX_FUZZERS)
  list(LENGTH unittests unittests)
  message(STATUS "mx: ${CMAKE_BUILD_TYPE} with ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, sanitizers: [${MX_SANITIZE}]")
  message(STATUS "mx: LLVM and MLIR ${LLVM_PACKAGE_VERSION} in ${MX_LLVM_PREFIX}, shared libraries")
  message(STATUS "mx: tools [${tools}], fuzzers [${fuzzers}], ${unittests} unit test programs")
endfunction()
