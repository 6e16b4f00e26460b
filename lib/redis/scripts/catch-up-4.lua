--[[
  What changed in the snapshot since an epoch, read in one step.

  KEYS[1] epoch  KEYS[2] changes  KEYS[3] snapshot  KEYS[4] generation
  ARGV[1] epoch already seen, or "" for everything

  Returns {epoch, generation, 1 if whole else 0, field, document or "", field, document ...}; keys have no document here
]]
local reply = { redis.call("GET", KEYS[1]) or "", redis.call("GET", KEYS[4]) or "" }
if ARGV[1] == "" then
  reply[3] = 1
  local all = redis.call("HGETALL", KEYS[3])
  for index = 1, #all do reply[#reply + 1] = all[index] end
  return reply
end
reply[3] = 0
for _, field in ipairs(redis.call("ZRANGEBYSCORE", KEYS[2], "(" .. ARGV[1], "+inf")) do
  reply[#reply + 1] = field
  if string.sub(field, 1, 2) == "k:" then
    reply[#reply + 1] = ""
  else
    reply[#reply + 1] = redis.call("HGET", KEYS[3], field) or ""
  end
end
return reply
