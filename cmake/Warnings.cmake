# SPDX-License-Identifier: Apache-2.0
add_library(routelens_warnings INTERFACE)
target_compile_options(
  routelens_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast
            -Wimplicit-fallthrough $<$<BOOL:${ROUTELENS_WERROR}>:-Werror>)
