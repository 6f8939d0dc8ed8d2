#include "proxy/idioms/reply_map.hh"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lockkeeper::proxy::idioms {

namespace {

using kind = script_reply::kind;

/// A cell of the table in the header.
enum class cell : uint8_t {
    nil,
    zero,
    one,
    two,
    minus_one,
    minus_three,
    number,
    number_not_below_zero,
    seconds,
    ok,
    ok_text,
    true_text,
    false_text,
    text,
    number_text,
    instant,  ///< ":number", nil if there is none
    error,
    error_text,
    value_ttl,
    no_value_ttl,
    won_fence,
    lost_fence,
};

/// What is not named is nil: it cannot occur, and nil is the harmless answer in every library.
struct row {
    reply_map map;
    cell granted = cell::nil;
    cell renewed = cell::nil;
    cell refused = cell::nil;
    cell absent = cell::nil;
    cell untimed = cell::nil;
    cell forbidden = cell::nil;
    cell released = cell::nil;
    cell kept = cell::nil;
    cell left = cell::nil;
    cell lapsed = cell::nil;
    cell found = cell::nil;
};

using enum cell;

/// The table of the header, in the order of the enumerators.
constexpr row rows[] = {
    {.map = reply_map::one_zero,
     .granted = one,
     .renewed = one,
     .refused = zero,
     .absent = zero,
     .untimed = zero,
     .released = one,
     .kept = zero,
     .left = zero,
     .lapsed = zero,
     .found = one},
    {.map = reply_map::one_nil, .granted = one, .renewed = one, .released = one, .found = one},
    {.map = reply_map::one_zero_minus,
     .granted = one,
     .renewed = one,
     .refused = zero,
     .absent = minus_one,
     .untimed = zero,
     .released = one},
    {.map = reply_map::one_minus,
     .granted = one,
     .renewed = one,
     .refused = minus_one,
     .absent = minus_one,
     .untimed = zero,
     .released = one},
    {.map = reply_map::zero_one_two,
     .renewed = zero,
     .refused = one,
     .absent = one,
     .untimed = two,
     .released = zero},
    {.map = reply_map::ok_nil, .granted = ok, .renewed = ok, .released = ok},
    {.map = reply_map::ok_error,
     .granted = ok,
     .renewed = ok,
     .refused = error,
     .absent = error,
     .released = ok},
    {.map = reply_map::ok_one_error, .refused = error, .absent = ok, .released = one},
    {.map = reply_map::true_false,
     .granted = true_text,
     .renewed = true_text,
     .refused = false_text,
     .absent = false_text,
     .released = true_text},
    {.map = reply_map::count,
     .granted = number,
     .renewed = number,
     .refused = zero,
     .absent = zero,
     .released = number,
     .found = number},
    {.map = reply_map::number_or_nil, .found = number},
    {.map = reply_map::number_or_zero,
     .refused = zero,
     .absent = zero,
     .found = number_not_below_zero},
    {.map = reply_map::number_or_gone,
     .refused = minus_three,
     .absent = minus_three,
     .found = number},
    {.map = reply_map::seconds_or_error, .refused = error, .absent = error, .found = seconds},
    {.map = reply_map::value_ttl_pair,
     .refused = no_value_ttl,
     .absent = no_value_ttl,
     .found = value_ttl},
    {.map = reply_map::nil_number, .refused = number, .forbidden = error_text},
    {.map = reply_map::nil_one, .refused = one, .absent = one, .forbidden = error_text},
    {.map = reply_map::fenced_pair,
     .granted = won_fence,
     .renewed = won_fence,
     .refused = lost_fence,
     .forbidden = error_text},
    {.map = reply_map::release_nil, .released = one, .kept = zero, .left = zero},
    {.map = reply_map::release_one, .absent = one, .released = one, .kept = zero, .left = zero},
    {.map = reply_map::leave_nil, .released = one, .kept = zero, .left = one},
    {.map = reply_map::leave_one, .absent = one, .released = one, .kept = zero, .left = one},
    {.map = reply_map::each_one_zero,
     .granted = one,
     .renewed = one,
     .refused = zero,
     .absent = zero,
     .untimed = zero,
     .released = one,
     .kept = zero,
     .left = zero,
     .lapsed = zero,
     .found = one},
    {.map = reply_map::nothing},
    {.map = reply_map::permit_id, .granted = text, .refused = instant},
    {.map = reply_map::permit_ok, .granted = ok_text, .refused = instant},
    {.map = reply_map::drained, .refused = zero, .absent = zero, .found = number_text},
    {.map = reply_map::free_or_nil, .lapsed = number, .found = number_text},
    {.map = reply_map::free_or_zero,
     .refused = zero,
     .absent = zero,
     .lapsed = number,
     .found = number_text},
    {.map = reply_map::left_or_zero, .refused = zero, .absent = zero, .found = number},
};

constexpr bool rows_in_order() {
    for (size_t i = 0; i < std::size(rows); ++i) {
        if (static_cast<size_t>(rows[i].map) != i) {
            return false;
        }
    }
    return static_cast<size_t>(reply_map::left_or_zero) + 1 == std::size(rows);
}
static_assert(rows_in_order());

cell cell_of(const row& line, outcome what) {
    switch (what) {
        case outcome::granted:
            return line.granted;
        case outcome::renewed:
            return line.renewed;
        case outcome::refused:
            return line.refused;
        case outcome::absent:
            return line.absent;
        case outcome::untimed:
            return line.untimed;
        case outcome::forbidden:
            return line.forbidden;
        case outcome::released:
            return line.released;
        case outcome::kept:
            return line.kept;
        case outcome::left:
            return line.left;
        case outcome::lapsed:
            return line.lapsed;
        case outcome::found:
            return line.found;
        case outcome::latched_kept:
            return cell::zero;
        case outcome::latched_released:
            return cell::one;
    }
    return cell::nil;
}

script_reply integer(int64_t number) {
    return {.what = kind::integer, .number = number};
}

/// As TTL rounds PTTL; -1 is "no expiry".
int64_t to_seconds(int64_t milliseconds) {
    return milliseconds < 0 ? milliseconds : milliseconds / 1000 + (milliseconds % 1000 >= 500);
}

}  // namespace

script_reply reply_to(reply_map map, const result& ended) {
    switch (cell_of(rows[static_cast<size_t>(map)], ended.what)) {
        case cell::nil:
            return {};
        case cell::zero:
            return integer(0);
        case cell::one:
            return integer(1);
        case cell::two:
            return integer(2);
        case cell::minus_one:
            return integer(-1);
        case cell::minus_three:
            return integer(-3);
        case cell::number:
            return integer(ended.number);
        case cell::number_not_below_zero:
            return integer(std::max<int64_t>(ended.number, 0));
        case cell::seconds:
            return integer(to_seconds(ended.number));
        case cell::ok:
            return {.what = kind::status, .text = "OK"};
        case cell::ok_text:
            return {.what = kind::text, .text = "OK"};
        case cell::true_text:
            return {.what = kind::text, .text = "true"};
        case cell::false_text:
            return {.what = kind::text, .text = "false"};
        case cell::text:
            return {.what = kind::text, .text = ended.text};
        case cell::number_text:
            return {.what = kind::number_text, .number = ended.number};
        case cell::instant:
            if (ended.number < 0) {
                return {};
            }
            return {.what = kind::colon_number_text, .number = ended.number};
        case cell::error:
            return {.what = kind::error, .text = "ERROR"};
        case cell::error_text:
            return {.what = kind::error, .text = ended.text};
        case cell::value_ttl:
            return {.what = kind::text_integer_pair, .number = ended.number, .text = ended.text};
        case cell::no_value_ttl:
            return {.what = kind::nil_integer_pair, .number = -2};
        case cell::won_fence:
            return {.what = kind::integer_pair, .number = -1, .second = ended.fence};
        case cell::lost_fence:
            return {.what = kind::integer_pair, .number = ended.number, .second = -1};
    }
    return {};
}

}  // namespace lockkeeper::proxy::idioms
