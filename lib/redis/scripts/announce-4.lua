--[[
  Under a fence only: a gateway tells a Redis that lost its latest writes what it knows of one reservation. Counters are
  not touched; recovery computes them afterwards from ledger and open reservations. Idempotent.

  KEYS[1] reservation  KEYS[2] generation  KEYS[3] deadlines  KEYS[4] usage stream
  ARGV[1] reservation id  ARGV[2] run id of this server  ARGV[3] state p|s|v  ARGV[4] deadline in ms
  ARGV[5] lines  ARGV[6] head (JSON)  ARGV[7] event (JSON) when settled

  Returns {code, stream id when an event was appended}: 0 noted, 1 known already, 3 not fenced
]]
if redis.call("GET", KEYS[2]) == ARGV[2] then return { 3 } end
local state = redis.call("HGET", KEYS[1], "st")
if state and state ~= "p" then return { 1 } end
if ARGV[3] == "p" then
  if state == "p" then return { 1 } end
  redis.call("HSET", KEYS[1], "st", "p", "l", ARGV[5], "m", ARGV[6], "mp", "", "pl", 0, "rg", 0, "ov", 0, "c", "", "q", "")
  redis.call("ZADD", KEYS[3], ARGV[4], ARGV[1])
  return { 0 }
end
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "st", ARGV[3])
redis.call("PEXPIRE", KEYS[1], 600000)
redis.call("ZREM", KEYS[3], ARGV[1])
if ARGV[3] == "s" then return { 0, redis.call("XADD", KEYS[4], "*", "k", "settled", "e", ARGV[7]) } end
return { 0 }
