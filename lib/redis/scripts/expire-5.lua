--[[
  Ends a reservation whose lease ran out: booked at what the sweeper estimates, never silently free.

  KEYS[1] reservation  KEYS[2] generation  KEYS[3] deadlines  KEYS[4] usage stream  KEYS[5] book of the UTC day
  ARGV[1] reservation id  ARGV[2] run id  ARGV[3] now in ms or ""
  ARGV[4] cost  ARGV[5] input tokens  ARGV[6] output tokens  ARGV[7] total tokens  ARGV[8] requests
  ARGV[9] price currency  ARGV[10] amount in it  ARGV[11] event (JSON)

  Returns {code, stream id}: 0 expired, 1 not due (renewed), 2 nothing open, 3 fenced
]]
--- @include "includes/time.lua"
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"
--- @include "includes/resolve.lua"

if redis.call("GET", KEYS[2]) ~= ARGV[2] then return { 3 } end
local stored = redis.call("GET", KEYS[1])
if stateOf(stored) ~= "p" then
  redis.call("ZREM", KEYS[3], ARGV[1])
  return { 2 }
end
local deadline = redis.call("ZSCORE", KEYS[3], ARGV[1])
if deadline and tonumber(deadline) > math.floor(nowMicros(ARGV[3]) / 1000) then return { 1 } end
resolve(stored, KEYS[1], ARGV[1], "e",
  { cost = ARGV[4], input_tokens = ARGV[5], output_tokens = ARGV[6], total_tokens = ARGV[7], requests = ARGV[8] }, tonumber(ARGV[7]))
redis.call("ZREM", KEYS[3], ARGV[1])
add(sumOf(KEYS[5], ARGV[9]), ARGV[10], smallNumber(ARGV[10]), 1)
writeSums()
return { 0, redis.call("XADD", KEYS[4], "*", "k", "expired", "e", ARGV[11]) }
