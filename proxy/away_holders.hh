#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace lockkeeper::proxy {

class client;

/// The clients of one core that have locks at other proxies which live by their connections: see
/// client::away. If another client of this proxy releases such a lock, its holder must not be told
/// later that it has lost it.
class away_holders {
public:
    /// Of this core.
    static away_holders& here();

    void add(client& who);
    void remove(client& who);
    /// Whether there is one on any core; most proxies have none, and nobody needs to be asked.
    static bool any();
    /// Has everybody drop it, on whatever core; does not wait for that.
    static void released(uint32_t database, const std::string& key, const std::string& owner);

private:
    void drop(uint32_t database, const std::string& key, const std::string& owner);

    std::set<client*> _all;
};

}  // namespace lockkeeper::proxy
