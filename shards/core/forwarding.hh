#pragma once

#include <cstdint>

/// Whose a request is to carry out, when several proxies serve one fleet. Nothing here is about
/// safety, which is the masters': a wrong turn costs time or order. But a request must come to an
/// end, and nothing may be done twice that was asked for once.
namespace lockkeeper::shards {

/// Which proxy may carry out a request for a key.
enum class order_route : uint8_t {
    here,     ///< this one, whoever has the lease
    to_home,  ///< the one that has the lease, if it is known and can be reached
    as_home,  ///< this one if it has the lease, and otherwise nobody: another one sent it here
};

/// What a proxy knows of a key.
struct lease_place {
    bool is_here = false;    ///< it has the lease, or an entry that needs none
    bool is_coming = false;  ///< it asks the masters for the lease at this moment
    bool has_home = false;   ///< another one had the lease when somebody looked, and has a link
};

enum class forward_step : uint8_t {
    do_here,
    wait,          ///< for the round under way; then ask again
    say_not_home,  ///< to the proxy that sent it
    send,          ///< to the home that is known
    find_out,      ///< who takes a lock tries to, everybody else asks the masters
};

/// What to do with a request. What came from another proxy never goes further: no loops, whatever
/// two proxies think of each other.
forward_step next_step(order_route route, const lease_place& known);

/// Why a request that was to be carried out by another proxy was not, or perhaps was.
enum class forward_trouble : uint8_t {
    not_sent,  ///< there is no link
    not_home,  ///< that proxy does not have the key's lease (any more): nothing has happened
    unknown,   ///< the link broke before the answer
};

/// One request and the homes that it is sent to, one after the other. Ends: after so many troubles
/// in a row it is done here, where the masters decide.
class forward_journey {
public:
    /// One more than two proxies deserve that each think of the other as the home.
    static constexpr int attempts = 3;

    /// What happens when nobody knows whether it was done.
    enum class if_unknown : uint8_t {
        ask_again,  ///< to do it twice is to do it once, or it is known again by its number
        tell,       ///< the client has to be told
    };

    explicit forward_journey(if_unknown rule, int most = attempts) : _rule(rule), _most(most) {}

    enum class next : uint8_t {
        look_again,    ///< whose the key is now, by route()
        do_here,       ///< by route()
        tell_unknown,  ///< it is over
    };
    /// The hint that led there is to be dropped.
    next on_trouble(forward_trouble why);
    /// It waited here, and the key has got a home elsewhere: that is no trouble.
    void on_moved();

    order_route route() const { return _route; }

private:
    if_unknown _rule;
    int _most;
    int _troubles = 0;
    order_route _route = order_route::to_home;
};

}  // namespace lockkeeper::shards
