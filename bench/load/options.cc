#include "bench/load/options.hh"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "bench/load/duration_text.hh"

namespace lockkeeper::bench {

namespace {

using std::chrono::nanoseconds;

template <typename Value>
struct named {
    std::string_view name;
    Value value;
};

constexpr named<protocol_kind> protocols[] = {
    {"native", protocol_kind::native},
    {"set-nx", protocol_kind::set_nx},
    {"blpop", protocol_kind::blpop},
    {"redlock", protocol_kind::redlock},
};

constexpr named<load_mode> modes[] = {
    {"uncontended", load_mode::uncontended}, {"hot", load_mode::hot},   {"zipf", load_mode::zipf},
    {"spread", load_mode::spread},           {"once", load_mode::once}, {"renew", load_mode::renew},
};

/// What is wrong with a value; empty if nothing is.
using complaint = std::string;

template <typename Value, std::size_t Count>
complaint read_name(std::string_view text, const named<Value> (&names)[Count], Value& into) {
    std::string known;
    for (const auto& one : names) {
        if (text == one.name) {
            into = one.value;
            return {};
        }
        known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    return "'" + std::string(text) + "' is none of " + known;
}

template <typename Number>
complaint read_number(std::string_view text, Number least, Number most, Number& into) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || rest != end || !(value >= least && value <= most)) {
        std::string bounds;
        if constexpr (std::is_integral_v<Number>) {
            bounds = std::to_string(least) + " to " + std::to_string(most);
        } else {
            bounds = std::to_string(static_cast<int>(least)) + " to " +
                     std::to_string(static_cast<int>(most));
        }
        return "'" + std::string(text) + "' is not a number from " + bounds;
    }
    into = value;
    return {};
}

complaint read_duration(std::string_view text, nanoseconds least, nanoseconds& into) {
    const auto value = parse_duration(text);
    if (!value) {
        return "'" + std::string(text) + "' is not a time such as 50us, 10ms or 30s (up to a day)";
    }
    if (*value < least) {
        return "'" + std::string(text) + "' is less than " + to_text(least);
    }
    into = *value;
    return {};
}

complaint read_endpoint(std::string_view text, std::vector<endpoint>& into) {
    auto where = parse_endpoint(text);
    if (!where) {
        return where.error();
    }
    into.push_back(*std::move(where));
    return {};
}

complaint read_cpus(std::string_view text, std::vector<std::uint32_t>& into) {
    while (true) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::uint32_t cpu = 0;
        if (complaint wrong = read_number(text.substr(0, comma), 0U, 1023U, cpu); !wrong.empty()) {
            return wrong;
        }
        into.push_back(cpu);
        if (comma == text.size()) {
            return {};
        }
        text.remove_prefix(comma + 1);
    }
}

struct option {
    std::string_view name;
    std::string_view value;  ///< what --help calls it; empty if the option has none
    std::string_view help;   ///< lines after the first are indented by help_text
    complaint (*read)(load_options&, std::string_view);
};

constexpr std::string_view heading = {};

using o = load_options;
using text_view = std::string_view;

/// In the order of --help. A line without a name is a heading.
constexpr option table[] = {
    {heading, "", "What to load", nullptr},
    {"--server", "HOST:PORT",
     "a server that speaks RESP; repeat it for redlock, once for each\n"
     "master (an odd number), and for native and set-nx, once for each\n"
     "proxy of one fleet: clients are spread over them",
     [](o& all, text_view text) { return read_endpoint(text, all.servers); }},
    {"--protocol", "NAME",
     "how locks are taken (set-nx):\n"
     "  native   LK.ACQUIRE ... WAIT 0 and LK.RELEASE; waits in the server\n"
     "  set-nx   SET NX PX, and a script that deletes what is ours; polls\n"
     "  blpop    a list with one token: BLPOP and RPUSH; waits in the server\n"
     "  redlock  set-nx on all servers at once; a majority wins; polls",
     [](o& all, text_view text) { return read_name(text, protocols, all.protocol); }},
    {"--mode", "NAME",
     "which locks are wanted (uncontended):\n"
     "  uncontended  each client has a key of its own\n"
     "  hot          all clients want one key\n"
     "  zipf         --keys, some more popular than others (--zipf)\n"
     "  spread       --keys, all equally popular\n"
     "  once         one key; all clients queue before its first release,\n"
     "               then each gets it exactly once; --duration is the limit\n"
     "  renew        each client holds a key of its own and renews it",
     [](o& all, text_view text) { return read_name(text, modes, all.mode); }},
    {"--clients", "N", "clients, each with a connection (to each server) of its own (50)",
     [](o& all, text_view text) { return read_number(text, 1U, 1'000'000U, all.clients); }},
    {"--keys", "M", "keys of zipf and spread (1000)",
     [](o& all, text_view text) { return read_number(text, 1U, 10'000'000U, all.keys); }},
    {"--zipf", "S", "exponent of zipf: key i has the weight 1/i^S (0.99)",
     [](o& all, text_view text) { return read_number(text, 0.0, 10.0, all.zipf_exponent); }},
    {"--depth", "P",
     "sections that a client has under way at once on its connection,\n"
     "each on a key of its own; uncontended and renew only (1)",
     [](o& all, text_view text) { return read_number(text, 1U, 1'000U, all.depth); }},
    {"--hold", "TIME", "how long a lock is held, e.g. 500us (0: released at once)",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.hold); }},
    {"--think", "TIME", "pause of a client between two sections (0)",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.think); }},
    {"--renew-every", "TIME", "renew: pause between two renewals of a lock (100ms; 0: none)",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.renew_every); }},
    {"--gap", "TIME",
     "once: clients arrive by the clock, this far apart. Without it each\n"
     "comes when the server has the one before in its queue (INFO clients),\n"
     "or has refused it",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.gap.emplace()); }},
    {"--idle", "K", "further connections that do nothing (0)",
     [](o& all, text_view text) { return read_number(text, 0U, 1'000'000U, all.idle); }},

    {heading, "", "How locks are taken", nullptr},
    {"--ttl", "TIME", "lease of a lock, whole milliseconds (30s); blpop has none",
     [](o& all, text_view text) {
         return read_duration(text, std::chrono::milliseconds(1), all.ttl);
     }},
    {"--retry", "STRATEGY",
     "pause of a client that was refused: fixed:10ms, random:0-100ms or\n"
     "exponential:1ms-64ms (doubled each time; of that, a random part from\n"
     "half to all). set-nx: fixed:10ms, redlock: random:0-100ms",
     [](o& all, text_view text) -> complaint {
         all.retry = parse_retry(text);
         return all.retry ? ""
                          : "'" + std::string(text) +
                                "' is not like fixed:10ms, random:0-100ms or exponential:1ms-64ms";
     }},
    {"--round-timeout", "TIME", "redlock: an attempt without a majority fails after this (1s)",
     [](o& all, text_view text) {
         return read_duration(text, std::chrono::milliseconds(1), all.round_timeout);
     }},

    {heading, "", "How long", nullptr},
    {"--duration", "TIME", "what is measured (5s)",
     [](o& all, text_view text) {
         return read_duration(text, std::chrono::milliseconds(1), all.duration);
     }},
    {"--warmup", "TIME", "load before that, which is not measured (1s)",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.warmup); }},
    {"--drain", "TIME",
     "the longest wait, at the end, for locks to be released: each client\n"
     "finishes the section it is in, at most one (5s)",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.drain); }},

    {heading, "", "Where it runs", nullptr},
    {"--threads", "N", "threads that share the clients (1)",
     [](o& all, text_view text) { return read_number(text, 1U, 256U, all.threads); }},
    {"--cpus", "LIST", "pin the threads to these CPUs, one after the other: 0,2,4",
     [](o& all, text_view text) { return read_cpus(text, all.cpus); }},
    {"--spin", "TIME", "look for replies for this long before sleeping (0)",
     [](o& all, text_view text) { return read_duration(text, nanoseconds(0), all.spin); }},
    {"--sources", "N",
     "spread connections over the source addresses 127.0.0.1 to\n"
     "127.0.0.N: each has some 28,000 ports",
     [](o& all, text_view text) { return read_number(text, 1U, 254U, all.sources); }},

    {heading, "", "What is reported", nullptr},
    {"--server-pid", "PID", "report the CPU time of this process; repeat it for several",
     [](o& all, text_view text) {
         pid_t pid = 0;
         complaint wrong = read_number(text, 1, std::numeric_limits<pid_t>::max(), pid);
         all.server_pids.push_back(pid);
         return wrong;
     }},
    {"--master", "HOST:PORT",
     "report the commands that this Redis counts (INFO commandstats);\n"
     "repeat it for several. Default: each --server",
     [](o& all, text_view text) { return read_endpoint(text, all.masters); }},
    {"--starved-after", "TIME", "who waits this long counts as starved (3s)",
     [](o& all, text_view text) {
         return read_duration(text, std::chrono::milliseconds(1), all.starved_after);
     }},
    {"--label", "TEXT", "goes into the report",
     [](o& all, text_view text) {
         all.label = text;
         return complaint{};
     }},
    {"--verify", "",
     "check, while measuring, that no two clients are in a section of one\n"
     "key and that fences grow; exit code 3 if not",
     [](o& all, text_view) {
         all.verify = true;
         return complaint{};
     }},
    {"--key-prefix", "TEXT", "keys begin with this, at most 32 bytes (lock:)",
     [](o& all, text_view text) {
         all.key_prefix = text;
         return text.size() <= key_prefix_bytes_max ? complaint{} : "longer than 32 bytes";
     }},
    {"--seed", "N", "of random choices and of the keys' names (another one each time)",
     [](o& all, text_view text) {
         return read_number(text, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                            all.seed.emplace());
     }},

    {heading, "", "Else", nullptr},
    {"--allow-remote", "",
     "load servers of other machines too; without it every address must\n"
     "be of 127.0.0.0/8 or ::1",
     [](o& all, text_view) {
         all.allow_remote = true;
         return complaint{};
     }},
    {"--help", "", "this text",
     [](o& all, text_view) {
         all.help = true;
         return complaint{};
     }},
};

const option* find(std::string_view name) {
    const auto* found = std::ranges::find(table, name, &option::name);
    return found == std::end(table) || name.empty() ? nullptr : found;
}

complaint remote_address(const load_options& all) {
    if (all.allow_remote) {
        return {};
    }
    for (const auto* list : {&all.servers, &all.masters}) {
        for (const endpoint& where : *list) {
            if (!is_loopback(where)) {
                return where.text + " is not an address of this machine's loopback; a load " +
                       "generator can do harm, so it needs --allow-remote";
            }
        }
    }
    return {};
}

/// What single options cannot know.
complaint contradiction(const load_options& all) {
    const bool own_keys = all.mode == load_mode::uncontended || all.mode == load_mode::renew;
    if (all.servers.empty()) {
        return "--server is missing: where is the server to load? See --help";
    }
    if (complaint wrong = remote_address(all); !wrong.empty()) {
        return wrong;
    }
    if (all.protocol == protocol_kind::blpop && all.servers.size() > 1) {
        return "--protocol blpop takes one --server: its lists are in one place";
    }
    if (all.protocol == protocol_kind::redlock && all.servers.size() % 2 == 0) {
        return "--protocol redlock needs an odd number of --server, here are " +
               std::to_string(all.servers.size());
    }
    if (all.servers.size() > 31) {
        return "--server: more than 31 masters";
    }
    if (all.depth > 1 && !own_keys) {
        return "--depth is for uncontended and renew: a client that waits holds up its connection";
    }
    if (all.protocol == protocol_kind::blpop && all.mode == load_mode::renew) {
        return "--mode renew: a BLPOP token has no lease to renew";
    }
    if (all.mode == load_mode::once && all.clients < 2) {
        return "--mode once needs at least two --clients";
    }
    if (all.ttl % std::chrono::milliseconds(1) != nanoseconds(0)) {
        return "--ttl is not a whole number of milliseconds";
    }
    if (std::uint64_t{all.clients} * all.depth > 10'000'000) {
        return "--clients times --depth is more than 10000000";
    }
    return {};
}

}  // namespace

std::string_view name_of(protocol_kind protocol) {
    return std::ranges::find(protocols, protocol, &named<protocol_kind>::value)->name;
}

std::string_view name_of(load_mode mode) {
    return std::ranges::find(modes, mode, &named<load_mode>::value)->name;
}

std::expected<load_options, std::string> parse_options(std::span<const char* const> arguments) {
    load_options all;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string_view name = arguments[i];
        std::optional<std::string_view> value;
        if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
            value = name.substr(equals + 1);
            name = name.substr(0, equals);
        }
        const option* found = find(name);
        if (found == nullptr) {
            return std::unexpected("unknown option '" + std::string(name) + "'; see --help");
        }
        if (found->value.empty() && value) {
            return std::unexpected(std::string(name) + " takes no value");
        }
        if (!found->value.empty() && !value) {
            if (++i == arguments.size()) {
                return std::unexpected(std::string(name) +
                                       " needs a value: " + std::string(found->value));
            }
            value = arguments[i];
        }
        if (complaint wrong = found->read(all, value.value_or("")); !wrong.empty()) {
            return std::unexpected(std::string(name) + ": " + wrong);
        }
    }
    if (all.help) {
        return all;
    }
    if (complaint wrong = contradiction(all); !wrong.empty()) {
        return std::unexpected(wrong);
    }
    if (all.masters.empty()) {
        all.masters = all.servers;
    }
    return all;
}

std::string help_text() {
    std::string text =
        "lockbench: a closed-loop load of lock clients on a server that speaks RESP.\n\n"
        "    lockbench --server 127.0.0.1:6379 --protocol set-nx --mode hot --clients 100\n\n"
        "One JSON line goes to stdout, a line for people to stderr. Exit code: 0; 1 if it could\n"
        "not run or no section was completed; 2 for a mistake in the options; 3 if --verify\n"
        "found a violation. SIGINT and SIGTERM end the load early, release and report.\n"
        "In parentheses: defaults.\n";
    constexpr std::size_t column = 26;
    for (const option& one : table) {
        if (one.name.empty()) {
            text += "\n" + std::string(one.help) + ":\n";
            continue;
        }
        std::string left = "  " + std::string(one.name);
        if (!one.value.empty()) {
            left += " " + std::string(one.value);
        }
        left.resize(std::max(column, left.size() + 1), ' ');
        text += left;
        for (const char c : one.help) {
            text += c;
            if (c == '\n') {
                text.append(column, ' ');
            }
        }
        text += '\n';
    }
    return text;
}

}  // namespace lockkeeper::bench
