#include <algorithm>

#include "lock_world.hh"

namespace lockkeeper::sim {
namespace {

using namespace std::chrono_literals;

/// Asks for a lock with SET NX, pauses, asks again. Libraries differ: one token for all attempts or
/// a new one each time, and some release after each failed attempt. Loses its connection between
/// the grant and the reply now and then; then it sends the same words over a new one.
class poller final : public actor {
public:
    poller(lock_world& world, uint32_t number)
        : actor(world, number),
          _has_lasting_token(random().chance(60)),
          _always_releases(random().chance(25)),
          _pause(random().whole(1ms, random().chance(70) ? 10ms : 40ms)) {
        begin();
    }

    void wake() override { _holds ? go_on() : ask(); }

    void hang_up() override {
        actor::hang_up();
        if (!has_stopped()) {
            sleep(1us);
        }
    }

private:
    void begin() {
        _holds = false;
        _resends = false;
        _key = any_key(usage::lock);
        _patience = static_cast<int>(random().between(1, random().chance(30) ? 5 : 200));
        _ttl = random().chance(85) ? std::optional(random().whole(1ms, plan().ttl)) : std::nullopt;
        new_token();
    }

    void new_token() { _token = "p" + std::to_string(_number) + "." + std::to_string(++_tokens); }

    /// Pauses have some jitter, never so much that it comes later than it is waited for.
    void pause() { sleep(nanoseconds(_pause) * random().between(75, 125) / 100); }

    void ask() {
        if (!_resends && !_has_lasting_token) {
            new_token();
        }
        const bool won = clerk().set_nx(_key, _token, _number, connection(), _ttl);
        if (won && !_resends && happens(plan().bad.lost_reply)) {
            // It does not know that it has won.
            clerk().orphan(_key, connection());
            clerk().disconnect(connection());
            reconnect();
            _resends = true;
            return sleep_between(0ms, 5ms);
        }
        _resends = false;
        if (won) {
            _holds = true;
            return sleep_between(0ms, plan().hold);
        }
        if (_always_releases || happens(plan().bad.mistake)) {
            clerk().unset(_key, _token);
        }
        if (--_patience <= 0) {
            begin();
            return sleep_between(0ms, plan().think);
        }
        if (happens(plan().bad.disconnect)) {
            clerk().disconnect(connection());
            reconnect();
        }
        pause();
    }

    void go_on() {
        if (happens(plan().bad.crash) && _ttl) {
            begin();
            return sleep_between(0ms, plan().think);
        }
        if (happens(plan().bad.disconnect)) {
            return hang_up();
        }
        if (happens(plan().bad.oversleep) && _ttl) {
            sleep(nanoseconds(*_ttl));
            _ttl.reset();
            return;
        }
        if (random().chance(10) && _ttl) {
            clerk().renew(_key, _token, random().whole(1ms, plan().ttl));
            return sleep_between(0ms, plan().hold);
        }
        clerk().unset(_key, _token);
        begin();
        sleep_between(0ms, plan().think);
    }

    const bool _has_lasting_token;
    const bool _always_releases;
    const milliseconds _pause;
    size_t _key = 0;
    std::string _token;
    uint64_t _tokens = 0;
    int _patience = 0;
    std::optional<milliseconds> _ttl;
    bool _holds = false;
    bool _resends = false;
};

/// Reentrant locks in a hash, as Redisson takes them: a script that looks, and acts if it may.
class hash_client final : public actor {
public:
    hash_client(lock_world& world, uint32_t number)
        : actor(world, number), _owner("h" + std::to_string(number)) {}

    void wake() override {
        if (_holds > 0 && random().chance(70)) {
            --_holds;
            clerk().hash_release(_key, _owner);
            return sleep_between(0ms, plan().think);
        }
        if (_holds == 0) {
            _key = any_key(usage::hash);
        }
        if (clerk().hash_acquire(_key, _owner, _number, connection(),
                                 random().whole(1ms, plan().ttl))) {
            ++_holds;
        } else {
            _holds = 0;
        }
        sleep_between(0ms, plan().hold);
    }

private:
    const std::string _owner;
    size_t _key = 0;
    int _holds = 0;
};

/// Does what it must not do, and looks at everything.
class administrator final : public actor {
public:
    using actor::actor;

    void wake() override {
        const size_t key = random().below(plan().keys.size());
        switch (random().below(100) < plan().bad.administrators ? random().below(9) : 99) {
            case 0:
                clerk().remove(key);
                break;
            case 1:
                clerk().expire(key, random().between(0ms, plan().ttl));
                break;
            case 2:
                clerk().persist(key);
                _persisted.push_back(key);
                break;
            case 3:
                clerk().break_lock(key);
                break;
            case 4:
                clerk().set(key, "root", random().whole(1ms, plan().ttl));
                break;
            case 5:
                if (random().chance(30)) {
                    clerk().flush(plan().keys[key].database);
                }
                break;
            case 6:
                // What it made last for ever ends some day.
                if (!_persisted.empty()) {
                    clerk().expire(_persisted.back(), 1ms);
                    _persisted.pop_back();
                }
                break;
            default:
                clerk().look(key);
        }
        sleep_between(0ms, 10ms);
    }

private:
    std::vector<size_t> _persisted;
};

}  // namespace

std::unique_ptr<actor> make_poller(lock_world& world, uint32_t number) {
    return std::make_unique<poller>(world, number);
}
std::unique_ptr<actor> make_hash_client(lock_world& world, uint32_t number) {
    return std::make_unique<hash_client>(world, number);
}
std::unique_ptr<actor> make_administrator(lock_world& world, uint32_t number) {
    return std::make_unique<administrator>(world, number);
}

}  // namespace lockkeeper::sim
