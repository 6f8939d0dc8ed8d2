#include "proxy/user_roll.hh"

#include "config/sha256.hh"

namespace lockkeeper::proxy {

bool user_load::enter(uint32_t most) {
    uint32_t seen = connections.load(std::memory_order_relaxed);
    do {
        if (most > 0 && seen >= most) {
            return false;
        }
    } while (!connections.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed));
    return true;
}

bool user_load::take(uint32_t most, uint32_t second) {
    uint64_t seen = _window.load(std::memory_order_relaxed);
    while (true) {
        const bool is_now = seen >> 32 == second;
        const uint64_t taken = is_now ? seen & UINT32_MAX : 0;
        if (taken >= most) {
            return false;
        }
        const uint64_t next = uint64_t{second} << 32 | (taken + 1);
        if (_window.compare_exchange_weak(seen, next, std::memory_order_relaxed)) {
            return true;
        }
    }
}

user_roll::user_roll(std::vector<access::user> all, std::vector<user_load*> loads) {
    replace(std::move(all), std::move(loads));
}

void user_roll::replace(std::vector<access::user> all, std::vector<user_load*> loads) {
    std::map<std::string, identity_ptr, std::less<>> next;
    for (size_t i = 0; i < all.size(); ++i) {
        std::string name = all[i].name();
        auto& counted = _counted[name];
        if (!counted) {
            counted = std::make_unique<user_counters>();
        }
        next.emplace(std::move(name), ss::make_lw_shared<const identity>(
                                          identity{std::move(all[i]), loads[i], counted.get()}));
    }
    _standard = next.at("default");
    _all = std::move(next);
}

identity_ptr user_roll::find(std::string_view name) const {
    const auto found = _all.find(name);
    return found == _all.end() ? identity_ptr{} : found->second;
}

bool user_roll::standard_is_open() const {
    return _standard->rights.is_enabled() && !_standard->rights.needs_password();
}

identity_ptr user_roll::authenticate(std::string_view name, std::string_view password) const {
    // Hashed before anything is known of the user, and held against somebody's password in any
    // case: the time must not tell which names there are.
    const auto digest = config::sha256_of(password);
    const auto user = find(name);
    const bool right = (user ? user : _standard)->rights.accepts(digest);
    return user && right && user->rights.is_enabled() ? user : identity_ptr{};
}

void user_roll::note(denial what) {
    using namespace std::chrono_literals;
    constexpr size_t kept = 128;
    constexpr size_t looked_at = 10;
    constexpr auto same_within = 60s;
    // Who tries the same again and again must not push the rest out.
    for (size_t i = 0; i < _denials.size() && i < looked_at; ++i) {
        denial& earlier = _denials[i];
        if (earlier.why == what.why && earlier.in_transaction == what.in_transaction &&
            earlier.object == what.object && earlier.user == what.user &&
            what.at - earlier.at < same_within) {
            what.count = earlier.count + 1;
            _denials.erase(_denials.begin() + static_cast<ptrdiff_t>(i));
            break;
        }
    }
    _denials.push_front(std::move(what));
    if (_denials.size() > kept) {
        _denials.pop_back();
    }
}

std::vector<user_load*> user_loads::of(const std::vector<access::user>& all) {
    std::vector<user_load*> loads;
    for (const access::user& one : all) {
        auto& load = _by_name[one.name()];
        if (!load) {
            load = std::make_unique<user_load>();
        }
        loads.push_back(load.get());
    }
    return loads;
}

}  // namespace lockkeeper::proxy
