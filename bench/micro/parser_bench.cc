/// How long does a command take to parse, and a reply to write?
///
///     parser_bench [case] [commands]        nanoseconds and allocations per command; all cases if
///     none is named parser_bench --list
///
/// For instructions per command, run one case twice under callgrind with a different number of
/// commands and divide the difference: the start of the program then cancels out.
///
///     valgrind --tool=callgrind --callgrind-out-file=/dev/null parser_bench set 100000
///
/// Input is a pipeline of about 16 KiB that is parsed again and again, as a busy session would see
/// it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/micro/cases.hh"
#include "protocol/command_writer.hh"
#include "protocol/output.hh"
#include "protocol/reply_parser.hh"
#include "protocol/reply_writer.hh"
#include "protocol/request_parser.hh"

namespace {

using namespace lockkeeper::protocol;

constexpr std::size_t pipeline_bytes = 16 * 1024;

/// Keeps the optimiser from dropping work whose result nobody reads.
std::uint64_t sink = 0;

std::string repeated(std::string_view command) {
    std::string pipeline;
    while (pipeline.size() + command.size() <= pipeline_bytes) {
        pipeline += command;
    }
    return pipeline;
}

[[noreturn]] void stop(const char* why) {
    std::fprintf(stderr, "parser_bench: %s\n", why);
    std::exit(1);
}

void parse_requests(std::string_view command, std::uint64_t commands) {
    const std::string pipeline = repeated(command);
    request_parser parser;
    std::string_view unread = pipeline;
    for (std::uint64_t i = 0; i != commands; ++i) {
        if (unread.empty()) {
            unread = pipeline;
        }
        const auto [outcome, consumed] = parser.parse(unread);
        if (outcome != request_outcome::request) {
            stop("the command is not one");
        }
        sink += parser.request().size();
        unread.remove_prefix(consumed);
    }
}

void parse_replies(std::string_view answer, std::uint64_t replies) {
    const std::string pipeline = repeated(answer);
    reply_parser parser;
    std::string_view unread = pipeline;
    for (std::uint64_t i = 0; i != replies; ++i) {
        if (unread.empty()) {
            unread = pipeline;
        }
        const auto [outcome, consumed] = parser.parse(unread);
        if (outcome != reply_outcome::reply) {
            stop("the reply is not one");
        }
        sink += static_cast<std::uint64_t>(parser.take().kind());
        unread.remove_prefix(consumed);
    }
}

template <typename Write>
void write_many(Write write, std::uint64_t times) {
    output out;
    for (std::uint64_t i = 0; i != times; ++i) {
        if (out.size() >= pipeline_bytes) {
            sink += out.size();
            out.clear();
        }
        write(out);
    }
    sink += out.size();
}

using lockkeeper::bench::bench_case;

constexpr bench_case cases[] = {
    {"set", "parse *6 SET k v NX PX 30000",
     [](std::uint64_t n) {
         parse_requests(
             "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n", n);
     }},
    {"set-long", "parse *6 SET <28-byte key> <36-byte owner> NX PX 30000",
     [](std::uint64_t n) {
         parse_requests(
             "*6\r\n$3\r\nSET\r\n$28\r\nlock:orders:{eu}:0000012345!\r\n"
             "$36\r\n123e4567-e89b-12d3-a456-426614174000\r\n$2\r\nNX\r\n$2\r\nPX\r\n$"
             "5\r\n30000\r\n",
             n);
     }},
    {"evalsha", "parse *5 EVALSHA <sha> 1 <key> <owner>",
     [](std::uint64_t n) {
         parse_requests(
             "*5\r\n$7\r\nEVALSHA\r\n$40\r\nda39a3ee5e6b4b0d3255bfef95601890afd80709\r\n$1\r\n1\r\n"
             "$28\r\nlock:orders:{eu}:0000012345!\r\n$36\r\n123e4567-e89b-12d3-a456-"
             "426614174000\r\n",
             n);
     }},
    {"ping", "parse *1 PING", [](std::uint64_t n) { parse_requests("*1\r\n$4\r\nPING\r\n", n); }},
    {"ping-inline", "parse inline PING", [](std::uint64_t n) { parse_requests("PING\r\n", n); }},
    {"many", "parse *12 MGET of eleven keys",
     [](std::uint64_t n) {
         std::string command = "*12\r\n$4\r\nMGET\r\n";
         for (int i = 0; i != 11; ++i) {
             command += "$10\r\nlock:00000\r\n";
         }
         parse_requests(command, n);
     }},
    {"reply-ok", "parse reply +OK", [](std::uint64_t n) { parse_replies("+OK\r\n", n); }},
    {"reply-integer", "parse reply :1", [](std::uint64_t n) { parse_replies(":1\r\n", n); }},
    {"reply-array", "parse reply *3 of integers",
     [](std::uint64_t n) { parse_replies("*3\r\n:17\r\n:30000\r\n:1\r\n", n); }},
    {"write-ok", "write +OK",
     [](std::uint64_t n) { write_many([](output& out) { reply_writer(out).ok(); }, n); }},
    {"write-grant", "write *3 of integers",
     [](std::uint64_t n) {
         write_many(
             [](output& out) {
                 reply_writer writer(out);
                 writer.array(3);
                 writer.integer(17);
                 writer.integer(30000);
                 writer.integer(1);
             },
             n);
     }},
    {"write-bulk", "write a bulk of 36 bytes",
     [](std::uint64_t n) {
         write_many(
             [](output& out) { reply_writer(out).bulk("123e4567-e89b-12d3-a456-426614174000"); },
             n);
     }},
    {"write-command", "write SET k v NX PX 30000",
     [](std::uint64_t n) {
         write_many([](output& out) { write_command(out, "SET", "k", "v", "NX", "PX", 30000); }, n);
     }},
};

}  // namespace

int main(int argc, char** argv) {
    const int code = lockkeeper::bench::run_cases(cases, 5'000'000, argc, argv);
    // Nobody but the optimiser cares for the sum.
    return sink == 0 && argc == 1 ? 1 : code;
}
