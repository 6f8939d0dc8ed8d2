#pragma once

#include "proxy/command_line.hh"

namespace lockkeeper::proxy {

/// `--check --fleet`: connects to every master of the configuration as the server would, prints
/// what it finds as a table, and changes nothing there. The exit code is 0 if every master could
/// vote, 1 if not.
int check_fleet(command_line::server wish, int argc, char** argv);

}  // namespace lockkeeper::proxy
