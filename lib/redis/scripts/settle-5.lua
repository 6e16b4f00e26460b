--[[
  Moves a hold to settled on the lines that were reserved and appends the usage event, in one step. Idempotent by
  reservation id. Where no reservation is open it touches no counter and appends a late event instead.

  KEYS[1] reservation  KEYS[2] generation  KEYS[3] deadlines  KEYS[4] usage stream  KEYS[5] book of the UTC day
  ARGV[1] reservation id  ARGV[2] run id  ARGV[3] cost  ARGV[4] input tokens  ARGV[5] output tokens  ARGV[6] total tokens
  ARGV[7] price currency  ARGV[8] amount in it  ARGV[9] event (JSON)

  Returns {code, stream id}: 0 settled, 1 already settled, 2 late, 3 fenced, 4 already late
]]
--- @include "includes/time.lua"
--- @include "includes/resolve.lua"

if redis.call("GET", KEYS[2]) ~= ARGV[2] then return { 3 } end
local state = redis.call("HGET", KEYS[1], "st")
if state == "s" then return { 1 } end
if state == "l" then return { 4 } end
if state ~= "p" then
  redis.call("HSET", KEYS[1], "st", "l")
  redis.call("PEXPIRE", KEYS[1], 600000)
  return { 2, redis.call("XADD", KEYS[4], "*", "k", "late", "e", ARGV[9]) }
end
resolve(KEYS[1], KEYS[3], ARGV[1], "s",
  { cost = ARGV[3], input_tokens = ARGV[4], output_tokens = ARGV[5], total_tokens = ARGV[6], requests = "1" }, tonumber(ARGV[6]))
redis.call("HINCRBY", KEYS[5], ARGV[7], ARGV[8])
return { 0, redis.call("XADD", KEYS[4], "*", "k", "settled", "e", ARGV[9]) }
