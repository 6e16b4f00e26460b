--[[
  Returns a hold whose attempt provably cost nothing. Idempotent by reservation id.

  KEYS[1] reservation  KEYS[2] generation  KEYS[3] deadlines
  ARGV[1] reservation id  ARGV[2] run id

  An id never seen leaves a marker, so that a reserve whose answer got lost cannot take its hold afterwards.

  Returns {code}: 0 voided, 1 already voided, 2 nothing open (settled, expired or never reserved), 3 fenced
]]
--- @include "includes/time.lua"
--- @include "includes/resolve.lua"

if redis.call("GET", KEYS[2]) ~= ARGV[2] then return { 3 } end
local state = redis.call("HGET", KEYS[1], "st")
if state == "v" then return { 1 } end
if not state then
  redis.call("HSET", KEYS[1], "st", "v")
  redis.call("PEXPIRE", KEYS[1], 600000)
end
if state ~= "p" then return { 2 } end
resolve(KEYS[1], KEYS[3], ARGV[1], "v", nil, 0)
return { 0 }
