-- One budget as this script sees it: read once, then kept up with what the script itself holds. Requires amount.lua.
-- Amounts of up to 15 digits (a million of most currencies in nanos) and sums of four of them are exact as doubles, and
-- plain numbers cost a fifth of limbs; a view has one or the other (`small`).
local SMALL_DIGITS = 15
local SMALL_MAX = 1000000000000000

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

local function readLimbs(view, held, amounts, nowMs)
  local shi, slo = amountParse(view.settled)
  view.heldHi, view.heldLo = amountParse(held)
  view.usedHi, view.usedLo = amountAdd(shi, slo, view.heldHi, view.heldLo)
  view.limitHi, view.limitLo = amountParse(amounts[1])
  if amounts[4] then
    local ghi, glo = activeGrants(amounts[4], nowMs)
    view.limitHi, view.limitLo = amountAdd(view.limitHi, view.limitLo, ghi, glo)
  end
  local ohi, olo = amountParse(amounts[2])
  view.withOverflowHi, view.withOverflowLo = amountAdd(view.limitHi, view.limitLo, ohi, olo)
end

local function readBudget(budget, nowMs)
  local counter = redis.call("HMGET", budget.counterKey, "s", "h")
  local amounts = budget.ownLimit and { budget.ownLimit }
    or redis.call("HMGET", budget.limitKey, "l", "o", "f", "g:" .. budget.periodId)
  local limit, overflow = amounts[1], amounts[2] or "0"
  local held = counter[2] or "0"
  local view = { key = budget.counterKey, ttlMs = budget.ttlMs, added = 0, settled = counter[1] or "0", frozen = amounts[3] == "1", missing = not limit, ownLimit = budget.ownLimit }
  if view.missing then return view end
  view.small = not amounts[4] and #view.settled <= SMALL_DIGITS and #held <= SMALL_DIGITS
    and #limit <= SMALL_DIGITS and #overflow <= SMALL_DIGITS
  if view.small then
    view.held = tonumber(held)
    view.used = tonumber(view.settled) + view.held
    view.limit = tonumber(limit)
    view.withOverflow = view.limit + tonumber(overflow)
  else
    amounts[2] = overflow
    readLimbs(view, held, amounts, nowMs)
  end
  return view
end

local function limbs(number)
  return math.floor(number / LIMB), number % LIMB
end

local function turnIntoLimbs(view)
  view.small = false
  view.heldHi, view.heldLo = limbs(view.held)
  view.usedHi, view.usedLo = limbs(view.used)
  view.limitHi, view.limitLo = limbs(view.limit)
  view.withOverflowHi, view.withOverflowLo = limbs(view.withOverflow)
end

-- Calls of one session may be of policies with other limits: its counter is one, its limit that of the call that asks. It outlives
-- its last call by the longest of their times.
local function turnToLimitOf(view, budget)
  view.ownLimit = budget.ownLimit
  if tonumber(budget.ttlMs) > tonumber(view.ttlMs) then view.ttlMs = budget.ttlMs end
  if view.small and #budget.ownLimit <= SMALL_DIGITS then
    view.limit = tonumber(budget.ownLimit)
    view.withOverflow = view.limit
    return
  end
  if view.small then turnIntoLimbs(view) end
  view.limitHi, view.limitLo = amountParse(budget.ownLimit)
  view.withOverflowHi, view.withOverflowLo = view.limitHi, view.limitLo
end

-- The view after a hold of this amount, which writeHolds adds to the counter.
local function hold(view, amount)
  if view.small then
    if #amount <= SMALL_DIGITS and view.used < SMALL_MAX then
      local number = tonumber(amount)
      view.held, view.used, view.added = view.held + number, view.used + number, view.added + number
      return
    end
    turnIntoLimbs(view)
  end
  view.large = view.large or {}
  view.large[#view.large + 1] = amount
  local hi, lo = amountParse(amount)
  view.heldHi, view.heldLo = amountAdd(view.heldHi, view.heldLo, hi, lo)
  view.usedHi, view.usedLo = amountAdd(view.usedHi, view.usedLo, hi, lo)
end

local function writeHolds(all)
  for _, view in pairs(all) do
    if view.added > 0 then redis.call("HINCRBY", view.key, "h", string.format("%.0f", view.added)) end
    for _, amount in ipairs(view.large or {}) do redis.call("HINCRBY", view.key, "h", amount) end
    if view.ttlMs then redis.call("PEXPIRE", view.key, view.ttlMs) end
  end
end

local function heldText(view)
  if view.small then return string.format("%.0f", view.held) end
  return amountText(view.heldHi, view.heldLo)
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
  local uhi, ulo, lhi, llo
  if view.small then
    local limit = view.limit
    if limit == 0 then return true end
    -- Products up to 2e19 are not exact, but doubles err by less than one part in 1e15: only a near tie needs limbs.
    local left, right = view.used * 10000, limit * basisPoints
    if left > right * 1.000000001 then return true end
    if left < right * 0.999999999 then return false end
    uhi, ulo = limbs(view.used)
    lhi, llo = limbs(limit)
  else
    if view.limitHi == 0 and view.limitLo == 0 then return true end
    uhi, ulo, lhi, llo = view.usedHi, view.usedLo, view.limitHi, view.limitLo
  end
  uhi, ulo = amountTimes(uhi, ulo, 10000)
  lhi, llo = amountTimes(lhi, llo, basisPoints)
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
    uhi, ulo = limbs(view.used)
    lhi, llo = limbs(view.limit)
    ohi, olo = limbs(view.withOverflow)
  end
  local ahi, alo = amountParse(amount)
  local thi, tlo = amountAdd(uhi, ulo, ahi, alo)
  return amountLessOrEqual(thi, tlo, lhi, llo), amountLessOrEqual(thi, tlo, ohi, olo), thi <= MAX_HI
end
