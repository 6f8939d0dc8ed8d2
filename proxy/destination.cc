#include "proxy/destination.hh"

#include <algorithm>

#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/services.hh"
#include "shards/core/glob.hh"

namespace lockkeeper::proxy {

namespace {

bool is_lock(const config::config& settings, std::string_view key) {
    return std::ranges::any_of(settings.locks, [key](const std::string& pattern) {
        return shards::glob_match(pattern, key);
    });
}

}  // namespace

destination destination_of(client& who, const command_spec* spec, const protocol::request& args) {
    const config::config& settings = who.all.settings;
    // What another proxy sends for its clients is about locks, or about all proxies.
    const bool is_guest = spec && !who.from_proxy.empty();
    if (!settings.data || is_guest || (spec && spec->flags & flag_native)) {
        return destination::here;
    }
    if (!spec || (spec->flags & flag_about_data)) {
        return destination::upstream;
    }
    if (spec->flags & flag_about_both) {
        return destination::both;
    }
    const bool finds_keys = spec->find_keys || spec->keys.first != 0;
    if (!finds_keys) {
        return destination::here;
    }
    const auto keys = spec->find_keys ? spec->find_keys(who, args) : keys_of(*spec, args);
    const auto locks =
        std::ranges::count_if(keys, [&](std::string_view key) { return is_lock(settings, key); });
    if (locks == 0) {
        return destination::upstream;  // a script that we do not recognise has no keys that we
                                       // could find
    }
    return static_cast<size_t>(locks) == keys.size() ? destination::here : destination::mixed;
}

}  // namespace lockkeeper::proxy
