#pragma once

#include <seastar/core/future.hh>
#include <string>
#include <vector>

#include "shards/core/lease_counters.hh"
#include "shards/fleet.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;

/// What all cores know of the leases on masters; of the masters, what this one sees.
struct fleet_report {
    shards::lease_counters rounds{};
    shards::lease_survey leases{};
    std::vector<shards::fleet::stripe_state> stripes{};
};

ss::future<fleet_report> report_fleet(services& all);

/// The lines of INFO.
std::string info_text(const fleet_report& report);

}  // namespace lockkeeper::proxy
