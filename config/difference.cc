#include "config/difference.hh"

#include <fmt/format.h>

#include <algorithm>

#include "config/options.hh"
#include "config/policies.hh"
#include "config/proxies.hh"
#include "config/stripes.hh"
#include "config/users.hh"

namespace lockkeeper::config {

namespace {

/// Options that connections look at again and again, or that hold for new ones. All others are part
/// of what was built at the start: ports, tables, the fleet.
bool can_change(const option& one) {
    constexpr std::string_view sections[] = {"log", "shutdown"};
    constexpr std::string_view server[] = {"protected_mode", "redis_version"};
    constexpr std::string_view masters[] = {"tls_ca", "tls_certificate", "tls_key", "user",
                                            "password"};
    constexpr std::string_view tls[] = {"certificate", "key", "ca", "client_certificates"};
    constexpr std::string_view fixed_limits[] = {"key_bytes", "locks", "waiters", "queues"};
    const auto is_in = [](const auto& names, std::string_view name) {
        return std::ranges::find(names, name) != std::end(names);
    };
    return is_in(sections, one.section) || (one.section == "server" && is_in(server, one.name)) ||
           (one.section == "tls" && is_in(tls, one.name)) ||
           (one.section == "masters" && is_in(masters, one.name)) ||
           (one.section == "limits" && !is_in(fixed_limits, one.name));
}

std::string show_data(const config& all) {
    return all.data ? fmt::format("{} {}", all.data->show(), all.data->password) : "";
}

/// Where the masters are: not who we are there.
std::string show_masters(const config& all) {
    auto stripes = all.stripes;
    for (stripe_options& stripe : stripes) {
        for (redis_address& master : stripe.masters) {
            master.user.clear();
            master.password.clear();
            master.password_reference.clear();
        }
    }
    return show_stripes(stripes);
}

/// With the passwords, which are not shown to anybody.
std::string show_credentials(const config& all) {
    std::string text;
    for (const stripe_options& stripe : all.stripes) {
        for (const redis_address& master : stripe.masters) {
            text += fmt::format("{} {}\n", master.user, master.password);
        }
    }
    return text;
}

std::string show_secret_too(const config& all) {
    return show_proxies(all.proxies) + (all.proxies ? all.proxies->secret : "");
}

std::string show_passwords(const config& all) {
    std::string text = show_users(all.users);
    for (const user_options& user : all.users) {
        for (const password& one : user.passwords) {
            text += to_hex(one.digest);
        }
    }
    return text;
}

}  // namespace

difference compare(const config& before, const config& after) {
    difference found;
    for (const option& one : options()) {
        if (one.show(before) != one.show(after)) {
            (can_change(one) ? found.now : found.after_restart)
                .push_back(fmt::format("{}.{}", one.section, one.name));
        }
    }
    if (show_passwords(before) != show_passwords(after)) {
        found.now.emplace_back("users");
    }
    if (show_data(before) != show_data(after)) {
        found.after_restart.emplace_back("data");
    }
    if (before.locks != after.locks) {
        found.after_restart.emplace_back("locks");
    }
    if (show_masters(before) != show_masters(after)) {
        found.after_restart.emplace_back("stripes");
    } else if (show_credentials(before) != show_credentials(after)) {
        found.now.emplace_back("credentials of masters");
    }
    if (show_secret_too(before) != show_secret_too(after)) {
        found.after_restart.emplace_back("proxies");
    }
    if (show_policies(before.policies) != show_policies(after.policies)) {
        found.now.emplace_back("policies");
    }
    return found;
}

bool masters_are_met_otherwise(const config& before, const config& after) {
    return before.masters.tls_ca != after.masters.tls_ca ||
           before.masters.tls_certificate != after.masters.tls_certificate ||
           before.masters.tls_key != after.masters.tls_key ||
           show_credentials(before) != show_credentials(after);
}

}  // namespace lockkeeper::config
