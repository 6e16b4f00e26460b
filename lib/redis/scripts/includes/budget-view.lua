-- Reads one budget fresh: what is used, what may be used, how full it is.
-- Requires amount.lua.
local function activeGrants(text, nowMs)
  local hi, lo = 0, 0
  if not text then return hi, lo end
  for amount, from, to in string.gmatch(text, "(%d+),(%d+),(%d+)") do
    if nowMs >= tonumber(from) and nowMs < tonumber(to) then
      local ghi, glo = amountParse(amount)
      hi, lo = amountAdd(hi, lo, ghi, glo)
    end
  end
  return hi, lo
end

local function readBudget(counterKey, limitKey, periodId, nowMs)
  local counter = redis.call("HMGET", counterKey, "s", "h")
  local amounts = redis.call("HMGET", limitKey, "l", "o", "f", "g:" .. periodId)
  local view = { settled = counter[1] or "0", held = counter[2] or "0", frozen = amounts[3] == "1", missing = not amounts[1] }
  local shi, slo = amountParse(view.settled)
  local hhi, hlo = amountParse(view.held)
  view.usedHi, view.usedLo = amountAdd(shi, slo, hhi, hlo)
  local lhi, llo = amountParse(amounts[1])
  local ghi, glo = activeGrants(amounts[4], nowMs)
  view.limitHi, view.limitLo = amountAdd(lhi, llo, ghi, glo)
  local ohi, olo = amountParse(amounts[2])
  view.withOverflowHi, view.withOverflowLo = amountAdd(view.limitHi, view.limitLo, ohi, olo)
  return view
end

-- used / limit >= basisPoints / 10000, exactly. A limit of nothing is full from the start.
local function reached(view, basisPoints)
  if view.limitHi == 0 and view.limitLo == 0 then return true end
  local uhi, ulo = amountTimes(view.usedHi, view.usedLo, 10000)
  local lhi, llo = amountTimes(view.limitHi, view.limitLo, basisPoints)
  return amountLessOrEqual(lhi, llo, uhi, ulo)
end
