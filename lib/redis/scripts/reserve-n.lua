--[[
  Takes the holds of calls of one organisation, one after another as they stand here: for each its hold on every budget of
  its plan, or on none, together with rate, token and concurrency limits. Idempotent by reservation id.

  KEYS[1] epoch  KEYS[2] generation  KEYS[3] deadlines
  KEYS[..] a reservation for each call, then for each the reservation of its last attempt (its own where there is none)
  KEYS[..] for each terms: counter and limit of each budget, then request rate, token rate, concurrency of each rate limit

  ARGV[1] run id the caller's connection saw  ARGV[2] now in ms or ""  ARGV[3] lease in ms  ARGV[4] calls  ARGV[5] terms
  per terms: what its calls have in common (see includes/terms.lua)
  per call:  reservation id, number of its terms, id of the last attempt's reservation to be voided or "", tokens asked,
             what is its own in the usage event's head, number of plans, then per plan, mildest first:
             an amount or "-" for each budget, with a space after each, or "d" for a denial;
             then what it holds, as the head says it. Plans beyond the last are denials.

  The head is JSON in pieces: the terms' opening, the call's own, the serving of the plan taken (terms), what it holds.

  Plans are numbered from 0, mildest first. Returns for each call {code, ...}:
   0 reserved   plan, rung, budget (1.. or 0), settled, held, limit of it, overflow 0|1, now
   1 already    state, plan, rung, overflow
   2 stale      epoch
   3 fenced
   4 clock      now
   5 rung       plan, rung, budget, settled, held, limit
   6 exhausted  budget, settled, held, limit, with overflow
   7 frozen     budget
   8 requests   rate limit, retry after ms
   9 tokens     rate limit, retry after ms
  10 concurrent rate limit
  11 too large  budget
  12 unknown    budget (no limit stands in Redis)
]]
--- @include "includes/amount.lua"
--- @include "includes/time.lua"
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"
--- @include "includes/resolve.lua"
--- @include "includes/budget-view.lua"
--- @include "includes/terms.lua"
--- @include "includes/short-windows.lua"
--- @include "includes/choose-plan.lua"

local callCount, termsCount = tonumber(ARGV[4]), tonumber(ARGV[5])
local stored = redis.call("MGET", KEYS[1], KEYS[2], unpack(KEYS, 4, 3 + callCount))
local epoch, isFenced = stored[1], stored[2] ~= ARGV[1]
local micros = nowMicros(ARGV[2])
local now = math.floor(micros / 1000)
local nowText = integerText(now)
local deadline = integerText(now + tonumber(ARGV[3]))

local allTerms = {}
local keyAt = 4 + 2 * callCount
for index = 1, termsCount do allTerms[index], keyAt = readTerms(ARGV[5 + index], keyAt) end

local function planTextAt(at)
  return function(number) return number < tonumber(ARGV[at]) and ARGV[at + 1 + number * 2] or "d" end
end

local calls, reply = {}, {}
local at = 6 + termsCount
for index = 1, callCount do
  local terms = allTerms[tonumber(ARGV[at + 1])]
  local known = stored[2 + index]
  calls[index] = {
    id = ARGV[at], terms = terms, budgets = terms.budgets, rates = terms.rates, previous = ARGV[at + 2], asked = tonumber(ARGV[at + 3]),
    head = ARGV[at + 4], planCount = tonumber(ARGV[at + 5]), planText = planTextAt(at + 5), plans = {}, at = at + 5,
  }
  at = at + 6 + 2 * calls[index].planCount
  if known then
    local plan, rung, overflow = string.match(known, "^p\n(%d+) (%d+) (%d)\n")
    reply[index] = { 1, stateOf(known), plan or "0", rung or "0", overflow or "0" }
  elseif isFenced then
    reply[index] = { 3 }
  elseif epoch ~= terms.epoch then
    reply[index] = { 2, epoch or "" }
  elseif now < terms.from or now >= terms.to then
    reply[index] = { 4, nowText }
  end
end

-- Last attempts first: what they held is free for all that is decided below.
local isVoided = false
for index, call in ipairs(calls) do
  if call.previous ~= "" and not reply[index] then
    local key = KEYS[3 + callCount + index]
    local last = redis.call("GET", key)
    if stateOf(last) == "p" then
      resolve(last, key, call.previous, "v", nil, 0)
      redis.call("ZREM", KEYS[3], call.previous)
      isVoided = true
    end
  end
end
if isVoided then writeSums() end

local records, deadlines = {}, {}

local function takenText(plan, rung, overflowed)
  if rung == 0 and plan == 0 then return overflowed == 0 and "0 0 0" or "0 0 1" end
  return plan .. " " .. rung .. " " .. overflowed
end

-- Every check has passed: the hold stands.
local function record(index, call, plan, binding, rung, overflowed)
  local answer = { 0, plan, rung, 0, "0", "0", "0", overflowed, nowText }
  if binding ~= 0 then
    local view = views[call.budgets[binding].counterKey]
    answer[4], answer[5], answer[6], answer[7] = binding, view.settled, heldText(view), limitText(view)
  end
  local amounts = planOf(call, plan)
  for position, budget in ipairs(call.budgets) do
    if amounts[position] ~= "-" then hold(views[budget.counterKey], amounts[position]) end
  end
  local slots, tokens = "", ""
  if call.rates[1] then slots, tokens = take(call.rates, call.id, call.asked, micros, now) end
  records[#records + 1] = KEYS[3 + index]
  records[#records + 1] = openText(takenText(plan, rung, overflowed), call.terms.counters, call.planText(plan), slots, tokens,
    call.terms.head .. call.head .. servingText(call.terms, plan) .. ARGV[call.at + 2 + plan * 2])
  deadlines[#deadlines + 1] = deadline
  deadlines[#deadlines + 1] = call.id
  return answer
end

local function decide(index, call)
  local plan, rung, overflowed, refusal = 0, 0, 0, nil
  local binding = plenty(call, now)
  if not binding then
    refusal, plan, binding, rung = planInForce(call, now)
    if refusal then return refusal end
    refusal, plan, overflowed = fittingPlan(call, plan, now)
    if refusal then return refusal end
  end
  local code, limit, waitMs = refusedBy(call.rates, call.asked, micros, now)
  if code then return { code, limit, waitMs } end
  return record(index, call, plan, binding, rung, overflowed)
end

-- The same id twice in one batch: the second meets the first.
local taken = {}
for index, call in ipairs(calls) do
  if not reply[index] then
    local twin = taken[call.id]
    if twin then
      reply[index] = { 1, "p", integerText(twin[2]), integerText(twin[3]), integerText(twin[8]) }
    else
      reply[index] = decide(index, call)
      if reply[index][1] == 0 then taken[call.id] = reply[index] end
    end
  end
end
if #records > 0 then
  redis.call("MSET", unpack(records))
  redis.call("ZADD", KEYS[3], unpack(deadlines))
  writeHolds(views)
  writeWindows(deadline, micros, now)
end
return reply
