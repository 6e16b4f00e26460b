--[[
  Under a fence only: a gateway tells a Redis that lost its latest writes what it knows of one reservation. Counters are
  not touched; recovery computes them afterwards from ledger and open reservations. Idempotent.

  KEYS[1] reservation  KEYS[2] generation  KEYS[3] deadlines  KEYS[4] usage stream
  ARGV[1] reservation id  ARGV[2] run id of this server  ARGV[3] state p|s|v  ARGV[4] deadline in ms
  ARGV[5] lines  ARGV[6] head (JSON)  ARGV[7] event (JSON) when settled
  ARGV[8] what the plan changes in the head (JSON or "")  ARGV[9] rung  ARGV[10] overflow 0|1

  A settlement of a call that this server only knows as expired is a late event, as it was where it was lost.

  Returns {code, stream id when an event was appended}: 0 noted, 1 known already, 3 not fenced
]]
if redis.call("GET", KEYS[2]) == ARGV[2] then return { 3 } end
local state = redis.call("HGET", KEYS[1], "st")
local isLate = state == "e" and ARGV[3] == "s"
if state and state ~= "p" and not isLate then return { 1 } end
if ARGV[3] == "p" then
  if state == "p" then return { 1 } end
  redis.call("HSET", KEYS[1], "st", "p", "l", ARGV[5], "m", ARGV[6], "mp", ARGV[8], "pl", 0, "rg", ARGV[9], "ov", ARGV[10],
    "c", "", "q", "")
  redis.call("ZADD", KEYS[3], ARGV[4], ARGV[1])
  return { 0 }
end
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], "st", isLate and "l" or ARGV[3])
redis.call("PEXPIRE", KEYS[1], 600000)
redis.call("ZREM", KEYS[3], ARGV[1])
if ARGV[3] == "s" then
  return { 0, redis.call("XADD", KEYS[4], "*", "k", isLate and "late" or "announced", "e", ARGV[7]) }
end
return { 0 }
