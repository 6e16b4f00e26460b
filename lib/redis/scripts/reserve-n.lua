--[[
  Takes the hold for one upstream attempt on every budget of its plan, or on none, together with rate, token and
  concurrency limits. Idempotent by reservation id.

  KEYS[1] reservation   KEYS[2] epoch   KEYS[3] generation   KEYS[4] deadlines   KEYS[5] reservation of the last attempt
  KEYS[..] per budget: counter, limit; then per rate limit: request rate, token rate, concurrency

  ARGV[1] reservation id      ARGV[2] epoch the caller knows   ARGV[3] run id the caller's connection saw
  ARGV[4] now in ms or ""     ARGV[5] lease in ms
  ARGV[6] ARGV[7] span in ms in which the caller's period ids are right: [start, end)
  ARGV[8] head of the usage event (JSON), kept for the sweeper in field m; the plan's differences in mp
  ARGV[9] budgets in force, one after another: "<e|w|s> <period id> <meter> <rungs or -> <overflow plan or ->" with a ; after each;
          rungs are "basisPoints:plan," rising; an overflow plan is the one to use in the overflow
  ARGV[10] serving plans  ARGV[11] rate limits  ARGV[12] "void" resolves the last attempt, "" leaves it
  ARGV[13] id of the last attempt's reservation
  per plan, mildest first: an amount or "-" for each budget, with a space after each, or "d" for a denial;
           then what differs in the head under this plan (JSON) or "". Plans beyond the last are denials.
  per rate limit: emission interval in micros or "", tolerance in micros, tokens per minute or "", tokens asked, concurrency or ""

  Plans are numbered from 0, mildest first. Returns {code, ...}:
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
--- @include "includes/resolve.lua"
--- @include "includes/budget-view.lua"

local known = redis.call("HMGET", KEYS[1], "st", "pl", "rg", "ov")
if known[1] then return { 1, known[1], known[2] or "0", known[3] or "0", known[4] or "0" } end
local standing = redis.call("MGET", KEYS[2], KEYS[3])
if standing[2] ~= ARGV[3] then return { 3 } end
local epoch = standing[1]
if epoch ~= ARGV[2] then return { 2, epoch or "" } end
local micros = nowMicros(ARGV[4])
local now = math.floor(micros / 1000)
if now < tonumber(ARGV[6]) or now >= tonumber(ARGV[7]) then return { 4, integerText(now) } end

if ARGV[12] == "void" and redis.call("HGET", KEYS[5], "st") == "p" then
  resolve(KEYS[5], KEYS[4], ARGV[13], "v", nil, 0)
end

local planCount, rateCount = tonumber(ARGV[10]), tonumber(ARGV[11])
local budgets, plans = {}, {}
local budgetCount = 0
for enforcement, periodId, meter, rungs, overflowPlan in string.gmatch(ARGV[9], "(%a) (%S+) (%S+) (%S+) (%S+);") do
  budgetCount = budgetCount + 1
  budgets[budgetCount] = {
    enforced = enforcement == "e", periodId = periodId, meter = meter, rungs = rungs,
    overflowPlan = overflowPlan ~= "-" and tonumber(overflowPlan),
    counterKey = KEYS[4 + budgetCount * 2], limitKey = KEYS[5 + budgetCount * 2],
  }
end

-- Amounts of a plan by budget, taken apart when it is first looked at; false for a denial.
local function amountsOf(index)
  local amounts = plans[index]
  if amounts ~= nil then return amounts end
  local text = index < planCount and ARGV[14 + index * 2] or "d"
  amounts = false
  if text ~= "d" then
    amounts = {}
    for amount in string.gmatch(text, "%S+") do amounts[#amounts + 1] = amount end
  end
  plans[index] = amounts
  return amounts
end
local ratesAt = 14 + planCount * 2

local function view(index)
  local budget = budgets[index]
  if not budget.view then
    budget.view = readBudget(budget.counterKey, budget.limitKey, budget.periodId, now)
    budget.rung, budget.plan = 0, 0
    if not budget.view.missing then
      for basisPoints, plan in string.gmatch(budget.rungs, "(%d+):(%d+)") do
        local threshold = tonumber(basisPoints)
        if not reached(budget.view, threshold) then break end -- rungs rise
        budget.rung, budget.plan = threshold, tonumber(plan)
      end
    end
  end
  return budget.view
end

local function applies(plan, index)
  local amounts = amountsOf(plan)
  return amounts and amounts[index] ~= "-"
end

-- The strictest rung of every budget that the plan would charge; a stricter plan may charge others, so look again.
local plan, binding, rung = 0, 0, 0
local examined = -1
local overflowing = {}
while plan ~= examined do
  examined = plan
  for index = 1, budgetCount do
    if applies(examined, index) then
      local budget = budgets[index]
      local seen = view(index)
      if seen.missing then return { 12, index } end
      if seen.frozen and budget.enforced then return { 7, index } end
      if budget.enforced then
        local wanted = budget.plan
        if budget.rung >= 10000 and budget.overflowPlan and not amountsOf(wanted) then
          wanted = budget.overflowPlan -- the fit below decides whether the overflow has room
        end
        if budget.rung > rung then binding, rung = index, budget.rung end
        if wanted > plan then plan, binding, rung = wanted, index, math.max(rung, budget.rung) end
      end
      if binding == 0 then binding = index end
    end
  end
  if not amountsOf(plan) then break end
end

if not amountsOf(plan) then
  local seen = view(binding)
  return { 5, plan, budgets[binding].rung, binding, seen.settled, seen.held, limitText(seen) }
end

-- Does the plan fit? Returns nothing when it does, else the budget that has no room.
local function shortBudget(candidate)
  overflowing = {}
  for index = 1, budgetCount do
    if applies(candidate, index) then
      local budget, seen = budgets[index], view(index)
      if seen.missing then return index, 12 end
      if seen.frozen and budget.enforced then return index, 7 end
      local within, withinOverflow, countable = fits(seen, plans[candidate][index])
      if not countable then return index, 11 end
      if budget.enforced and not within then
        if not budget.overflowPlan or not withinOverflow then return index, 6 end
        overflowing[index] = true
      end
    end
  end
end

local short, reason = shortBudget(plan)
local firstShort, firstReason = short, reason
while short and reason == 6 and plan < planCount - 1 do
  plan = plan + 1
  if amountsOf(plan) then short, reason = shortBudget(plan) end
end
if short then
  local seen = view(firstShort)
  if firstReason ~= 6 then return { firstReason, firstShort } end
  return { 6, firstShort, seen.settled, seen.held, limitText(seen), withOverflowText(seen) }
end

-- Short windows. Nothing is written before every check has passed: a script is not rolled back.
local rateWrites = {}
for index = 1, rateCount do
  local base = 5 + budgetCount * 2 + (index - 1) * 3
  local interval, tolerance, perMinute, asked, slots = unpack(ARGV, ratesAt + (index - 1) * 5, ratesAt + (index - 1) * 5 + 4)
  if interval ~= "" then
    local tat = math.max(micros, tonumber(redis.call("GET", KEYS[base + 1]) or "0")) + tonumber(interval)
    local wait = tat - (tonumber(tolerance) + tonumber(interval)) - micros
    if wait > 0 then return { 8, index, integerText(math.ceil(wait / 1000)) } end
    rateWrites[#rateWrites + 1] = { "SET", KEYS[base + 1], integerText(tat), "PX", integerText(math.ceil((tat - micros) / 1000) + 1) }
  end
  if perMinute ~= "" then
    local capacity = tonumber(perMinute)
    local bucket = redis.call("HMGET", KEYS[base + 2], "b", "t")
    local balance = capacity
    if bucket[1] then
      balance = math.min(capacity, tonumber(bucket[1]) + (now - tonumber(bucket[2])) * capacity / 60000)
    end
    local needed = math.min(tonumber(asked), capacity)
    if balance < needed then return { 9, index, integerText(math.ceil((needed - balance) * 60000 / capacity)) } end
    rateWrites[#rateWrites + 1] = { "HSET", KEYS[base + 2], "b", string.format("%.6f", balance - tonumber(asked)), "t", integerText(now) }
    rateWrites[#rateWrites + 1] = { "PEXPIRE", KEYS[base + 2], "3600000" }
  end
  if slots ~= "" then
    redis.call("ZREMRANGEBYSCORE", KEYS[base + 3], "-inf", integerText(now))
    if redis.call("ZCARD", KEYS[base + 3]) >= tonumber(slots) then return { 10, index } end
  end
end

local words, tokenRates, slotKeys = {}, {}, {}
local overflowed = 0
for index = 1, budgetCount do
  if applies(plan, index) then
    local amount = plans[plan][index]
    if amount ~= "0" then redis.call("HINCRBY", budgets[index].counterKey, "h", amount) end
    words[#words + 1] = budgets[index].counterKey .. "|" .. budgets[index].meter .. "|" .. amount
    if overflowing[index] then overflowed = 1 end
  end
end
local deadline = integerText(now + tonumber(ARGV[5]))
for _, write in ipairs(rateWrites) do redis.call(unpack(write)) end
for index = 1, rateCount do
  local base = 5 + budgetCount * 2 + (index - 1) * 3
  local at = ratesAt + (index - 1) * 5
  if ARGV[at + 2] ~= "" then tokenRates[#tokenRates + 1] = KEYS[base + 2] .. "|" .. ARGV[at + 3] end
  if ARGV[at + 4] ~= "" then
    redis.call("ZADD", KEYS[base + 3], deadline, ARGV[1])
    slotKeys[#slotKeys + 1] = KEYS[base + 3]
  end
end
redis.call("HSET", KEYS[1], "st", "p", "l", table.concat(words, " "), "m", ARGV[8], "mp", ARGV[15 + plan * 2], "pl", plan, "rg", rung, "ov", overflowed,
  "c", table.concat(slotKeys, " "), "q", table.concat(tokenRates, " "))
redis.call("ZADD", KEYS[4], deadline, ARGV[1])

if binding == 0 then return { 0, plan, rung, 0, "0", "0", "0", overflowed, integerText(now) } end
local seen = view(binding)
return { 0, plan, rung, binding, seen.settled, seen.held, limitText(seen), overflowed, integerText(now) }
