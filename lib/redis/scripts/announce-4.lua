--[[
  Under a fence only: a gateway tells a Redis that lost its latest writes what it knows of one reservation. Counters are
  not touched; recovery computes them afterwards from ledger and open reservations. Idempotent.

  KEYS[1] reservation  KEYS[2] generation  KEYS[3] deadlines  KEYS[4] usage stream
  ARGV[1] reservation id  ARGV[2] run id of this server  ARGV[3] state p|s|v  ARGV[4] deadline in ms
  ARGV[5] amounts  ARGV[6] head (JSON)  ARGV[7] what the end adds to the event when settled (JSON from its comma)
  ARGV[8] rung  ARGV[9] overflow 0|1  ARGV[10] counters, as the reservation keeps them  ARGV[11] number of its last extension

  An open reservation that lost an extension gets what is held by it; one that has more than its gateway knows keeps it (the
  answer was lost). A settlement of a call that this server only knows as expired is a late event, as it was where it was lost.

  Returns {code, stream id when an event was appended}: 0 noted, 1 known already, 3 not fenced
]]
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"

if redis.call("GET", KEYS[2]) == ARGV[2] then return { 3 } end
local stored = redis.call("GET", KEYS[1])
local state = stateOf(stored)
local isLate = state == "e" and ARGV[3] == "s"
if state and state ~= "p" and not isLate then return { 1 } end
if ARGV[3] == "p" then
  local plan, slots, tokenRates = "0", "", ""
  if state == "p" then
    local rung, overflow, extension
    plan, rung, overflow, extension = takenParts(stored)
    if tonumber(extension) >= tonumber(ARGV[11]) then return { 1 } end
    local shared = sharedParts(stored)
    slots, tokenRates = shared.slots, shared.tokenRates
  end
  local taken = table.concat({ plan, ARGV[8], ARGV[9], ARGV[11] }, " ")
  redis.call("SET", KEYS[1], openText(sharedText(taken, ARGV[10], slots, tokenRates, commonOfHead(ARGV[6])), ARGV[5], ""))
  redis.call("ZADD", KEYS[3], ARGV[4], ARGV[1])
  return { 0 }
end
mark(KEYS[1], isLate and "l" or ARGV[3])
redis.call("ZREM", KEYS[3], ARGV[1])
if ARGV[3] == "s" then
  return { 0, redis.call("XADD", KEYS[4], "*", "k", isLate and "late" or "announced", "h", ARGV[6], "e", ARGV[7]) }
end
return { 0 }
