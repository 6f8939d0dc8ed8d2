#include "proxy/log_lines.hh"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <iostream>
#include <optional>
#include <streambuf>

#include "protocol/text.hh"

namespace lockkeeper::proxy {

namespace {

std::atomic<bool> is_json = false;

/// Between a text and its members. Whoever uses it writes other people's control bytes as \xHH.
constexpr char members_mark = '\x1f';
constexpr std::string_view with_members_only = "audit";

/// Takes what one insertion of the stream brings, which is a line, and writes it at once. It has no
/// memory: all cores write to the same stream.
class line_writer final : public std::streambuf {
public:
    explicit line_writer(int descriptor) : _descriptor(descriptor) {}

protected:
    std::streamsize xsputn(const char* bytes, std::streamsize size) override {
        const std::string_view line(bytes, static_cast<size_t>(size));
        if (!is_json.load(std::memory_order_relaxed)) {
            write(line);
            return size;
        }
        // A stream that has seen an exception says nothing any more.
        try {
            write(to_json_line(line, std::chrono::system_clock::now()));
        } catch (...) {
            write("{\"level\":\"error\",\"message\":\"no memory for a line of the log\"}\n");
        }
        return size;
    }
    int_type overflow(int_type byte) override {
        if (traits_type::eq_int_type(byte, traits_type::eof())) {
            return traits_type::not_eof(byte);
        }
        const char one = traits_type::to_char_type(byte);
        xsputn(&one, 1);
        return byte;
    }

private:
    /// A log that cannot be written has nobody to complain to.
    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t done = ::write(_descriptor, bytes.data(), bytes.size());
            if (done < 0 && errno == EINTR) {
                continue;
            }
            if (done <= 0) {
                return;
            }
            bytes.remove_prefix(static_cast<size_t>(done));
        }
    }

    int _descriptor;
};

struct parts {
    std::string_view level = "info";
    std::string_view core{};
    std::string_view group{};
    std::string_view logger{};
    std::string_view message{};
};

/// Terminals get colours around the level.
std::string_view without_colour(std::string_view line) {
    if (line.starts_with("\x1b[")) {
        const size_t end = line.find('m');
        return end == std::string_view::npos ? line : line.substr(end + 1);
    }
    return line;
}

std::optional<std::string_view> level_of(std::string_view line) {
    struct level {
        std::string_view shown;
        std::string_view name;
    };
    constexpr std::array<level, 5> levels = {{{"ERROR", "error"},
                                              {"WARN ", "warn"},
                                              {"INFO ", "info"},
                                              {"DEBUG", "debug"},
                                              {"TRACE", "trace"}}};
    for (const auto& [shown, name] : levels) {
        if (line.starts_with(shown)) {
            return name;
        }
    }
    return std::nullopt;
}

/// Nothing before the first " - " comes from clients.
parts take_apart(std::string_view line) {
    parts all{.message = line};
    const std::string_view plain = without_colour(line);
    const auto level = level_of(plain);
    const size_t dash = plain.find(" - ");
    if (!level || dash == std::string_view::npos) {
        return all;
    }
    const std::string_view head = plain.substr(0, dash);
    all.level = *level;
    all.logger = head.substr(head.rfind(' ') + 1);
    all.message = plain.substr(dash + 3);
    constexpr std::string_view shard = "[shard ";
    if (const size_t begin = head.find(shard); begin != std::string_view::npos) {
        std::string_view inside = head.substr(begin + shard.size());
        inside = inside.substr(0, inside.find(']'));
        const size_t colon = inside.find(':');
        all.core = inside.substr(0, colon);
        all.core.remove_prefix(std::min(all.core.find_first_not_of(' '), all.core.size()));
        all.group = colon == std::string_view::npos ? std::string_view{} : inside.substr(colon + 1);
        all.group = all.group.substr(0, all.group.find_last_not_of(' ') + 1);
    }
    return all;
}

/// In UTC, as RFC 3339 has it.
std::string show_time(std::chrono::system_clock::time_point now) {
    using namespace std::chrono;
    const auto since = duration_cast<milliseconds>(now.time_since_epoch());
    const std::time_t second = since.count() / 1000;
    std::tm parts{};
    gmtime_r(&second, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       since.count() % 1000);
}

}  // namespace

void take_over_log() {
    // For as long as there are streams, which is longer than anything else.
    static auto* const out = new line_writer(STDOUT_FILENO);
    static auto* const error = new line_writer(STDERR_FILENO);
    std::cout.rdbuf(out);
    std::cerr.rdbuf(error);
}

void set_log_format(config::log_format format) {
    is_json.store(format == config::log_format::json, std::memory_order_relaxed);
}

std::string with_members(std::string_view text, admin::json more) {
    if (!is_json.load(std::memory_order_relaxed)) {
        return std::string(text);
    }
    std::string object = more.take();
    return fmt::format("{}{}{}", text, members_mark,
                       std::string_view(object).substr(1, object.size() - 2));
}

std::string to_json_line(std::string_view line, std::chrono::system_clock::time_point now) {
    if (line.ends_with('\n')) {
        line.remove_suffix(1);
    }
    const parts all = take_apart(line);
    std::string_view message = all.message;
    std::string_view members;
    if (all.logger == with_members_only) {
        // Members have no bare control bytes, so theirs is the last one.
        if (const size_t mark = message.rfind(members_mark); mark != std::string_view::npos) {
            members = message.substr(mark + 1);
            message = message.substr(0, mark);
        }
    }
    admin::json out;
    out.begin_object().member("time", show_time(now)).member("level", all.level);
    if (const auto core = protocol::parse_integer(all.core)) {
        out.member("core", *core).member("group", all.group);
    }
    if (!all.logger.empty()) {
        out.member("logger", all.logger);
    }
    out.member("message", message).end();
    std::string text = out.take();
    if (!members.empty()) {
        text.back() = ',';
        text += members;
        text += '}';
    }
    return text + '\n';
}

}  // namespace lockkeeper::proxy
