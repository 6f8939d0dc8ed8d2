#include "proxy/link_handshake.hh"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <stdexcept>

#include "protocol/command_writer.hh"
#include "protocol/text.hh"
#include "proxy/version.hh"
#include "shards/core/secret_proof.hh"

namespace lockkeeper::proxy {

namespace {

using shards::link_side;

constexpr size_t nonce_digits = 32;
constexpr size_t id_bytes_max = 64;

std::string fresh_nonce() {
    std::array<uint64_t, 2> bits{};
    if (getrandom(bits.data(), sizeof(bits), 0) != sizeof(bits)) {
        throw std::runtime_error("the kernel has no random numbers");
    }
    return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

std::string to_text(const protocol::output& bytes) {
    return std::string(bytes.view());
}

}  // namespace

link_caller::link_caller(const own_card& card, std::string_view secret)
    : _card(card), _secret(secret), _nonce(fresh_nonce()) {}

std::string link_caller::hello() const {
    protocol::output bytes;
    protocol::write_command(bytes, "LK.LINK", "HELLO", link_version, _card.id,
                            std::string_view(version), _card.fingerprint, _nonce);
    return to_text(bytes);
}

std::expected<std::string, std::string> link_caller::on_reply(const protocol::reply& reply) {
    if (reply.is_error()) {
        const bool is_stranger = reply.text().contains("unknown command");
        return std::unexpected(is_stranger ? "it is no Lockkeeper proxy, or an older one"
                                           : "it refuses us: " + protocol::sanitised(reply.text()));
    }
    if (!_has_proved) {
        return on_hello(reply);
    }
    if (!reply.is_ok()) {
        return std::unexpected("it is no Lockkeeper proxy");
    }
    return std::string();
}

std::expected<std::string, std::string> link_caller::on_hello(const protocol::reply& reply) {
    const auto items = reply.items();
    if (items.size() != 5 || items[0].text().empty()) {
        return std::unexpected("it is no Lockkeeper proxy");
    }
    _callee = items[0].text();
    _callee_version = protocol::sanitised(items[1].text());
    if (_callee == _card.id) {
        return std::unexpected("it is this proxy itself");
    }
    if (items[2].text() != _card.fingerprint) {
        return std::unexpected("it belongs to another fleet: its stripes or leases differ");
    }
    const shards::link_greeting greeting{.caller = _card.id,
                                         .callee = _callee,
                                         .caller_nonce = _nonce,
                                         .callee_nonce = items[3].text()};
    const std::string expected = shards::link_proof(_secret, link_side::callee, greeting);
    if (!shards::is_same_proof(items[4].text(), expected)) {
        return std::unexpected("it has another secret (proxies.secret)");
    }
    _has_proved = true;
    protocol::output bytes;
    protocol::write_command(bytes, "LK.LINK", "PROVE",
                            shards::link_proof(_secret, link_side::caller, greeting));
    return to_text(bytes);
}

std::string_view sort_of_refusal(std::string_view why) {
    struct sort {
        std::string_view words;
        std::string_view name;
    };
    // As they are said by either side.
    constexpr sort sorts[] = {{"another fleet", "fleet"},
                              {"another secret", "secret"},
                              {"over links", "version"},
                              {"over TLS only", "tls"}};
    for (const sort& one : sorts) {
        if (why.contains(one.words)) {
            return one.name;
        }
    }
    return "other";
}

link_callee::link_callee(const own_card& card, std::string_view secret)
    : _card(card), _secret(secret), _nonce(fresh_nonce()) {}

bool link_callee::on_hello(const protocol::request& args, protocol::reply_writer& reply) {
    if (args.size() != 7 || args[3].empty() || args[3].size() > id_bytes_max ||
        args[6].size() != nonce_digits) {
        reply.error(
            "ERR LINK a greeting needs a version, an id, a version, a fingerprint and a "
            "nonce");
        return false;
    }
    if (args[2] != fmt::format("{}", link_version)) {
        reply.error(fmt::format("ERR LINK this proxy speaks version {} over links", link_version));
        return false;
    }
    if (args[5] != _card.fingerprint) {
        reply.error("ERR LINK this proxy belongs to another fleet: its stripes or leases differ");
        return false;
    }
    _caller = args[3];
    _caller_nonce = args[6];
    _was_greeted = true;
    reply.array(5);
    reply.bulk(_card.id);
    reply.bulk(version);
    reply.bulk(_card.fingerprint);
    reply.bulk(_nonce);
    reply.bulk(shards::link_proof(_secret, link_side::callee,
                                  {.caller = _caller,
                                   .callee = _card.id,
                                   .caller_nonce = _caller_nonce,
                                   .callee_nonce = _nonce}));
    return true;
}

bool link_callee::on_prove(const protocol::request& args, protocol::reply_writer& reply) {
    const std::string expected = shards::link_proof(_secret, link_side::caller,
                                                    {.caller = _caller,
                                                     .callee = _card.id,
                                                     .caller_nonce = _caller_nonce,
                                                     .callee_nonce = _nonce});
    if (!_was_greeted || args.size() != 3 || !shards::is_same_proof(args[2], expected)) {
        reply.error(wrong_secret);
        return false;
    }
    reply.ok();
    return true;
}

}  // namespace lockkeeper::proxy
