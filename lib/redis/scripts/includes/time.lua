-- One clock for all processes: Redis TIME, unless a test passes its own (ARGV value in ms, else "").
local function nowMicros(override)
  if override ~= "" then return tonumber(override) * 1000 end
  local time = redis.call("TIME")
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function integerText(number)
  return string.format("%.0f", number)
end
