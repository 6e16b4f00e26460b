-- Exact arithmetic on decimal texts of up to 19 digits. Lua's numbers are doubles, exact to 2^53 only, so an amount
-- is two limbs: value = hi * 1e9 + lo with 0 <= lo < 1e9. A negative value has a negative hi.
local LIMB = 1000000000
local MAX_HI = 9223372035 -- below 2^63: HINCRBY on the result cannot overflow

local function amountParse(text)
  if not text or text == "" then return 0, 0 end
  local negative = string.sub(text, 1, 1) == "-"
  if negative then text = string.sub(text, 2) end
  local length = #text
  local hi, lo = 0, 0
  if length <= 9 then
    lo = tonumber(text)
  else
    hi = tonumber(string.sub(text, 1, length - 9))
    lo = tonumber(string.sub(text, length - 8))
  end
  if negative then
    hi, lo = -hi, -lo
    if lo < 0 then hi, lo = hi - 1, lo + LIMB end
  end
  return hi, lo
end

local function amountAdd(ahi, alo, bhi, blo)
  local hi, lo = ahi + bhi, alo + blo
  if lo >= LIMB then hi, lo = hi + 1, lo - LIMB end
  return hi, lo
end

local function amountLessOrEqual(ahi, alo, bhi, blo)
  return ahi < bhi or (ahi == bhi and alo <= blo)
end

-- by a whole number up to 100000: stays below 2^53
local function amountTimes(hi, lo, factor)
  local low = lo * factor
  local carry = math.floor(low / LIMB)
  return hi * factor + carry, low - carry * LIMB
end

-- for values that are not negative
local function amountText(hi, lo)
  if hi == 0 then return string.format("%.0f", lo) end
  return string.format("%.0f%09.0f", hi, lo)
end
