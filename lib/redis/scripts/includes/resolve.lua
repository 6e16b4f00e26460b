-- The one way a reservation ends. `lines` are "counterKey|meter|held" joined by spaces, as reserve wrote them.
-- actual[meter] is a decimal text; for a void every actual is nil and only the hold returns.
local MARKER_TTL_MS = 600000

local function eachWord(text, visit)
  if text and text ~= "" then
    for word in string.gmatch(text, "[^ ]+") do visit(word) end
  end
end

local function releaseSlots(reservationId, slots)
  eachWord(slots, function(key) redis.call("ZREM", key, reservationId) end)
end

-- What was taken from the token buckets above the real use goes back; a shortfall is taken (the balance may go below 0).
local function correctTokenRates(rates, actualTokens)
  eachWord(rates, function(word)
    local key, taken = string.match(word, "^(.-)|(%d+)$")
    if redis.call("EXISTS", key) == 1 then
      redis.call("HINCRBYFLOAT", key, "b", integerText(tonumber(taken) - actualTokens))
    end
  end)
end

local function resolve(reservationKey, deadlinesKey, reservationId, state, actual, actualTokens)
  local stored = redis.call("HMGET", reservationKey, "l", "c", "q")
  for key, meter, held in string.gmatch(stored[1] or "", "([^| ]+)|([^| ]+)|(%d+)") do
    if held ~= "0" then redis.call("HINCRBY", key, "h", "-" .. held) end
    local amount = actual and actual[meter]
    if amount and amount ~= "0" then redis.call("HINCRBY", key, "s", amount) end
  end
  releaseSlots(reservationId, stored[2])
  correctTokenRates(stored[3], actualTokens)
  redis.call("ZREM", deadlinesKey, reservationId)
  redis.call("DEL", reservationKey)
  redis.call("HSET", reservationKey, "st", state)
  redis.call("PEXPIRE", reservationKey, MARKER_TTL_MS)
end
