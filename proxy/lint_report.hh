#pragma once

#include <cstdint>
#include <seastar/core/future.hh>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/habit_log.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

struct services;

/// A habit in words; docs/linter.md has more of them.
struct habit_words {
    std::string_view name;
    std::string_view what;
    std::string_view advice;
};
const habit_words& words_of(shards::habit what);

/// A habit of some clients with some keys.
struct lint_row {
    shards::habit what{};
    std::string pattern{};
    std::string example{};
    uint32_t database = 0;
    uint64_t count = 0;    ///< about
    std::string client{};  ///< name, library or address of one that does it
    int64_t last_ms_ago = 0;
};

/// Over all cores and connections, the most frequent first.
ss::future<std::vector<lint_row>> lint(services& all);
ss::future<> forget_lint(services& all);

}  // namespace lockkeeper::proxy
