#pragma once

#include "proxy/command_line.hh"

namespace lockkeeper::proxy {

/// Runs the server until SIGTERM or SIGINT; returns the process' exit code.
int run(command_line::server wish, int argc, char** argv);

}  // namespace lockkeeper::proxy
