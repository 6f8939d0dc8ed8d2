#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <seastar/core/lowres_clock.hh>
#include <string>

#include "proxy/services.hh"

namespace lockkeeper::proxy::admin {

namespace ss = seastar;

/// The one thing that the page can change, where `http.break_locks` allows it: an admin breaks a
/// lock, as LK.BREAK does. Lives on core 0.
///
/// Who asks says who he is with each request: a user with a password who may run LK.BREAK for that
/// key. No browser keeps that for us, so no other site can make one ask on its owner's behalf; and
/// if one tried, the header that only our own page sends would be missing.
class lock_breaker {
public:
    explicit lock_breaker(services& all) : _all(all) {}

    /// A request, in the words of HTTP.
    struct wish {
        std::string host;           ///< that it was sent to
        std::string origin;         ///< the site that it comes from, if a browser tells
        std::string site;           ///< Sec-Fetch-Site: what that site is to us
        std::string mark;           ///< X-Lockkeeper
        std::string authorization;  ///< who asks
        std::string peer;           ///< from where, for the log
        uint32_t database = 0;
        std::string key;
        /// Of the lock that he saw: if somebody else has it by now, it is not broken.
        uint64_t fence = 0;
    };
    struct outcome {
        int status;
        std::string text;
    };
    ss::future<outcome> break_lock(wish asked);

private:
    enum class end : uint8_t { broken, absent, changed };

    identity_ptr find_admin(const wish& asked);
    bool may_guess_again();
    ss::future<outcome> break_elsewhere(wish asked);
    static ss::future<end> break_here(shards::lock_service& locks, uint32_t database,
                                      std::string key, uint64_t fence);

    services& _all;
    ss::lowres_clock::time_point _failures_since{};
    uint32_t _failures = 0;
};

/// Whether a request comes from our own page, as far as its headers tell.
bool is_from_own_page(const lock_breaker::wish& asked);

}  // namespace lockkeeper::proxy::admin
