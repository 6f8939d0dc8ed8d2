#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::shards {

/// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), as 64 hexadecimal digits.
std::string sha256_hex(std::string_view text);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

/// Two proxies that begin to talk: who called whom, and a random number of each that was never used
/// before.
struct link_greeting {
    std::string_view caller;
    std::string_view callee;
    std::string_view caller_nonce;
    std::string_view callee_nonce;
};

enum class link_side : unsigned char { caller, callee };

/// What the proxy on this side says to show that it knows the secret, without telling it. The two
/// sides say different things, so that an answer cannot be sent back as a question; and each holds
/// for this one greeting only.
std::string link_proof(std::string_view secret, link_side side, const link_greeting& greeting);

/// Takes as long for a near miss as for a far one.
bool is_same_proof(std::string_view one, std::string_view other);

}  // namespace lockkeeper::shards
