// SPDX-License-Identifier: Apache-2.0
//
// Text that goes to a person. Names, hosts and process names come from the network and from the
// programs that are watched: nothing of them reaches a terminal but printable ASCII. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "userspace/model/time.h"

namespace routelens {

constexpr size_t kTextWidth = 80;

// Printable ASCII as it is, everything else (controls, escape sequences, UTF-8, the backslash) as
// \xNN for each byte.
std::string Printable(std::string_view text);

// `text` in at most `width` columns, its end replaced by "..." when it is longer.
std::string Shorten(std::string_view text, size_t width);

// Breaks at spaces into lines of at most `width` columns; a longer word is cut. Never empty.
std::vector<std::string> Wrap(std::string_view text, size_t width);

// Wrap, with `first` before the first line and `rest` before the others; every line ends with \n.
std::string Paragraph(std::string_view first, std::string_view rest, std::string_view text,
                      size_t width = kTextWidth);

// "0s", "59s", "3m", "7h", "12d"; "0s" for a negative one.
std::string FormatAge(Duration age);

// "443", "443,8443"
std::string FormatPorts(const std::vector<uint16_t>& ports);

// "host:443" and "[v6]:443", made printable; "?" stands for what is not known.
std::string FormatAuthority(std::string_view host, uint16_t port);

enum class Colour { kNone, kGreen, kRed, kYellow, kBold };

// `text` in `colour`, or as it is when `enabled` is false.
std::string Paint(std::string_view text, Colour colour, bool enabled);

}  // namespace routelens
