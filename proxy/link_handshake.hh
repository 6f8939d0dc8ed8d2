#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "protocol/reply.hh"
#include "protocol/reply_writer.hh"
#include "protocol/request.hh"
#include "proxy/peers.hh"

/// How two proxies find out that they belong together, before the first request crosses:
///
///     caller:  LK.LINK HELLO <link version> <id> <version> <fingerprint> <nonce>
///     callee:  [id, version, fingerprint, nonce, proof]
///     caller:  LK.LINK PROVE <proof>
///     callee:  OK, and from now on it is a link
///
/// Each side shows that it knows the secret by a proof over both ids and both nonces
/// (core/secret_proof.hh); the secret itself is never sent. No I/O here.
namespace lockkeeper::proxy {

/// The side that made the connection.
class link_caller {
public:
    link_caller(const own_card& card, std::string_view secret);

    /// The first words.
    std::string hello() const;
    /// What to say next; empty when all is said and the link may begin. An error is a reason not to
    /// talk to this one, for people.
    std::expected<std::string, std::string> on_reply(const protocol::reply& reply);

    const std::string& callee() const { return _callee; }
    const std::string& callee_version() const { return _callee_version; }

private:
    std::expected<std::string, std::string> on_hello(const protocol::reply& reply);

    const own_card& _card;
    std::string_view _secret;
    std::string _nonce;
    std::string _callee;
    std::string _callee_version;
    bool _has_proved = false;
};

/// The side that was called: part of a session until its caller has proved itself.
class link_callee {
public:
    link_callee(const own_card& card, std::string_view secret);

    /// LK.LINK HELLO. False if it was refused, which has been said.
    bool on_hello(const protocol::request& args, protocol::reply_writer& reply);
    /// LK.LINK PROVE. True if the connection is a link from now on.
    bool on_prove(const protocol::request& args, protocol::reply_writer& reply);

    const std::string& caller() const { return _caller; }

private:
    const own_card& _card;
    std::string_view _secret;
    std::string _nonce;
    std::string _caller;
    std::string _caller_nonce;
    bool _was_greeted = false;
};

/// Which sort of reason it is that two proxies do not talk: fleet, secret, version, tls, or other.
std::string_view sort_of_refusal(std::string_view why);

/// What is said to a caller that does not know the secret.
inline constexpr std::string_view wrong_secret =
    "NOAUTH this proxy has another secret (proxies.secret)";

}  // namespace lockkeeper::proxy
