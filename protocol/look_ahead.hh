#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lockkeeper::protocol {

/// The first arguments of the commands that wait in `unread`, as far as they are plain: arrays of
/// arguments of at most 99 bytes, complete. In nearly all commands it is the key. Fills `found`
/// from the front and tells how many; a command without arguments counts, with an empty one.
///
/// Only a glance, for whoever wants to prepare something. What a command is the request_parser
/// says.
std::size_t look_ahead(std::string_view unread, std::span<std::string_view> found);

}  // namespace lockkeeper::protocol
