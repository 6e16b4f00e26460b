--[[
  Takes one request from each request rate, or from none: of a call that is taken for later.

  KEYS[1] ..  request rate of each limit
  ARGV[1] now in ms or ""  ARGV[..] "<interval> <tolerance>" of each, in microseconds

  Returns code first, as reserve-n does:
   0 taken
   8 requests   rate limit, retry after ms
]]
--- @include "includes/time.lua"
--- @include "includes/short-windows.lua"

local micros = nowMicros(ARGV[1])
local now = math.floor(micros / 1000)
local limits = {}
for index, key in ipairs(KEYS) do
  local interval, tolerance = string.match(ARGV[1 + index], "^(%d+) (%d+)$")
  limits[index] = { interval = tonumber(interval), tolerance = tonumber(tolerance), requestKey = key }
end
local code, limit, waitMs = refusedBy(limits, 0, micros, now)
if code then return { code, limit, waitMs } end
take(limits, "", 0, micros, now)
writeWindows("", micros, now)
return { 0 }
