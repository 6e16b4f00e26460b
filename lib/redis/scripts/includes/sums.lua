-- What a script adds to the fields of hashes: summed here and written once a field, however many calls it ends. Doubles
-- are exact below 2^53, so amounts beyond 15 digits are kept as texts and go to the hash by themselves.
-- An amount is a decimal text that is not negative; sign is 1 or -1.
local SUM_DIGITS = 15
local SUM_MAX = 1000000000000000
local sums, large = {}, {}

-- The sum of one field, made where it is not there yet.
local function sumOf(key, field)
  local name = key .. "|" .. field
  local sum = sums[name]
  if not sum then
    sum = { key = key, field = field, value = 0 }
    sums[name] = sum
  end
  return sum
end

-- Nothing for an amount that is to be kept as a text.
local function smallNumber(amount)
  return #amount <= SUM_DIGITS and tonumber(amount) or nil
end

local function add(sum, amount, number, sign)
  local value = number and sum.value + sign * number
  if value and value < SUM_MAX and value > -SUM_MAX then
    sum.value = value
  elseif amount ~= "0" then
    large[#large + 1] = { sum.key, sum.field, sign < 0 and "-" .. amount or amount }
  end
end

-- Fields that are added to alike: one sum for all of them, spread when it is written.
local joints = {}
local function jointOf(members)
  local joint = { members = members, value = 0 }
  joints[#joints + 1] = joint
  return joint
end

local function addToAll(joint, amount, number, sign)
  local value = number and joint.value + sign * number
  if value and value < SUM_MAX and value > -SUM_MAX then
    joint.value = value
  else
    for _, sum in ipairs(joint.members) do add(sum, amount, number, sign) end
  end
end

local function spread(joint)
  local size, sign = math.abs(joint.value), joint.value < 0 and -1 or 1
  local amount = string.format("%.0f", size)
  for _, sum in ipairs(joint.members) do add(sum, amount, size, sign) end
  joint.value = 0
end

local function writeSums()
  for _, joint in ipairs(joints) do
    if joint.value ~= 0 then spread(joint) end
  end
  for _, sum in pairs(sums) do
    if sum.value ~= 0 then redis.call("HINCRBY", sum.key, sum.field, string.format("%.0f", sum.value)) end
    sum.value = 0
  end
  for _, one in ipairs(large) do redis.call("HINCRBY", one[1], one[2], one[3]) end
  large = {}
end
