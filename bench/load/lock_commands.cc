#include "bench/load/lock_commands.hh"

#include <utility>

#include "protocol/command_writer.hh"

namespace lockkeeper::bench {

namespace {

using kind = scanned_reply::kind;
using answer = vote::answer;
using protocol::output;
using protocol::write_command;

vote say(bool yes) {
    return {.what = yes ? answer::yes : answer::no};
}

/// A reply of a shape that the command cannot have is an error too: it must not count as a lock.
constexpr vote nonsense{.what = answer::error};

/// LK.ACQUIRE, LK.EXTEND, LK.RELEASE: first come, first served, with fences.
class native_commands final : public lock_commands {
public:
    explicit native_commands(std::chrono::milliseconds ttl) : _ttl(ttl.count()) {}

    void write_acquire(output& out, const lock_name& lock) const override {
        write_command(out, "LK.ACQUIRE", lock.key, lock.token, "TTL", _ttl, "WAIT", 0);
    }
    void write_renew(output& out, const lock_name& lock) const override {
        write_command(out, "LK.EXTEND", lock.key, lock.token, _ttl);
    }
    void write_release(output& out, const lock_name& lock) const override {
        write_command(out, "LK.RELEASE", lock.key, lock.token);
    }

    /// [fence, ttl, holds] or nil.
    vote read_acquire(const scanned_reply& reply) const override {
        if (reply.what == kind::null) {
            return say(false);
        }
        if (reply.what != kind::array || reply.elements != 3) {
            return nonsense;
        }
        return {.what = answer::yes, .fence = static_cast<std::uint64_t>(reply.numbers[0])};
    }
    /// The TTL or nil.
    vote read_renew(const scanned_reply& reply) const override { return number_or_nil(reply); }
    /// Holds that are left or nil.
    vote read_release(const scanned_reply& reply) const override { return number_or_nil(reply); }

    bool waits_in_server() const override { return true; }

private:
    static vote number_or_nil(const scanned_reply& reply) {
        if (reply.what == kind::integer || reply.what == kind::null) {
            return say(reply.what == kind::integer);
        }
        return nonsense;
    }

    std::int64_t _ttl;
};

/// SET NX PX and scripts: what most libraries do, and RedLock on each of its masters.
class set_nx_commands final : public lock_commands {
public:
    set_nx_commands(std::chrono::milliseconds ttl, script_hashes scripts)
        : _ttl(ttl.count()), _scripts(std::move(scripts)) {}

    void write_acquire(output& out, const lock_name& lock) const override {
        write_command(out, "SET", lock.key, lock.token, "NX", "PX", _ttl);
    }
    void write_renew(output& out, const lock_name& lock) const override {
        write_command(out, "EVALSHA", _scripts.renew, 1, lock.key, lock.token, _ttl);
    }
    void write_release(output& out, const lock_name& lock) const override {
        write_command(out, "EVALSHA", _scripts.release, 1, lock.key, lock.token);
    }

    vote read_acquire(const scanned_reply& reply) const override {
        if (reply.what == kind::null) {
            return say(false);
        }
        return reply.what == kind::text && reply.text == "OK" ? say(true) : nonsense;
    }
    vote read_renew(const scanned_reply& reply) const override { return one_or_zero(reply); }
    vote read_release(const scanned_reply& reply) const override { return one_or_zero(reply); }

    bool waits_in_server() const override { return false; }

private:
    static vote one_or_zero(const scanned_reply& reply) {
        return reply.what == kind::integer ? say(reply.integer == 1) : nonsense;
    }

    std::int64_t _ttl;
    script_hashes _scripts;
};

/// A list with one token: who has popped it has the lock. No lease: a client that dies keeps it.
class blpop_commands final : public lock_commands {
public:
    void write_acquire(output& out, const lock_name& lock) const override {
        write_command(out, "BLPOP", lock.key, 0);
    }
    /// Refused among the options: there is nothing to renew.
    void write_renew(output&, const lock_name&) const override {}
    void write_release(output& out, const lock_name& lock) const override {
        write_command(out, "RPUSH", lock.key, blpop_token);
    }

    vote read_acquire(const scanned_reply& reply) const override {
        if (reply.what == kind::null) {
            return say(false);
        }
        return reply.what == kind::array && reply.elements == 2 ? say(true) : nonsense;
    }
    vote read_renew(const scanned_reply&) const override { return nonsense; }
    /// The length of the list before a waiting client takes the token: more than one token means
    /// that two clients thought they had it.
    vote read_release(const scanned_reply& reply) const override {
        return reply.what == kind::integer ? say(reply.integer == 1) : nonsense;
    }

    bool waits_in_server() const override { return true; }
};

}  // namespace

std::unique_ptr<const lock_commands> make_lock_commands(protocol_kind protocol,
                                                        std::chrono::milliseconds ttl,
                                                        const script_hashes& scripts) {
    switch (protocol) {
        case protocol_kind::native:
            return std::make_unique<native_commands>(ttl);
        case protocol_kind::blpop:
            return std::make_unique<blpop_commands>();
        case protocol_kind::set_nx:
        case protocol_kind::redlock:
            break;
    }
    return std::make_unique<set_nx_commands>(ttl, scripts);
}

}  // namespace lockkeeper::bench
