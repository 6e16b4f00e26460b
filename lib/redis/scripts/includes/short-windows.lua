-- Request rates (GCRA), token buckets and concurrency, each read once and kept up with what the script itself takes.
-- Requires time.lua. A limit is { interval, tolerance, perMinute, slots, requestKey, tokenKey, slotKey }; nil: no such bound.
local arrivals, buckets, running = {}, {}, {}

local function arrivalAt(key, micros)
  arrivals[key] = arrivals[key] or { at = tonumber(redis.call("GET", key) or "0") }
  return math.max(micros, arrivals[key].at)
end

local function bucketOf(limit, nowMs)
  local bucket = buckets[limit.tokenKey]
  if bucket then return bucket end
  local stored = redis.call("HMGET", limit.tokenKey, "b", "t")
  bucket = { balance = limit.perMinute }
  if stored[1] then
    bucket.balance = math.min(limit.perMinute, tonumber(stored[1]) + (nowMs - tonumber(stored[2])) * limit.perMinute / 60000)
  end
  buckets[limit.tokenKey] = bucket
  return bucket
end

local function runningOn(key, nowMs)
  if running[key] then return running[key] end
  redis.call("ZREMRANGEBYSCORE", key, "-inf", integerText(nowMs))
  running[key] = { count = redis.call("ZCARD", key), ids = {} }
  return running[key]
end

-- Nothing, or code, position and wait in ms of the first limit that refuses.
local function refusedBy(limits, asked, micros, nowMs)
  for index, limit in ipairs(limits) do
    if limit.interval then
      local wait = arrivalAt(limit.requestKey, micros) - limit.tolerance - micros
      if wait > 0 then return 8, index, integerText(math.ceil(wait / 1000)) end
    end
    if limit.perMinute then
      local balance, needed = bucketOf(limit, nowMs).balance, math.min(asked, limit.perMinute)
      if balance < needed then return 9, index, integerText(math.ceil((needed - balance) * 60000 / limit.perMinute)) end
    end
    if limit.slots and runningOn(limit.slotKey, nowMs).count >= limit.slots then return 10, index, "0" end
  end
end

-- Takes from every limit. Returns the slots held and what was taken from token buckets, as the reservation keeps them.
local function take(limits, reservationId, asked, micros, nowMs)
  local slots, tokens = {}, {}
  for _, limit in ipairs(limits) do
    if limit.interval then
      local arrival = arrivalAt(limit.requestKey, micros) + limit.interval
      arrivals[limit.requestKey].at = arrival
      arrivals[limit.requestKey].taken = true
    end
    if limit.perMinute then
      local bucket = bucketOf(limit, nowMs)
      bucket.balance, bucket.taken = bucket.balance - asked, true
      tokens[#tokens + 1] = limit.tokenKey .. "|" .. integerText(asked)
    end
    if limit.slots then
      local slot = runningOn(limit.slotKey, nowMs)
      slot.count = slot.count + 1
      slot.ids[#slot.ids + 1] = reservationId
      slots[#slots + 1] = limit.slotKey
    end
  end
  return table.concat(slots, " "), table.concat(tokens, " ")
end

local function writeWindows(deadline, micros, nowMs)
  for key, arrival in pairs(arrivals) do
    if arrival.taken then
      redis.call("SET", key, integerText(arrival.at), "PX", integerText(math.ceil((arrival.at - micros) / 1000) + 1))
    end
  end
  for key, bucket in pairs(buckets) do
    if bucket.taken then
      redis.call("HSET", key, "b", string.format("%.6f", bucket.balance), "t", integerText(nowMs))
      redis.call("PEXPIRE", key, "3600000")
    end
  end
  for key, slot in pairs(running) do
    for _, id in ipairs(slot.ids) do redis.call("ZADD", key, deadline, id) end
  end
end
