#include "shards/masters/master_scripts.hh"

#include <algorithm>
#include <stdexcept>

namespace lockkeeper::shards {

namespace {

// The fence table is one hash. Its fields:
//
//     inc          run_id of the admitted incarnation
//     cfg          fingerprint of the fleet
//     base         where counting began here
//     dur          "always" if it was found to write before it answers
//     pend, pinc   nonce and run_id of an incarnation that waits to be admitted
//     wide         too long for the packed form of small hashes, in which each look-up reads the
//                  fields one after the other: 9 us for a counter among 200, instead of 1
//     0 .. 65535   fences taken from a slot since
//
// A fence counter is `base` + slot. Lua's numbers are doubles, exact below 2^53; they are written
// with %.0f, since tostring() would give 1.84e+15.

/// Ends the script with `answer` if the master is not what was admitted.
constexpr std::string_view unless_admitted =
    "if f[1]~='@RUN' or f[2]~='@CFG' then return {-1} end\n";

// Whose key is it? Ours if it holds the value that comes first, or one of those that come last, if
// any: under `store: token` a master that missed an exchange may hold an earlier token. What is
// absent is `false`, and a value that was not sent is nil, which is not the same.
constexpr std::string_view raise_text =
    "local f=redis.call('HMGET',KEYS[2],'inc','cfg','base',ARGV[2])\n"
    "@ADMITTED"
    "local v=redis.call('GET',KEYS[1])\n"
    "if v~=ARGV[1] and v~=ARGV[4] and v~=ARGV[5] and v~=ARGV[6] then return {0} end\n"
    "local b=tonumber(f[3])\n"
    "if b+tonumber(f[4] or '0')<tonumber(ARGV[3]) then\n"
    " redis.call('HSET',KEYS[2],ARGV[2],string.format('%.0f',tonumber(ARGV[3])-b))\n"
    "end\n"
    "return {1}";

// Never brings the end of a key nearer: the lease may be valid by an earlier, longer promise. Puts
// the first value into its place.
constexpr std::string_view renew_text =
    "local f=redis.call('HMGET',KEYS[2],'inc','cfg','base')\n"
    "@ADMITTED"
    "local v=redis.call('GET',KEYS[1])\n"
    "if v~=ARGV[1] then\n"
    " if v~=ARGV[5] and v~=ARGV[6] and v~=ARGV[7] then return {0} end\n"
    " redis.call('SET',KEYS[1],ARGV[1],'KEEPTTL')\n"
    "end\n"
    "if redis.call('PTTL',KEYS[1])<tonumber(ARGV[2]) then redis.call('PEXPIRE',KEYS[1],ARGV[2]) "
    "end\n"
    "if ARGV[4]=='0' then return {1} end\n"
    "return {1,string.format('%.0f',tonumber(f[3])+redis.call('HINCRBY',KEYS[2],ARGV[3],ARGV[4]))}";

constexpr std::string_view release_text =
    "-- @RUN\n"
    "local v=redis.call('GET',KEYS[1])\n"
    "if v==ARGV[1] or v==ARGV[2] or v==ARGV[3] or v==ARGV[4] then return redis.call('DEL',KEYS[1]) "
    "end\n"
    "return 0";

// That the last one admitted wrote before it answered says nothing of one that may have lost
// something, nor of those that come after it.
constexpr std::string_view pend_text =
    "local f=redis.call('HMGET',KEYS[1],'inc','pend','pinc')\n"
    "if f[1]=='@RUN' then return {1} end\n"
    "if ARGV[2]=='' then redis.call('HDEL',KEYS[1],'dur') end\n"
    "if f[2] and f[3]=='@RUN' then return {0,f[2],f[1] or ''} end\n"
    "redis.call('HSET',KEYS[1],'pend',ARGV[1],'pinc','@RUN')\n"
    "return {0,ARGV[1],f[1] or ''}";

// All counters begin anew at one base: the highest of those here and of what the others say. Slots
// that were kept would count on from it, and with every restart fences would run further ahead of
// the clock; but the clock is all that is left when a majority forgets.
constexpr std::string_view admit_text =
    "local f=redis.call('HMGET',KEYS[1],'inc','cfg','pend','pinc','base')\n"
    "if f[1]=='@RUN' then return f[2]=='@CFG' and 1 or 0 end\n"
    "if f[3]~=ARGV[1] or f[4]~='@RUN' then return 0 end\n"
    "local b=tonumber(ARGV[2])\n"
    "if f[5] then\n"
    " local t,m=redis.call('HGETALL',KEYS[1]),0\n"
    " for i=1,#t,2 do\n"
    "  local c=tonumber(t[i]) and tonumber(t[i+1]) or 0\n"
    "  if c>m then m=c end\n"
    " end\n"
    " b=math.max(b,tonumber(f[5])+m)\n"
    "end\n"
    "redis.call('UNLINK',KEYS[1])\n"
    "redis.call('HSET',KEYS[1],'inc','@RUN','cfg','@CFG','base',string.format('%.0f',b),"
    "'dur',ARGV[3],'wide',string.rep('-',65))\n"
    "return 1";

// A master that is full refuses what needs memory, but lets a mark that is there live longer: its
// leases can be renewed. A mark of 0 ms only finds out whether there could be one, and leaves none:
// by a mark it is known that somebody uses the group.
constexpr std::string_view mark_text =
    "local f=redis.call('HMGET',KEYS[1],'inc','cfg')\n"
    "@ADMITTED"
    "local t=redis.call('PTTL',KEYS[2])\n"
    "if t==-2 then\n"
    " redis.call('SET',KEYS[2],'1','PX',ARGV[1]=='0' and 1 or ARGV[1])\n"
    " if ARGV[1]=='0' then redis.call('DEL',KEYS[2]) end\n"
    "elseif t>=0 and t<tonumber(ARGV[1]) then redis.call('PEXPIRE',KEYS[2],ARGV[1]) end\n"
    "return {1}";

// A mark without a TTL is not ours; it stands for as long as can be.
constexpr std::string_view horizon_text =
    "local f=redis.call('HMGET',KEYS[1],'inc','cfg')\n"
    "@ADMITTED"
    "local t=redis.call('PTTL',KEYS[2])\n"
    "if t==-2 then t=0 elseif t<0 then t=9007199254740991 end\n"
    "return {1,string.format('%.0f',t)}";

// One chunk of the table: the whole of it in one step would keep the master from voting for a tenth
// of a second.
constexpr std::string_view counters_text =
    "local f=redis.call('HMGET',KEYS[1],'inc','cfg','base')\n"
    "@ADMITTED"
    "local t=redis.call('PTTL',KEYS[2])\n"
    "if t==-2 then t=0 elseif t<0 then t=9007199254740991 end\n"
    "local slots,m={},0\n"
    "for i=tonumber(ARGV[1]),tonumber(ARGV[2]) do slots[#slots+1]=i end\n"
    "for _,v in ipairs(redis.call('HMGET',KEYS[1],unpack(slots))) do\n"
    " local c=tonumber(v or '0') if c>m then m=c end\n"
    "end\n"
    "return {1,string.format('%.0f',t),string.format('%.0f',tonumber(f[3])+m)}";

std::string filled(std::string_view text, const incarnation& whose) {
    std::string result(text);
    const auto replace = [&](std::string_view word, std::string_view by) {
        for (size_t at = result.find(word); at != std::string::npos; at = result.find(word, at)) {
            result.replace(at, word.size(), by);
        }
    };
    replace("@ADMITTED", unless_admitted);
    replace("@RUN", whose.run_id);
    replace("@CFG", whose.fingerprint);
    return result;
}

bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
}

}  // namespace

std::array<std::string, master_scripts_count> script_texts(const incarnation& whose) {
    if (!is_plain(whose.run_id) || !is_plain(whose.fingerprint)) {
        throw std::invalid_argument("a run_id and a fingerprint are letters and digits");
    }
    return {filled(raise_text, whose),   filled(renew_text, whose),   filled(release_text, whose),
            filled(pend_text, whose),    filled(admit_text, whose),   filled(mark_text, whose),
            filled(horizon_text, whose), filled(counters_text, whose)};
}

}  // namespace lockkeeper::shards
