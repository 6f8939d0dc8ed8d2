#pragma once

#include <span>
#include <string_view>

namespace lockkeeper::config {

/// The candidate that was most likely meant by a mistyped word, or an empty view if none is close.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lockkeeper::config
