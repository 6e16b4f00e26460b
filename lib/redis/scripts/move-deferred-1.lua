--[[
  Moves a deferred call from one of the states in which that is allowed. A call that Redis has lost is written anew, by its worker.

  KEYS[1] deferred call (hash: s state, m facts, c code, a sealed answer)
  ARGV[1] states it may come from, with commas around and between  ARGV[2] new state  ARGV[3] time to live in ms
  ARGV[4] facts as JSON, or "" where a lost call stays lost  ARGV[5] code or ""  ARGV[6] sealed answer or ""

  Returns {state it has now, 1 where it was moved}
]]
local state = redis.call("HGET", KEYS[1], "s")
if not state and ARGV[4] == "" then return { "", 0 } end
if state and not string.find(ARGV[1], "," .. state .. ",", 1, true) then return { state, 0 } end
redis.call("HSET", KEYS[1], "s", ARGV[2], "c", ARGV[5], "a", ARGV[6])
if ARGV[4] ~= "" then redis.call("HSET", KEYS[1], "m", ARGV[4]) end
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return { ARGV[2], 1 }
