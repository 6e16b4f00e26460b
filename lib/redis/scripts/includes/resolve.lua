-- The one way a reservation ends. Requires time.lua, sums.lua, reservation.lua. actual[meter] is a decimal text; for a void
-- there is none and only the hold returns. The caller takes the id off the deadlines and writes the sums.
-- Returns the head of the usage event.
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

local function resolve(stored, reservationKey, reservationId, state, actual, actualTokens)
  local counterText, amounts, slots, tokenRates, head = openParts(stored)
  local counters, index = countersOf(counterText), 0
  local costNumber = actual and smallNumber(actual.cost)
  for held in string.gmatch(amounts, "%S+") do
    index = index + 1
    local counter = counters[index]
    if held ~= "-" and not counter.isGone then
      add(counter.held, held, smallNumber(held), -1)
      if actual and counter.meter == "cost" then
        add(counter.settled, actual.cost, costNumber, 1)
      elseif actual then
        local amount = actual[counter.meter]
        add(counter.settled, amount, smallNumber(amount), 1)
      end
    end
  end
  if slots ~= "" then releaseSlots(reservationId, slots) end
  if tokenRates ~= "" then correctTokenRates(tokenRates, actualTokens) end
  mark(reservationKey, state)
  return head
end
