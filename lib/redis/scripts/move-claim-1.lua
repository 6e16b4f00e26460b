--[[
  Renews, ends or frees a claim, if it is still the caller's. One that is gone (its lease ran out, or Redis lost it) is written
  anew, but for freeing: what ran must not run again because nobody remembers it.

  KEYS[1] claim (as in claim-call-1)
  ARGV[1] what the call is, hashed  ARGV[2] request id  ARGV[3] state: "r", "k", "n", or "" to free it
  ARGV[4] time to live in ms  ARGV[5] sealed answer or ""

  Returns {1} where it was done, {0} where somebody else has the claim
]]
local owner = redis.call("HGET", KEYS[1], "r")
if owner and owner ~= ARGV[2] then return { 0 } end
if ARGV[3] == "" then
  redis.call("DEL", KEYS[1])
  return { 1 }
end
redis.call("HSET", KEYS[1], "b", ARGV[1], "s", ARGV[3], "r", ARGV[2])
if ARGV[5] ~= "" then redis.call("HSET", KEYS[1], "a", ARGV[5]) end
redis.call("PEXPIRE", KEYS[1], ARGV[4])
return { 1 }
