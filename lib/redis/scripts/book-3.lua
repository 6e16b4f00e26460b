--[[
  Takes entries that stand in Postgres off a usage stream and moves the watermark up to which everything stands there.

  KEYS[1] usage stream  KEYS[2] booked  KEYS[3] dead letters
  ARGV[1] consumer group  ARGV[2] number of ids, then the ids
  then per dead letter: id (one of those above), reason, kind, event (JSON)

  The watermark stays below whatever another consumer still holds, since gateways forget what is at or below it.
  Returns {entries removed, watermark}
]]
local count = tonumber(ARGV[2])
for position = 3 + count, #ARGV, 4 do
  local id, reason, kind, event = unpack(ARGV, position, position + 3)
  local found = redis.call("XRANGE", KEYS[1], id, id)
  if found[1] then redis.call("XADD", KEYS[3], "*", "id", id, "reason", reason, "k", kind, "e", event) end
end

local removed = 0
for from = 3, 2 + count, 1000 do
  local ids = { unpack(ARGV, from, math.min(from + 999, 2 + count)) }
  redis.call("XACK", KEYS[1], ARGV[1], unpack(ids))
  removed = removed + redis.call("XDEL", KEYS[1], unpack(ids))
end

local function split(id)
  local ms, sequence = string.match(id, "^(%d+)-(%d+)$")
  return tonumber(ms), tonumber(sequence)
end

-- The smallest id that is still here (delivered or not) bounds the watermark; with none, the stream's last id is it.
local watermark
local first = redis.call("XRANGE", KEYS[1], "-", "+", "COUNT", 1)
if first[1] then
  local ms, sequence = split(first[1][1])
  if sequence > 0 then watermark = string.format("%.0f-%.0f", ms, sequence - 1) else watermark = string.format("%.0f-999999", ms - 1) end
else
  watermark = "0-0"
  local info = redis.call("EXISTS", KEYS[1]) == 1 and redis.call("XINFO", "STREAM", KEYS[1]) or {}
  for index = 1, #info, 2 do
    if info[index] == "last-generated-id" then watermark = info[index + 1] end
  end
end
redis.call("SET", KEYS[2], watermark)
return { removed, watermark }
