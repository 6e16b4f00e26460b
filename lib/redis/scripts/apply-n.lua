--[[
  Adds one correction's lines to the counters, once, in the order of the organisation's counter sequence.

  KEYS[1] applied sequence  KEYS[2] generation  KEYS[3] book of the UTC day  KEYS[..] counters
  ARGV[1] sequence  ARGV[2] run id  ARGV[3] price currency  ARGV[4] amount in it  then per counter an amount (may be negative)

  Returns {code, applied}: 0 applied, 1 already applied, 2 gap (an earlier one is missing), 3 fenced
]]
if redis.call("GET", KEYS[2]) ~= ARGV[2] then return { 3 } end
local applied = tonumber(redis.call("GET", KEYS[1]) or "0")
local sequence = tonumber(ARGV[1])
if sequence <= applied then return { 1, applied } end
if sequence ~= applied + 1 then return { 2, applied } end
for index = 4, #KEYS do
  redis.call("HINCRBY", KEYS[index], "s", ARGV[index + 1])
end
redis.call("HINCRBY", KEYS[3], ARGV[3], ARGV[4])
redis.call("SET", KEYS[1], ARGV[1])
return { 0, sequence }
