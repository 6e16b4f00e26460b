-- Reads one budget fresh: what is used, what may be used, how full it is.
-- Requires amount.lua. Amounts of up to 15 digits (a million of most currencies in nanos) and sums of four of them are
-- exact as doubles, and plain numbers cost a fifth of limbs; a view has one or the other (`small`).
local SMALL_DIGITS = 15

local function activeGrants(text, nowMs)
  local hi, lo = 0, 0
  for amount, from, to in string.gmatch(text, "(%d+),(%d+),(%d+)") do
    if nowMs >= tonumber(from) and nowMs < tonumber(to) then
      local ghi, glo = amountParse(amount)
      hi, lo = amountAdd(hi, lo, ghi, glo)
    end
  end
  return hi, lo
end

local function readLimbs(view, amounts, nowMs)
  local shi, slo = amountParse(view.settled)
  local hhi, hlo = amountParse(view.held)
  view.usedHi, view.usedLo = amountAdd(shi, slo, hhi, hlo)
  view.limitHi, view.limitLo = amountParse(amounts[1])
  if amounts[4] then
    local ghi, glo = activeGrants(amounts[4], nowMs)
    view.limitHi, view.limitLo = amountAdd(view.limitHi, view.limitLo, ghi, glo)
  end
  local ohi, olo = amountParse(amounts[2])
  view.withOverflowHi, view.withOverflowLo = amountAdd(view.limitHi, view.limitLo, ohi, olo)
end

local function readBudget(counterKey, limitKey, periodId, nowMs)
  local counter = redis.call("HMGET", counterKey, "s", "h")
  local amounts = redis.call("HMGET", limitKey, "l", "o", "f", "g:" .. periodId)
  local limit, overflow = amounts[1], amounts[2] or "0"
  local view = { settled = counter[1] or "0", held = counter[2] or "0", frozen = amounts[3] == "1", missing = not limit }
  if view.missing then return view end
  view.small = not amounts[4] and #view.settled <= SMALL_DIGITS and #view.held <= SMALL_DIGITS
    and #limit <= SMALL_DIGITS and #overflow <= SMALL_DIGITS
  if view.small then
    view.used = tonumber(view.settled) + tonumber(view.held)
    view.limit = tonumber(limit)
    view.withOverflow = view.limit + tonumber(overflow)
  else
    readLimbs(view, amounts, nowMs)
  end
  return view
end

local function limitText(view)
  if view.small then return string.format("%.0f", view.limit) end
  return amountText(view.limitHi, view.limitLo)
end

local function withOverflowText(view)
  if view.small then return string.format("%.0f", view.withOverflow) end
  return amountText(view.withOverflowHi, view.withOverflowLo)
end

-- used / limit >= basisPoints / 10000, exactly. A limit of nothing is full from the start.
local function reached(view, basisPoints)
  if view.small then
    local limit = view.limit
    if limit == 0 then return true end
    -- Products up to 1e19 are not exact, but doubles err by less than one part in 1e15: only a near tie needs limbs.
    local left, right = view.used * 10000, limit * basisPoints
    if left > right * 1.000000001 then return true end
    if left < right * 0.999999999 then return false end
    local uhi, ulo = amountTimes(math.floor(view.used / LIMB), view.used % LIMB, 10000)
    local lhi, llo = amountTimes(math.floor(limit / LIMB), limit % LIMB, basisPoints)
    return amountLessOrEqual(lhi, llo, uhi, ulo)
  end
  if view.limitHi == 0 and view.limitLo == 0 then return true end
  local uhi, ulo = amountTimes(view.usedHi, view.usedLo, 10000)
  local lhi, llo = amountTimes(view.limitHi, view.limitLo, basisPoints)
  return amountLessOrEqual(lhi, llo, uhi, ulo)
end

-- Whether used + amount stays within the limit, and within limit and overflow; the third: whether a counter can hold it.
local function fits(view, amount)
  if view.small and #amount <= SMALL_DIGITS then
    local total = view.used + tonumber(amount)
    return total <= view.limit, total <= view.withOverflow, true
  end
  local uhi, ulo, lhi, llo, ohi, olo = view.usedHi, view.usedLo, view.limitHi, view.limitLo, view.withOverflowHi, view.withOverflowLo
  if view.small then
    uhi, ulo = math.floor(view.used / LIMB), view.used % LIMB
    lhi, llo = math.floor(view.limit / LIMB), view.limit % LIMB
    ohi, olo = math.floor(view.withOverflow / LIMB), view.withOverflow % LIMB
  end
  local ahi, alo = amountParse(amount)
  local thi, tlo = amountAdd(uhi, ulo, ahi, alo)
  return amountLessOrEqual(thi, tlo, lhi, llo), amountLessOrEqual(thi, tlo, ohi, olo), thi <= MAX_HI
end
