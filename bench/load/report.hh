#pragma once

#include <string>

#include "bench/load/plan.hh"
#include "bench/load/run.hh"

namespace lockkeeper::bench {

/// One JSON object on one line, without a line end.
std::string json_report(const load_plan& plan, const load_result& result);

/// A line or two for people.
std::string readable_report(const load_plan& plan, const load_result& result);

}  // namespace lockkeeper::bench
