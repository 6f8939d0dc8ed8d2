#pragma once

#include <string_view>

namespace lockkeeper::config {

/// The file that shows every option with its default and explains it (lockkeeper.yaml).
std::string_view default_file();

}  // namespace lockkeeper::config
