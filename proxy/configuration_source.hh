#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hh"

namespace lockkeeper::proxy {

/// Where the configuration comes from: a file, and what the command line says over it. Read at the
/// start, and again when the server is told to.
struct configuration_source {
    std::optional<std::string> file{};  ///< absolute: the process may change its folder
    std::optional<std::string> address{};
    std::optional<std::string> port{};
    std::optional<std::string> http_port{};
    bool no_protected_mode = false;

    /// The whole configuration, with users whose rules make sense; or every mistake, in words.
    std::expected<config::config, std::vector<std::string>> read() const;
};

}  // namespace lockkeeper::proxy
