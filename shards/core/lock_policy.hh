#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockkeeper::shards {

/// How clients are treated that wait by asking again and again.
enum class poller_rule : uint8_t {
    barge,     ///< whoever asks at the right moment wins, until somebody has been starved
    reserve,   ///< a lock that comes free is kept for the one who has asked for it the longest
    park,      ///< the answer is held back for a while, in the queue of all who wait
    adaptive,  ///< ... of those who keep asking; first tries are answered at once
};

/// What the masters hold under the name of a lock.
enum class store_rule : uint8_t {
    lease,  ///< a value of the proxy's own
    token,  ///< the token of the client that has it
};

/// What to do about clients that wait for each other in a circle.
enum class deadlock_rule : uint8_t { report, refuse };

/// How the locks of some keys are treated. The configuration explains each of them to operators.
struct lock_policy {
    using milliseconds = std::chrono::milliseconds;

    poller_rule pollers = poller_rule::adaptive;
    /// The longest that an answer is held back.
    milliseconds park{50};
    /// A poller that was refused for this long is preferred to those who came later.
    milliseconds starvation_after{1'000};
    /// Locks with a TTL are kept alive for as long as their client is connected.
    bool renew = false;
    /// The longest hold of a lock that is kept alive by a connection; 0: no bound.
    milliseconds max_hold{600'000};
    /// A lock without a TTL is released this long after its connection has ended.
    milliseconds grace{1'000};
    /// A lock that ended without a release cannot be taken for this long.
    milliseconds lock_delay{0};
    /// Clients in the queue of one key.
    uint32_t max_waiters = 10'000;
    deadlock_rule deadlocks = deadlock_rule::report;
    store_rule store = store_rule::lease;
};

/// The policies of all keys: the first pattern that matches decides.
class policy_book {
public:
    struct rule {
        std::string pattern;  ///< as in Redis' KEYS
        lock_policy policy;
    };

    policy_book() = default;
    explicit policy_book(std::vector<rule> rules);

    /// Good until the book is replaced.
    const lock_policy& of(std::string_view key) const;

    /// Other policies from now on, for everything that is yet to be decided.
    void replace(policy_book next) noexcept;
    /// Grows when the book is replaced: whoever keeps what of() returned asks again then.
    uint32_t edition() const { return _edition; }
    /// Of all policies, those that have been replaced included: their locks may still be there.
    std::chrono::milliseconds longest_grace() const { return _longest_grace; }

    /// Whether `of` can ever say so: most tables never need to ask.
    bool any_renews() const { return _any_renews; }
    bool any_delays() const { return _any_delays; }
    bool any_parks() const { return _any_parks; }
    bool any_tokens() const { return _any_tokens; }
    /// Also of policies that have been replaced: their locks are renewed for as long as they live.
    bool has_renewed() const { return _has_renewed; }

private:
    std::vector<rule> _rules;
    lock_policy _default;
    std::chrono::milliseconds _longest_grace = _default.grace;
    uint32_t _edition = 0;
    bool _any_renews = false;
    bool _any_delays = false;
    bool _any_parks = false;
    bool _any_tokens = false;
    bool _has_renewed = false;
};

/// The policy of one key, as a book has it now: looked up at first, and when the book was replaced.
class remembered_policy {
public:
    /// `book` outlives it.
    remembered_policy(const policy_book& book, std::string_view key)
        : _book(book), _policy(&book.of(key)), _edition(book.edition()) {}

    /// Always of the same key.
    const lock_policy& of(std::string_view key) const {
        if (_edition != _book.edition()) [[unlikely]] {
            _policy = &_book.of(key);
            _edition = _book.edition();
        }
        return *_policy;
    }

private:
    const policy_book& _book;
    mutable const lock_policy* _policy;
    mutable uint32_t _edition;
};

}  // namespace lockkeeper::shards
