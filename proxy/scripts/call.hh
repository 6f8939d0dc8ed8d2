#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/idioms/known_script.hh"
#include "proxy/idioms/reply_map.hh"
#include "shards/announcement.hh"
#include "shards/core/clock.hh"
#include "shards/core/key_hash.hh"
#include "shards/core/lock_table.hh"

/// Carries out on a lock table what recognised scripts do. Plain functions: no clock, no I/O, no
/// future. What has to leave the core (messages, woken clients) is collected in `effects`.
namespace lockkeeper::proxy::scripts {

/// Why an operation could not be carried out: an error of the table, or else a text to answer.
struct failure {
    std::optional<shards::lock_error> table{};
    std::string_view text{};  ///< good for ever

    friend bool operator==(const failure&, const failure&) = default;
};

template <typename T>
using attempt = std::expected<T, failure>;
using answer = attempt<idioms::result>;

inline constexpr failure not_an_integer{.text = "ERR value is not an integer or out of range"};
inline constexpr failure bad_set_expiry{.text = "ERR invalid expire time in 'set' command"};
inline constexpr failure bad_expire{.text = "ERR invalid expire time in 'expire' command"};
inline constexpr failure bad_pexpire{.text = "ERR invalid expire time in 'pexpire' command"};

inline std::unexpected<failure> fails(shards::lock_error error) {
    return std::unexpected(failure{.table = error});
}
inline std::unexpected<failure> fails(failure why) {
    return std::unexpected(why);
}
inline idioms::result ended(idioms::outcome what, int64_t number = 0) {
    return {.what = what, .number = number};
}

/// What remains to be done outside of the table, in this order.
struct effects {
    std::vector<std::string> signalled;  ///< lists that got an element: wake who waits for one
    std::vector<shards::announcement> announcements;
    /// For the reply map `each_one_zero`: how it ended for each key. The answer itself then says
    /// nothing.
    std::vector<idioms::result> each;
};

/// One call of a known script whose number of keys and arguments fits its layout. The views must
/// outlive it, and the answer too: its text may point into them.
struct call {
    const idioms::known_script& script;
    std::span<const std::string_view> keys;
    std::span<const std::string_view> arguments;
    uint32_t database;
    const shards::key_hasher& hasher;
    shards::lock_table& table;
    shards::instant now;
    int64_t wall_ms;  ///< Unix time, for what clients say in those terms
    effects& out;
    uint64_t client = 0;  ///< the connection that asks

    const idioms::traits& behaviour() const { return script.behaviour; }

    /// Whether the script has an element of this role, among ARGV or KEYS.
    bool has(idioms::role wanted) const;
    /// The (first) element of this role; "" if there is none.
    std::string_view text(idioms::role wanted) const;
    /// The same, as Redis reads an integer.
    attempt<int64_t> number(idioms::role wanted) const;
    static attempt<int64_t> number_of(std::string_view text);

    shards::lock_key named(std::string_view name) const;
    shards::lock_key key(idioms::role wanted) const { return named(text(wanted)); }
    shards::lock_key lock() const { return key(idioms::role::lock); }
    /// The role of a key or an argument, whichever group it stands in.
    static idioms::role role_at(const idioms::layout& all, size_t index);

    /// PTTL: milliseconds left, -1 without an end, -2 without a key.
    int64_t pttl(const shards::lock_key& of) const;
    int64_t milliseconds_until(std::optional<shards::instant> end) const;

    /// What PEXPIRE makes of a number of milliseconds: 0 or less is a moment that has passed.
    attempt<shards::instant> after(int64_t milliseconds) const;
    attempt<shards::instant> after(idioms::role milliseconds) const;
    /// What PEXPIREAT makes of the Unix time `at_ms`.
    attempt<shards::instant> at() const;
    /// The expiry that an extension asks for: `ttl_ms`, `ttl_s` or `at_ms`.
    attempt<shards::instant> new_end() const;
    /// The expiry of a key that SET creates: `ttl_ms`, `ttl_s`, `at_ms`, or none if there is no
    /// such role.
    attempt<shards::expiry_change> end_by_set() const;

    /// The key is absent: whether the caller may have it, or it is kept for somebody else.
    bool may_take(const shards::lock_key& what, std::string_view token) const {
        return table.may_take(what, client, token, now);
    }
    /// The caller did not get a lock, and will perhaps ask again. `number` of the result is PTTL,
    /// or for a lock that is kept the time until it is not.
    idioms::result refused(const shards::lock_key& what, std::string_view token) const;

    /// Publishes on the script's `channel`, if it has one: `message`, or else the lock's name.
    void publish() const;
    void publish(std::string_view payload) const;
    void publish_on(std::string channel, std::string_view payload) const;
    /// The same as publish(), of a lock that is free now: one of those who listen is enough.
    void publish_freed() const;
};

}  // namespace lockkeeper::proxy::scripts
