--[[
  Claims a call that must not run twice, or says what became of the one that has the claim.

  KEYS[1] claim (hash: b what the call is, r request id of who has it, s state, a sealed answer)
  ARGV[1] what the call is, hashed  ARGV[2] request id  ARGV[3] lease in ms

  States: "r" running, "k" ended and kept, "n" ended well and not kept.
  Returns {"claimed"}, {"mismatch", request id}, or {state, request id, sealed answer or ""}
]]
local found = redis.call("HMGET", KEYS[1], "b", "s", "r", "a")
if not found[1] then
  redis.call("HSET", KEYS[1], "b", ARGV[1], "s", "r", "r", ARGV[2])
  redis.call("PEXPIRE", KEYS[1], ARGV[3])
  return { "claimed" }
end
if found[1] ~= ARGV[1] then return { "mismatch", found[3] } end
return { found[2], found[3], found[4] or "" }
