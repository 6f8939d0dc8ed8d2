#pragma once

#include <string>
#include <vector>

#include "config/config.hh"

namespace lockkeeper::config {

/// What differs between two configurations, by the names of the file.
struct difference {
    std::vector<std::string> now;            ///< can change while the server runs
    std::vector<std::string> after_restart;  ///< cannot
};

difference compare(const config& before, const config& after);

/// Other credentials or certificates towards the same masters.
bool masters_are_met_otherwise(const config& before, const config& after);

}  // namespace lockkeeper::config
