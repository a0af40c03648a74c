# One way to declare a target, so that each folder's CMakeLists reads "this is what I am and what I need".
#
#   subak_library(<name> FOLDER <dir> SOURCES a.cc b.cc [DEPS subak::core ...] [PRIVATE_DEPS ...] [UNITY n])
#   subak_binary(<name> SOURCES main.cc [DEPS ...])
#   subak_test(<name> SOURCES x_test.cc [DEPS ...] [LABELS ...] [TIMEOUT seconds] [UNITY n])
#
# UNITY: n files at a time are compiled as one, where there are many with a heavy header in common: such
# headers are most of a clean build. For a test n is 4 if it is not given. SUBAK_UNITY=OFF compiles each
# by itself, as the dev preset does.
#
# A library exports exactly one folder. Its include root holds a single link, <dir> -> source, so that
# `#include "accounting/ledger.h"` resolves only in targets that list subak::accounting in their DEPS:
# a forbidden include does not compile (tests/house proves it).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# ccache and mold make builds faster, where they are there and work.
find_program(SUBAK_CCACHE ccache)
if(SUBAK_CCACHE)
  execute_process(COMMAND ${SUBAK_CCACHE} ${CMAKE_CXX_COMPILER} --version
    RESULT_VARIABLE ccache_failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT ccache_failed)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${SUBAK_CCACHE})
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold SUBAK_LINKS_WITH_MOLD)
  if(SUBAK_LINKS_WITH_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
  # Line tables are most of a program: packed they take a third of the disk, and links take no longer.
  check_linker_flag(CXX -Wl,--compress-debug-sections=zstd SUBAK_PACKS_LINE_TABLES)
  if(SUBAK_PACKS_LINE_TABLES)
    add_link_options(-Wl,--compress-debug-sections=zstd)
  endif()
endif()

# GCC collects garbage again and again while it compiles, which takes a tenth of a build. Below 2 GB
# it now collects none. The largest unit then needs 1.3 GB instead of 1.0 GB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=2000000)
endif()
add_library(subak_flags INTERFACE)
target_compile_options(subak_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  # Decisions must not depend on how a build fuses multiply-adds (docs/design/0004).
  -ffp-contract=off
  -march=x86-64-v2)

option(SUBAK_UNITY "Compile several files of a target as one, where it asks for that" ON)
function(subak_compile_as_one name count)
  if(SUBAK_UNITY AND count)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

function(subak_library name)
  cmake_parse_arguments(ARG "" "FOLDER;UNITY" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include-roots/${name})
  get_filename_component(parent ${root}/${ARG_FOLDER} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${ARG_FOLDER} ${root}/${ARG_FOLDER} SYMBOLIC)
  if(NOT ARG_SOURCES)  # headers alone
    add_library(${name} INTERFACE)
    add_library(subak::${name} ALIAS ${name})
    target_include_directories(${name} INTERFACE ${root})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS} Threads::Threads)
    return()
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  add_library(subak::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC ${root})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE subak_flags ${ARG_PRIVATE_DEPS})
  subak_compile_as_one(${name} "${ARG_UNITY}")
endfunction()

function(subak_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE subak_flags ${ARG_DEPS})
endfunction()

function(subak_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;UNITY" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE subak_flags ${ARG_DEPS} GTest::gtest GTest::gmock
    GTest::gtest_main Threads::Threads)
  # A test is compiled once and run for seconds: -O2 costs a fifth more time than it saves.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  # Line tables are half of a test. To debug one, build it with the dev preset.
  target_link_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Wl,--strip-debug>)
  if(NOT DEFINED ARG_UNITY)
    set(ARG_UNITY 4)
  endif()
  subak_compile_as_one(${name} "${ARG_UNITY}")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${SUBAK_TEST_PATIENCE}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
