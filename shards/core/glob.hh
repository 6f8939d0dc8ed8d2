#pragma once

#include <string_view>

namespace lockkeeper::shards {

/// Whether `text` matches a pattern of Redis' kind, byte by byte and with case:
///
///     *  any bytes      ?  one byte      \x  x itself
///     [abc]  one of these      [a-z]  one of a range      [^abc]  any other byte
///
/// Oddities of Redis are kept, because ACLs and subscriptions written for it must mean the same
/// here: a class that is not closed ends with the pattern; `]` right after `[` closes an empty
/// class; a range may be written backwards and takes whatever byte follows its `-`, also a `]`;
/// bytes above 127 count as less than the others in a range; and a key without any byte matches
/// nothing but the empty pattern.
///
/// Time is at most the product of both lengths, whatever the pattern; there is no recursion.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace lockkeeper::shards
