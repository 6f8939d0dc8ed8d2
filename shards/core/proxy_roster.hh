#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// What a proxy tells about itself on the masters.
struct proxy_card {
    std::string id{};
    std::string address{};  ///< host:port, where the others reach it
    std::string version{};
    std::string fingerprint{};  ///< of its fleet: fleet_fingerprint.hh
    uint64_t beat = 0;          ///< one more each time that it is written

    friend bool operator==(const proxy_card&, const proxy_card&) = default;
};

/// `<beat> <address> <version> <fingerprint>`; the id is told apart.
std::string to_text(const proxy_card& card);
/// Nothing if it is not one: whoever can write to the masters can write anything there.
std::optional<proxy_card> parse_proxy_card(std::string_view id, std::string_view text);

/// The proxies of a fleet, as one of them learns of them from the masters. A proxy is alive while
/// its beat goes on, by our own clock: nobody's wall clock matters, and a card that stays on a
/// master for ever does not keep its proxy alive.
///
/// A beat counts when a majority of the masters has it: one master that lies, or was cut off with
/// old cards, neither makes a proxy nor keeps one alive.
class proxy_roster {
public:
    struct member {
        proxy_card card{};
        instant heard{};  ///< when its beat was last seen to go on
        bool alive = true;
    };

    /// A proxy whose beat stands still for `patience` is dead; after `memory` it is forgotten.
    struct options {
        std::string own_id;
        size_t masters = 1;
        std::chrono::nanoseconds patience = std::chrono::milliseconds(3'500);
        std::chrono::nanoseconds memory = std::chrono::seconds(60);
    };

    explicit proxy_roster(options how) : _options(std::move(how)) {}

    /// What the masters that answered have on them. Fewer than a majority change nothing but time.
    void on_reading(std::span<const std::vector<proxy_card>> answers, instant now);

    /// All but ourselves, by id.
    const std::map<std::string, member, std::less<>>& members() const { return _members; }
    /// Cards to be taken off the masters: dead for so long that they only waste space.
    std::vector<std::string> take_forgotten() { return std::exchange(_forgotten, {}); }

private:
    options _options;
    std::map<std::string, member, std::less<>> _members;
    std::vector<std::string> _forgotten;
};

}  // namespace lockkeeper::shards
