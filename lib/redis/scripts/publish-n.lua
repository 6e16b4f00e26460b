--[[
  Puts what the control plane compiled where gateways read it, in one step: documents, key entries, absolute limits and
  the opening amounts of counters, then the epoch. All or nothing, and never backwards: an epoch that stands already is
  left alone. A part may only follow an epoch that held everything before it; otherwise the caller must send the whole.

  KEYS[1] epoch  KEYS[2] snapshot  KEYS[3] API keys  KEYS[4] changes  then limit hashes, then counters
  ARGV[1] epoch  ARGV[2] lowest epoch a part may follow  ARGV[3] "whole" | "part"  ARGV[4] channel
  ARGV[5] documents  ARGV[6] key entries  ARGV[7] limits  ARGV[8] openings
  per document:  field, document or "" to remove it
  per key entry: hash, document or "" to remove it
  per limit:     number of fields (0 removes the hash), then field and value for each
  per opening:   absolute amount that the counter holds from before the budget existed

  Returns {code, epoch}: 0 published, 1 already (the epoch that stands is not older), 2 gap (send the whole)
]]
local current = tonumber(redis.call("GET", KEYS[1]) or "0")
local epoch = tonumber(ARGV[1])
local whole = ARGV[3] == "whole"
local gap = current < tonumber(ARGV[2])
if epoch <= current then return { 1, current } end
if gap and not whole then return { 2, current } end

local documents, keyEntries, limits, openings = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local position = 9

-- Only what differs enters the change log: after a whole push gateways need not read again what they have. Where a push
-- was lost, removals are logged even if nothing stands here, since a gateway may still hold what was removed.
local function put(key, field, document, logged)
  if document == "" then
    if redis.call("HDEL", key, field) == 1 or gap or not whole then redis.call("ZADD", KEYS[4], ARGV[1], logged) end
  elseif redis.call("HGET", key, field) ~= document then
    redis.call("HSET", key, field, document)
    redis.call("ZADD", KEYS[4], ARGV[1], logged)
  end
end

local function putAll(key, count, prefix)
  local named = {}
  for _ = 1, count do
    local field = ARGV[position]
    named[field] = true
    put(key, field, ARGV[position + 1], prefix .. field)
    position = position + 2
  end
  if not whole then return end
  for _, field in ipairs(redis.call("HKEYS", key)) do
    if not named[field] then put(key, field, "", prefix .. field) end
  end
end

putAll(KEYS[2], documents, "")
putAll(KEYS[3], keyEntries, "k:")

for index = 1, limits do
  local key = KEYS[4 + index]
  local count = tonumber(ARGV[position])
  position = position + 1
  local kept = {}
  for _ = 1, count do
    kept[ARGV[position]] = true
    redis.call("HSET", key, ARGV[position], ARGV[position + 1])
    position = position + 2
  end
  for _, field in ipairs(redis.call("HKEYS", key)) do
    if not kept[field] then redis.call("HDEL", key, field) end
  end
end

-- `o` says which opening amount is in `s`, so a repeated push adds nothing and a changed one adds the difference.
for index = 1, openings do
  local key = KEYS[4 + limits + index]
  local amount = ARGV[position]
  position = position + 1
  local applied = redis.call("HGET", key, "o") or "0"
  if applied ~= amount then
    if applied ~= "0" then
      local opposite = string.sub(applied, 1, 1) == "-" and string.sub(applied, 2) or "-" .. applied
      redis.call("HINCRBY", key, "s", opposite)
    end
    redis.call("HINCRBY", key, "s", amount)
    redis.call("HSET", key, "o", amount)
  end
end

redis.call("SET", KEYS[1], ARGV[1])
redis.call("PUBLISH", ARGV[4], ARGV[1])
return { 0, epoch }
