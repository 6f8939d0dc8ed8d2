#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hh"

namespace lockkeeper::config {

/// A mistake in a file, where it is and what to do about it.
struct mistake {
    std::string file;
    int line = 0;  ///< from 1; 0 if it is about the file as a whole
    int column = 0;
    std::string text;

    /// "lockkeeper.yaml:3:9: unknown option 'prot' in 'server'; did you mean 'port'?"
    std::string show() const;
};

/// Reads YAML text. All mistakes are reported at once, in the order of the file; a file with one
/// mistake gives no configuration at all.
std::expected<config, std::vector<mistake>> parse(std::string_view text, std::string file_name);

/// The same for a file on disk.
std::expected<config, std::vector<mistake>> load(const std::string& path);

/// All options with their values as a file that `load` reads back to the same configuration, but
/// for passwords, which are not shown.
std::string to_yaml(const config& all);

}  // namespace lockkeeper::config
