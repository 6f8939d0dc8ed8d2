#pragma once

#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/iostream.hh>
#include <seastar/net/api.hh>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/output.hh"
#include "protocol/reply.hh"
#include "protocol/reply_parser.hh"
#include "protocol/reply_writer.hh"
#include "protocol/request.hh"
#include "proxy/owned_request.hh"
#include "shards/core/forwarding.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

class client;

using shards::forward_trouble;

using forward_result = std::expected<protocol::reply, forward_trouble>;

/// The words with which a proxy says that it does not have the lease of a key.
inline constexpr std::string_view not_home_code = "NOTHOME";

/// What a client had chosen when it said something: it may have chosen anew by the time that this
/// is sent on.
struct client_choices {
    uint32_t database;
    protocol::version spoken;
};

struct call_options {
    bool may_last = false;                  ///< it may wait there for long
    std::optional<client_choices> as_of{};  ///< default: as it is now
};

/// One client's conversations with the proxies that have the leases of its keys. At each of them it
/// is a client like any other, for as long as it stays connected here: what it waits for ends when
/// it leaves, and so do locks that live by its connection. Each request is made in the protocol
/// version and the database in which the client made it.
class forwarder {
public:
    explicit forwarder(client& owner);
    ~forwarder();

    /// Requests to one proxy are carried out in the order of the calls. Never fails.
    ss::future<forward_result> call(std::string_view home, const protocol::request& request,
                                    call_options how = {});
    /// Several in one piece, in one conversation or not at all, and nothing comes between them. The
    /// result is that of the last one. `only_in`: in that conversation or not at all.
    ss::future<forward_result> call_together(std::string_view home,
                                             std::span<const owned_request> requests,
                                             std::optional<uint64_t> only_in = std::nullopt);
    /// The client has said more while it waits for answers, or is not to wait any longer: whoever
    /// holds one back, or has it stand in line, need not.
    void say_that_there_is_more();
    /// The client has left and had read all its answers: nobody need think that it will ask again.
    void say_that_all_was_heard();
    /// The conversation with that proxy goes on, as far as we know.
    bool is_talking_to(std::string_view home) const { return conversation_with(home) != 0; }
    /// Its number: another one knows nothing of what was said in this one. 0: there is none.
    uint64_t conversation_with(std::string_view home) const;
    /// Ends all conversations now; who waits for an answer hears that it is unknown. Then close().
    void cut();
    ss::future<> close();

private:
    class conversation;

    struct ended_locks {
        uint32_t database = 0;
        std::vector<std::string> keys{};
        std::string owner{};
        bool only_if_none_left = false;  ///< the answer counts the holds that are left
    };
    /// The one that goes on, or a new one; null if there is no way to that proxy.
    conversation* talk_to(std::string_view home);
    client_choices choices() const;
    ended_locks locks_ended_by(const protocol::request& request, uint32_t database) const;
    void note_ended(const ended_locks& ends, const protocol::reply& answer);

    client& _owner;
    uint64_t _begun = 0;
    std::map<std::string, std::unique_ptr<conversation>, std::less<>> _with;
};

}  // namespace lockkeeper::proxy
