--[[
  Takes the holds of calls of one organisation, one after another as they stand here: for each its hold on every budget of
  its plan, or on none, together with rate, token and concurrency limits. Idempotent by reservation id.

  KEYS[1] epoch  KEYS[2] generation  KEYS[3] deadlines
  KEYS[..] a reservation for each call, then the last attempts' reservations that are to be voided
  KEYS[..] for each terms: counter and limit of each budget, then request rate, token rate, concurrency of each rate limit
  KEYS[#KEYS] usage stream, where there are last attempts

  ARGV[1] run id the caller's connection saw  ARGV[2] now in ms or ""  ARGV[3] lease in ms
  ARGV[4] calls  ARGV[5] terms  ARGV[6] last attempts to be voided
  per terms: what its calls have in common (see includes/terms.lua)
  per terms: what the mildest plans of its calls come to, a sum or "-" for each budget; "" where that is not said
  per last attempt: its reservation's id; what its end adds to the usage event (JSON from its comma) where it was sent and failed: then
             it is settled at nothing, a fact of the ledger; "" where it is only given back
  per call:  reservation id; "<number of its terms> <number of its last attempt to be voided or 0> <tokens asked> <plans>";
             what is its own in the usage event's head; then two lines for each plan, mildest first: an amount or "-" for
             each budget, with a space after each, or "d" for a denial; what it holds, as the head says it. A line
             of "=" stands for the two before. Plans beyond the last are denials.

  The head is JSON in pieces: the terms' opening, the serving of the plan taken (terms), the call's own, what it holds, and
  a closing brace that nobody sends.

  Plans are numbered from 0, mildest first. Returns for each call a text of words, code first:
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

local callCount, termsCount, voidCount = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local stored = redis.call("MGET", KEYS[1], KEYS[2], unpack(KEYS, 4, 3 + callCount))
local epoch, isFenced = stored[1], stored[2] ~= ARGV[1]
local micros = nowMicros(ARGV[2])
local now = math.floor(micros / 1000)
local nowText = integerText(now)
local deadline = integerText(now + tonumber(ARGV[3]))
local callsAt = 7 + 2 * termsCount + 2 * voidCount

local allTerms = {}
local keyAt = 4 + callCount + voidCount
for index = 1, termsCount do allTerms[index], keyAt = readTerms(ARGV[6 + index], keyAt) end

-- What every call of these terms is answered, if anything.
local function answerOf(terms)
  if isFenced then return "3" end
  if epoch ~= terms.epoch then return "2 " .. (epoch or "") end
  if now < terms.from or now >= terms.to then return "4 " .. nowText end
end

local function knownAnswer(known)
  local taken = string.match(known, "^p\n([^\n]*)\n") or "0 0 0"
  return "1 " .. stateOf(known) .. " " .. taken
end

-- Of a call: its terms, the number of its last attempt, tokens asked, number of plans.
local function factsOf(index)
  local terms, last, asked, plans = string.match(ARGV[callsAt + index * 4 - 3], "^(%d+) (%d+) (%d+) (%d+)$")
  return allTerms[tonumber(terms)], tonumber(last), tonumber(asked), tonumber(plans)
end

local records, deadlines = {}, {}
local function note(index, taken, terms, amounts, slots, tokens, plan, held)
  local at = callsAt + (index - 1) * 4
  records[#records + 1] = KEYS[3 + index]
  local shared = slots == "" and tokens == "" and sharedOf(terms, plan, taken)
    or sharedText(taken, terms.counters, slots, tokens, terms.head .. terms.lines[5 + plan])
  records[#records + 1] = openText(shared, amounts, ARGV[at + 2] .. held)
  deadlines[#deadlines + 1] = deadline
  deadlines[#deadlines + 1] = ARGV[at]
end

-- Where money is plentiful for all calls together it is so for each of them: sums are looked at, not calls. Returns the
-- answers, or nothing where it is not plainly so; then each call is decided by itself.
local function admitAll()
  if voidCount > 0 then return nil end
  local seen = {}
  for index = 1, callCount do
    local id = ARGV[callsAt + (index - 1) * 4]
    if stored[2 + index] or seen[id] then return nil end
    seen[id] = true
  end
  for index, terms in ipairs(allTerms) do
    if answerOf(terms) or terms.rates[1] then return nil end
    local sums = wordsOf(ARGV[6 + termsCount + index])
    local first = plenty(terms.budgets, sums, now)
    if not first then return nil end
    local view = viewOf(terms.budgets[first], now)
    view.running = view.running or view.held
    terms.before, terms.view = "0 0 0 " .. first .. " " .. view.settled .. " ", view
    terms.after = " " .. limitText(view) .. " 0 " .. nowText
    holdAll(terms.budgets, sums)
  end
  local answers = {}
  for index = 1, callCount do
    local terms = factsOf(index)
    local plans = ARGV[callsAt + index * 4 - 1]
    local first = string.find(plans, "\n", 1, true)
    local amounts = string.sub(plans, 1, first - 1)
    note(index, "0 0 0", terms, amounts, "", "", 0, string.sub(plans, first + 1, string.find(plans, "\n", first + 1, true) - 1))
    local view = terms.view
    answers[index] = terms.before .. integerText(view.running) .. terms.after
    view.running = view.running + tonumber((string.match(amounts, "%d+")))
  end
  return answers
end

local NOTHING = { cost = "0", input_tokens = "0", output_tokens = "0", total_tokens = "0", requests = "0" }

-- Last attempts first: what they held is free for all that is decided below.
local function voidLast(index)
  local at = 5 + 2 * termsCount + 2 * index
  local key, id, result = KEYS[3 + callCount + index], ARGV[at], ARGV[at + 1]
  local last = redis.call("GET", key)
  if stateOf(last) ~= "p" then return end
  if result == "" then
    resolve(last, key, id, "v", nil, 0)
  else
    local common, own = resolve(last, key, id, "s", NOTHING, 0)
    redis.call("XADD", KEYS[#KEYS], "*", "k", "settled", "c", common, "r", own .. result)
  end
  redis.call("ZREM", KEYS[3], id)
end

-- Every check has passed: the hold stands.
local function record(index, call, plan, binding, rung, overflowed)
  local answer = { 0, plan, rung, 0, "0", "0", "0", overflowed, nowText }
  if binding ~= 0 then
    local view = viewOf(call.budgets[binding], now)
    answer[4], answer[5], answer[6], answer[7] = binding, view.settled, heldText(view), limitText(view)
  end
  holdAll(call.budgets, planOf(call, plan))
  local slots, tokens = "", ""
  if call.terms.rates[1] then slots, tokens = take(call.terms.rates, call.id, call.asked, micros, now) end
  note(index, plan .. " " .. rung .. " " .. overflowed, call.terms, call.lines[1 + plan * 2], slots, tokens, plan, call.lines[2 + plan * 2])
  return answer
end

local function decide(index, call)
  local plan, rung, overflowed, refusal = 0, 0, 0, nil
  local binding = planOf(call, 0) and plenty(call.budgets, planOf(call, 0), now)
  if not binding then
    refusal, plan, binding, rung = planInForce(call, now)
    if refusal then return refusal end
    refusal, plan, overflowed = fittingPlan(call, plan, now)
    if refusal then return refusal end
  end
  local code, limit, waitMs = refusedBy(call.terms.rates, call.asked, micros, now)
  if code then return { code, limit, waitMs } end
  return record(index, call, plan, binding, rung, overflowed)
end

local function callOf(index)
  local at = callsAt + (index - 1) * 4
  local terms, last, asked, planCount = factsOf(index)
  local lines = {}
  for line in string.gmatch(ARGV[at + 3], "([^\n]*)\n") do
    if line == "=" then
      lines[#lines + 1] = lines[#lines - 1]
      lines[#lines + 1] = lines[#lines - 1]
    else
      lines[#lines + 1] = line
    end
  end
  return { id = ARGV[at], terms = terms, budgets = terms.budgets, last = last, asked = asked, planCount = planCount, lines = lines, plans = {} }
end

local function decideEach()
  local calls, answers = {}, {}
  for index = 1, callCount do
    local call = callOf(index)
    local known = stored[2 + index]
    calls[index] = call
    answers[index] = known and knownAnswer(known) or answerOf(call.terms)
    if call.last > 0 and not answers[index] then voidLast(call.last) end
  end
  writeSums()
  -- The same id twice in one batch: the second meets the first.
  local taken = {}
  for index, call in ipairs(calls) do
    local twin = taken[call.id]
    if not answers[index] and twin then
      answers[index] = "1 p " .. twin[2] .. " " .. twin[3] .. " " .. twin[8]
    elseif not answers[index] then
      local answer = decide(index, call)
      if answer[1] == 0 then taken[call.id] = answer end
      answers[index] = table.concat(answer, " ")
    end
  end
  return answers
end

local answers = admitAll()
if not answers then
  forgetViews()
  records, deadlines = {}, {}
  answers = decideEach()
end
if #records > 0 then
  redis.call("MSET", unpack(records))
  redis.call("ZADD", KEYS[3], unpack(deadlines))
  writeHolds(views)
  writeWindows(deadline, micros, now)
end
return answers
