-- What a script adds to the fields of hashes: summed here and written once a field, however many calls it ends. Doubles
-- are exact below 2^53, so amounts beyond 15 digits are kept as texts and go to the hash by themselves.
-- An amount is a decimal text that is not negative; sign is 1 or -1.
local SUM_DIGITS = 15
local SUM_MAX = 1000000000000000
local sums, summed, large = {}, {}, {}

local function writeSums()
  for _, key in ipairs(summed) do
    for field, sum in pairs(sums[key]) do
      if sum ~= 0 then redis.call("HINCRBY", key, field, string.format("%.0f", sum)) end
    end
  end
  for _, one in ipairs(large) do redis.call("HINCRBY", one[1], one[2], one[3]) end
  sums, summed, large = {}, {}, {}
end

-- Nothing for an amount that is to be kept as a text.
local function smallNumber(amount)
  return #amount <= SUM_DIGITS and tonumber(amount) or nil
end

local function add(key, field, amount, number, sign)
  if number == 0 then return end
  local fields = sums[key]
  if not fields then
    fields = {}
    sums[key] = fields
    summed[#summed + 1] = key
  end
  local sum = number and (fields[field] or 0) + sign * number
  if sum and sum < SUM_MAX and sum > -SUM_MAX then
    fields[field] = sum
  else
    large[#large + 1] = { key, field, sign < 0 and "-" .. amount or amount }
  end
end
