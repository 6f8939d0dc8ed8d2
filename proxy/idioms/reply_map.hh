#pragma once

#include <cstdint>
#include <string_view>

namespace lockkeeper::proxy::idioms {

/// How an operation ended. Which of them an operation can have, and what they mean there:
/// operation.hh.
enum class outcome : uint8_t {
    granted,           ///< taken anew
    renewed,           ///< was the caller's already; taken again or extended
    refused,           ///< somebody else's
    absent,            ///< there is nothing to release, extend or read
    untimed,           ///< the caller's, but without an expiry that could be extended
    forbidden,         ///< the caller's, and the script does not allow re-entry
    released,          ///< gone; also "done" for operations that cannot fail
    kept,              ///< one hold less, the caller still has some
    left,              ///< the caller's last hold is gone, the lock lives on
    lapsed,            ///< done, but the permit had ended before
    found,             ///< read
    latched_kept,      ///< repeated request, answered 0 before
    latched_released,  ///< repeated request, answered 1 before
};

/// An operation's outcome with its numbers.
struct result {
    outcome what;
    int64_t number = 0;          ///< PTTL, count, instant: as the operation says
    int64_t fence = 0;           ///< reentrant_acquire with a fence
    std::string_view text = {};  ///< value, permit id, or error text
};

/// From outcome to reply. A dash: that outcome does not occur in the scripts of this map.
///
/// :n is an integer, +OK a simple string, "text" a bulk string, -ERR an error, nil the null of the
/// connection's protocol (RESP2 `$-1`, RESP3 `_`). `n`, `fence` and `text` are those of the result.
///
///   map              | granted | renewed | refused    | absent     | others
///   -----------------+---------+---------+------------+------------+---------------------------
///   one_zero         | :1      | :1      | :0         | :0         | released, found :1;
///                    |         |         |            |            | untimed, lapsed :0
///   one_nil          | :1      | :1      | nil        | nil        | released :1
///   one_zero_minus   | -       | -       | :0         | :-1        | released :1
///   one_minus        | :1      | :1      | :-1        | :-1        | released :1
///   zero_one_two     | -       | :0      | :1         | :1         | released :0, untimed :2
///   ok_nil           | +OK     | +OK     | nil        | nil        | released +OK
///   ok_error         | +OK     | +OK     | -ERR ERROR | -          |
///   ok_one_error     | -       | -       | -ERR ERROR | +OK        | released :1
///   true_false       | -       | -       | "false"    | "false"    | released "true"
///   count            | :n      | :n      | :0         | :0         | released :n
///   number_or_nil    | -       | -       | nil        | nil        | found :n
///   number_or_zero   | -       | -       | :0         | :0         | found :n, :0 if below 0
///   number_or_gone   | -       | -       | :-3        | :-3        | found :n
///   seconds_or_error | -       | -       | -ERR ERROR | -ERR ERROR | found :n in s, -1 stays
///   value_ttl_pair   | -       | -       | -          | [nil, :-2] | found ["text", :n]
///   nil_number       | nil     | nil     | :n         | -          | forbidden -ERR text
///   nil_one          | nil     | nil     | :1         | -          | forbidden -ERR text
///   fenced_pair      | [:-1, :fence]     | [:n, :-1]  | -          |
///   release_nil      | -       | -       | nil        | nil        | kept, left :0; released :1
///   release_one      | -       | -       | nil        | :1         | kept, left :0; released :1
///   leave_nil        | -       | -       | nil        | nil        | kept :0; left, released :1
///   leave_one        | -       | -       | nil        | :1         | kept :0; left, released :1
///   each_one_zero    | an array: for each group of keys what one_zero says
///   nothing          | nil     | nil     | nil        | nil        | nil
///   permit_id        | "text"  | -       | ":n"       | -          | refused, n below 0: nil
///   permit_ok        | "OK"    | -       | ":n"       | -          | refused, n below 0: nil
///   drained          | -       | -       | -          | :0         | found "n"
///   free_or_nil      | -       | -       | -          | nil        | found "n", lapsed :n
///   free_or_zero     | -       | -       | -          | :0         | found "n", lapsed :n
///   left_or_zero     | -       | -       | -          | :0         | found :n
///
///   In every map latched_kept is :0 and latched_released is :1.
enum class reply_map : uint8_t {
    one_zero,
    one_nil,
    one_zero_minus,
    one_minus,
    zero_one_two,
    ok_nil,
    ok_error,
    ok_one_error,
    true_false,
    count,
    number_or_nil,
    number_or_zero,
    number_or_gone,
    seconds_or_error,
    value_ttl_pair,
    nil_number,
    nil_one,
    fenced_pair,
    release_nil,
    release_one,
    leave_nil,
    leave_one,
    each_one_zero,
    nothing,
    permit_id,
    permit_ok,
    drained,
    free_or_nil,
    free_or_zero,
    left_or_zero,
};

/// What to write to the client.
struct script_reply {
    enum class kind : uint8_t {
        nil,
        integer,            ///< number
        status,             ///< simple string: text
        text,               ///< bulk string: text
        number_text,        ///< bulk string: number in decimal
        colon_number_text,  ///< bulk string: a colon, then number in decimal
        error,              ///< `-ERR ` and text; a text of several words brings its own first word
        integer_pair,       ///< array of number and second
        text_integer_pair,  ///< array of text (bulk) and number
        nil_integer_pair,   ///< array of nil and number
    };

    kind what = kind::nil;
    int64_t number = 0;
    int64_t second = 0;
    std::string_view text = {};  ///< a literal, or the result's own text
    bool operator==(const script_reply&) const = default;
};

/// The reply to one result. For `each_one_zero`: to one key; the array around them is up to the
/// caller.
script_reply reply_to(reply_map map, const result& ended);

std::string_view name_of(reply_map map);

}  // namespace lockkeeper::proxy::idioms
