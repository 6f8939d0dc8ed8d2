#pragma once

#include <expected>
#include <string>
#include <string_view>

/// Secrets stand outside of the configuration, which people copy, print and check in: `env:NAME` is
/// a variable of the environment, `file:/path` a file, whose last line end does not count.
namespace lockkeeper::config {

bool is_secret_reference(std::string_view text);

/// What a reference stands for; why not, without any of it, if it stands for nothing.
std::expected<std::string, std::string> read_secret(std::string_view reference);

}  // namespace lockkeeper::config
