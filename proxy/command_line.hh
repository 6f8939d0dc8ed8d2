#pragma once

#include <seastar/core/app-template.hh>

#include <memory>
#include <optional>

#include "config/config.hh"
#include "proxy/configuration_source.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// The exit code of a mistake on the command line or in the file: starting again will not help.
inline constexpr int usage_error = 2;

/// What the user asked for: a server to run, or an exit code because everything has been said
/// already (`--version`, `--check`, a mistake).
struct command_line {
    struct server {
        config::config settings;
        configuration_source source;
        std::unique_ptr<ss::app_template> app;
    };
    std::optional<server> serve;
    /// Not to serve, but to look at the masters (fleet_check.hh).
    bool check_fleet = false;
    int exit_code = 0;
};

/// Reads the command line and the configuration file before the reactor starts, so that a mistake
/// costs one clear line and nothing else. Seastar's own options (-c, -m, --reactor-backend, ...)
/// pass through; those that are not given get defaults that suit a proxy next to other processes.
command_line read_command_line(int argc, char** argv);

}  // namespace lockkeeper::proxy
