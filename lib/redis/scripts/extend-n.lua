--[[
  Raises the hold of an open reservation on every budget that it charges, or on none: what a stream asks for before it
  passes on what its next slice pays for. Limits, grants and freezes are those of now; rungs are not asked again, since a
  call keeps the plan under which it was admitted. Idempotent by the number of the extension.

  KEYS[1] epoch  KEYS[2] generation  KEYS[3] reservation  KEYS[..] counter and limit of each budget
  ARGV[1] run id the caller's connection saw  ARGV[2] now in ms or ""  ARGV[3] epoch the caller knows
  ARGV[4] number of the extension, from 1  ARGV[5] its budgets, as terms have them (includes/terms.lua)
  ARGV[6] what each is to hold more: an amount or "-", with a space after each
  ARGV[7] head of the usage event, with what is held then  ARGV[8] usage counted so far (JSON)

  Returns code first:
   0 extended   overflow 0|1
   1 already    overflow 0|1
   2 stale      epoch
   3 fenced
   4 not open, of other budgets, or without the extension before this one
   6 exhausted  budget, settled, held, limit
   7 frozen     budget
  11 too large  budget
  12 unknown    budget (it is enforced, and no limit stands in Redis)
]]
--- @include "includes/amount.lua"
--- @include "includes/time.lua"
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"
--- @include "includes/budget-view.lua"
--- @include "includes/terms.lua"
--- @include "includes/choose-plan.lua"

local found = redis.call("MGET", KEYS[1], KEYS[2], KEYS[3])
local stored = found[3]
if found[2] ~= ARGV[1] then return { 3 } end
if stateOf(stored) ~= "p" then return { 4 } end
local plan, rung, overflow, last = takenParts(stored)
local number = tonumber(ARGV[4])
if number <= tonumber(last) then return { 1, tonumber(overflow) } end
if number ~= tonumber(last) + 1 then return { 4 } end
if found[1] ~= ARGV[3] then return { 2, found[1] or "" } end

local budgets, counters = readBudgets(ARGV[5], 4)
local shared, heldTexts = openParts(stored)
if shared.counters ~= counters then return { 4 } end
local now = math.floor(nowMicros(ARGV[2]) / 1000)
local held, more = wordsOf(heldTexts), wordsOf(ARGV[6])

local function sumText(left, right)
  local hi, lo = amountParse(left)
  local moreHi, moreLo = amountParse(right)
  return amountText(amountAdd(hi, lo, moreHi, moreLo))
end

-- Nothing, or the answer that refuses. A budget of which nothing more is wanted needs no room, but must not be frozen. One
-- that is gone limits nothing; what is held on it goes back there at the end.
local function refusalOf(index, budget, amount)
  local view = viewOf(budget, now)
  if view.missing then return budget.enforced and { 12, index } or nil end
  if view.frozen and budget.enforced then return { 7, index } end
  if amount == "0" then return nil end
  local within, withinOverflow, countable = fits(view, amount)
  if not countable then return { 11, index } end
  if not budget.enforced or within then return nil end
  if not budget.overflowPlan or not withinOverflow then
    return { 6, index, view.settled, heldText(view), limitText(view) }
  end
  overflow = "1"
end

for index, budget in ipairs(budgets) do
  if held[index] ~= "-" then
    if more[index] == "-" then more[index] = "0" end
    local refusal = refusalOf(index, budget, more[index])
    if refusal then return refusal end
    held[index] = sumText(held[index], more[index])
  end
end
for index, budget in ipairs(budgets) do
  local view = held[index] ~= "-" and viewOf(budget, now)
  if view and view.missing then
    redis.call("HINCRBY", budget.counterKey, "h", more[index])
  elseif view then
    hold(view, more[index])
  end
end
writeHolds(views)
local taken = table.concat({ plan, rung, overflow, ARGV[4] }, " ")
local raised = sharedText(taken, counters, shared.slots, shared.tokenRates, commonOfHead(ARGV[7]))
redis.call("SET", KEYS[3], openText(raised, table.concat(held, " ") .. " ", "") .. ARGV[8])
return { 0, tonumber(overflow) }
