# Finds LLVM and MLIR 22, which may stand beside other versions on the machine.
#
# Sets MX_LLVM_PREFIX, MX_LLVM_BINDIR (lit, FileCheck, …) and everything
# LLVMConfig.cmake and MLIRConfig.cmake set. Gives the target mx::llvm, which is
# all a library needs to use both: `DEPENDS mx::llvm`.
#
# `find_package(MLIR 22)` is refused, because the packaged version file wants
# the exact minor version. So: no version, the path from llvm-config-22, and a
# check of the major version afterwards.

find_program(MX_LLVM_CONFIG NAMES llvm-config-22 DOC "llvm-config of LLVM 22")
if(NOT MX_LLVM_CONFIG)
  message(FATAL_ERROR "llvm-config-22 was not found. Run tools/dev/setup, or: "
                      "apt install llvm-22-dev libmlir-22-dev")
endif()
foreach(pair "--prefix;MX_LLVM_PREFIX" "--bindir;MX_LLVM_BINDIR" "--cmakedir;_mx_llvm_cmakedir")
  list(GET pair 0 flag)
  list(GET pair 1 variable)
  execute_process(COMMAND ${MX_LLVM_CONFIG} ${flag} OUTPUT_VARIABLE ${variable}
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endforeach()
cmake_path(GET _mx_llvm_cmakedir PARENT_PATH _mx_cmakedir)

set(LLVM_DIR ${_mx_llvm_cmakedir} CACHE PATH "Folder of LLVMConfig.cmake" FORCE)
set(MLIR_DIR ${_mx_cmakedir}/mlir CACHE PATH "Folder of MLIRConfig.cmake" FORCE)
if(NOT EXISTS ${MLIR_DIR}/MLIRConfig.cmake)
  message(FATAL_ERROR "MLIR 22 was not found in ${MLIR_DIR}. Run tools/dev/setup, or: "
                      "apt install libmlir-22-dev mlir-22-tools")
endif()
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "LLVM 22 is needed, but ${LLVM_DIR} is LLVM ${LLVM_PACKAGE_VERSION}")
endif()
# These two shared libraries and nothing else of LLVM are linked: a static
# archive beside them registers every command line option a second time.
foreach(target MLIR LLVM)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "the shared library ${target} of LLVM 22 is missing from ${_mx_cmakedir}")
  endif()
endforeach()

if(NOT TARGET mx::llvm)
  add_library(mx::llvm INTERFACE IMPORTED GLOBAL)
  # SYSTEM: our warnings are for our code.
  target_include_directories(mx::llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  separate_arguments(_mx_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(mx::llvm INTERFACE ${_mx_llvm_definitions})
  target_link_libraries(mx::llvm INTERFACE MLIR LLVM)
  # A class derived from one of LLVM's needs its type information, which is there
  # only if LLVM was built with it. Exceptions are ours to use, but must not pass
  # through LLVM's frames: LLVM is built without them.
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(mx::llvm INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  endif()
endif()

# The packaged LLVM_EXTERNAL_LIT names a file that does not exist.
set(LLVM_EXTERNAL_LIT ${MX_LLVM_BINDIR}/lit)
set(Llvm22_FOUND TRUE)
