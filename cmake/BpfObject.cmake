# SPDX-License-Identifier: Apache-2.0
#
# bpf_skeleton(<name> SOURCES file.bpf.c... [DEFINES def...])
#
# Compiles each source for the BPF target, links them with bpftool into one object, and makes a
# skeleton header <name>.skel.h behind the INTERFACE target bpf_<name>. Needs no BTF on the build
# host: kernel types come from the UAPI headers and bpf/lib/kernel_types.bpf.h (CO-RE).
#
# The first source must be the one that defines the maps: libbpf 1.1's linker keeps the offset of an
# extern map that it meets before its definition, and the object then fails to open with "map relo
# failed to find map for section '.maps'".
find_program(BPF_CLANG NAMES clang-14 clang REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip-14 llvm-strip REQUIRED)
find_program(BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(BPF_TARGET_ARCH arm64)
else()
  set(BPF_TARGET_ARCH x86)
endif()
# clang's BPF target does not search Debian's directory of the architecture (asm/types.h).
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(BPF_SYSTEM_INCLUDES -idirafter "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()

function(bpf_skeleton name)
  cmake_parse_arguments(BPF "" "" "SOURCES;DEFINES" ${ARGN})
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  file(MAKE_DIRECTORY "${out}")
  set(objects)
  foreach(source ${BPF_SOURCES})
    get_filename_component(stem "${source}" NAME)
    string(REPLACE ".bpf.c" ".bpf.o" stem "${stem}")
    set(object "${out}/${stem}")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND
        "${BPF_CLANG}" -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter
        "-D__TARGET_ARCH_${BPF_TARGET_ARCH}" ${BPF_DEFINES} -I "${PROJECT_SOURCE_DIR}"
        ${BPF_SYSTEM_INCLUDES} -MD -MF "${object}.d" -MT
        "${object}" -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      COMMAND "${BPF_STRIP}" -g "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
      DEPFILE "${object}.d"
      COMMENT "BPF ${name}/${stem}"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  add_custom_command(
    OUTPUT "${out}/${name}.skel.h"
    COMMAND "${BPFTOOL}" gen object "${out}/${name}.linked.o" ${objects}
    COMMAND "${BPFTOOL}" gen skeleton "${out}/${name}.linked.o" name "${name}" >
            "${out}/${name}.skel.h"
    DEPENDS ${objects}
    COMMENT "BPF skeleton ${name}"
    VERBATIM)
  add_custom_target(bpf_${name}_generate DEPENDS "${out}/${name}.skel.h")
  add_library(bpf_${name} INTERFACE)
  target_include_directories(bpf_${name} SYSTEM INTERFACE "${out}")
  target_link_libraries(bpf_${name} INTERFACE PkgConfig::libbpf)
  add_dependencies(bpf_${name} bpf_${name}_generate)
endfunction()
