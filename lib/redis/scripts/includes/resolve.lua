-- The one way a reservation ends. Requires time.lua, sums.lua, reservation.lua. actual[meter] is a decimal text; for a void
-- there is none and only the hold returns. The caller takes the id off the deadlines and writes the sums.
-- Returns the two parts of the usage event's head.
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
      redis.call("HINCRBYFLOAT", key, "b", integerText(tonumber(taken) - tonumber(actualTokens)))
    end
  end)
end

-- Nearly every call charges its cost to every budget above it.
local function resolveAlike(counters, held, actual)
  addToAll(counters.held, held, smallNumber(held), -1)
  if actual then addToAll(counters.settled, actual.cost, smallNumber(actual.cost), 1) end
end

local function resolveEach(counters, amounts, actual)
  local index = 0
  for held in string.gmatch(amounts, "%S+") do
    index = index + 1
    local counter = counters[index]
    if held ~= "-" and not counter.isGone then
      add(counter.held, held, smallNumber(held), -1)
      if actual then
        local amount = actual[counter.meter]
        add(counter.settled, amount, smallNumber(amount), 1)
      end
    end
  end
end

local function resolve(stored, reservationKey, reservationId, state, actual, actualTokens)
  local shared, amounts, own = openParts(stored)
  local counters = countersOf(shared.counters)
  local held = counters.isAllCost and string.match(amounts, "^(%d+) ")
  if held and amounts == string.rep(held .. " ", #counters) then
    resolveAlike(counters, held, actual)
  else
    resolveEach(counters, amounts, actual)
  end
  if shared.slots ~= "" then releaseSlots(reservationId, shared.slots) end
  if shared.tokenRates ~= "" then correctTokenRates(shared.tokenRates, actualTokens) end
  mark(reservationKey, state)
  return shared.common, own
end
