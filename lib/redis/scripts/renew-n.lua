--[[
  Heartbeat of one gateway process for one organisation: registers the process, extends its open reservations and
  tells it where the world stands. One call a second.

  KEYS[1] epoch  KEYS[2] generation  KEYS[3] booked  KEYS[4] gateways  KEYS[5] deadlines  KEYS[..] reservations
  ARGV[1] gateway id  ARGV[2] now in ms or ""  ARGV[3] registration in ms  ARGV[4] lease in ms
  then per reservation: id, usage counted so far (JSON) or ""

  Returns {epoch, generation, booked, now, indexes of reservations that are not open ...}
]]
--- @include "includes/time.lua"
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"
--- @include "includes/resolve.lua"

local now = math.floor(nowMicros(ARGV[2]) / 1000)
redis.call("ZADD", KEYS[4], integerText(now + tonumber(ARGV[3])), ARGV[1])
local reply = {
  redis.call("GET", KEYS[1]) or "", redis.call("GET", KEYS[2]) or "", redis.call("GET", KEYS[3]) or "", integerText(now),
}
local deadline = integerText(now + tonumber(ARGV[4]))
for index = 6, #KEYS do
  local at = 5 + (index - 6) * 2
  local stored = redis.call("GET", KEYS[index])
  if stateOf(stored) == "p" then
    redis.call("ZADD", KEYS[5], deadline, ARGV[at])
    local shared = sharedParts(stored)
    if string.find(shared.counters, "@", 1, true) then countersOf(shared.counters) end -- a session lasts as long as its calls
    eachWord(shared.slots, function(key) redis.call("ZADD", key, "XX", deadline, ARGV[at]) end)
    if ARGV[at + 1] ~= "" then redis.call("SET", KEYS[index], string.match(stored, "^(.*\n)") .. ARGV[at + 1]) end
  else
    reply[#reply + 1] = index - 5
  end
end
return reply
