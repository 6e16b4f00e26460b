-- The rung in force and whether its plan fits. Requires budget-view.lua. A call has `budgets` (of its terms), `planCount`
-- and `lines`: two for each plan, an amount for each budget ("-" where it charges none) or "d" for a denial, and its hold.
local views = {}

local function forgetViews()
  views = {}
end

local function viewOf(budget, nowMs)
  local view = views[budget.counterKey]
  if not view then
    view = readBudget(budget, nowMs)
    views[budget.counterKey] = view
  elseif budget.ownLimit and (view.ownLimit ~= budget.ownLimit or view.ttlMs ~= budget.ttlMs) then
    turnToLimitOf(view, budget)
  end
  return view
end

-- Basis points of the highest rung reached, and its plan.
local function rungOf(budget, view)
  local at, plan = 0, 0
  if not budget.firstRung or not reached(view, budget.firstRung) then return at, plan end
  for basisPoints, number in string.gmatch(budget.rungs, "(%d+):(%d+)") do
    if not reached(view, tonumber(basisPoints)) then break end -- rungs rise
    at, plan = tonumber(basisPoints), tonumber(number)
  end
  return at, plan
end

local function wordsOf(text)
  local words = {}
  for word in string.gmatch(text, "%S+") do words[#words + 1] = word end
  return words
end

-- Amounts of a plan by budget, taken apart when it is first looked at; false for a denial.
local function planOf(call, number)
  local amounts = call.plans[number]
  if amounts ~= nil then return amounts end
  local text = call.lines[1 + number * 2]
  amounts = text and text ~= "d" and wordsOf(text) or false
  call.plans[number] = amounts
  return amounts
end

-- Whether these amounts fit with every budget below its first rung: what all but few calls find. Returns the first budget
-- charged. Says nothing where it is not plainly so; the rules below decide then.
local function plenty(budgets, amounts, nowMs)
  local first
  for index, budget in ipairs(budgets) do
    local amount = amounts[index]
    if not amount then return nil end
    if amount ~= "-" then
      local view = viewOf(budget, nowMs)
      if not view.small or #amount > SMALL_DIGITS or view.frozen then return nil end
      local total = view.used + tonumber(amount)
      if total >= SMALL_MAX then return nil end
      if budget.enforced then
        if total > view.limit then return nil end
        if budget.firstRung and total * 10000 >= view.limit * budget.firstRung * 0.999999999 then return nil end
      end
      first = first or index
    end
  end
  return first
end

local function holdAll(budgets, amounts)
  for index, budget in ipairs(budgets) do
    if amounts[index] ~= "-" then hold(views[budget.counterKey], amounts[index]) end
  end
end

-- The strictest rung of every budget that the plan would charge; a stricter plan may charge others, so look again.
-- Returns a refusal, or nil, the plan, and what binds it: budget (0: none) and rung.
local function planInForce(call, nowMs)
  local plan, binding, rung = 0, 0, 0
  local examined = -1
  while plan ~= examined and planOf(call, plan) do
    examined = plan
    local amounts = planOf(call, plan)
    for index, budget in ipairs(call.budgets) do
      if amounts[index] ~= "-" then
        local view = viewOf(budget, nowMs)
        if view.missing then return { 12, index } end
        if budget.enforced then
          if view.frozen then return { 7, index } end
          local at, wanted = rungOf(budget, view)
          if at >= 10000 and budget.overflowPlan and not planOf(call, wanted) then
            wanted = budget.overflowPlan -- the fit below decides whether the overflow has room
          end
          if at > rung then binding, rung = index, at end
          if wanted > plan then plan, binding, rung = wanted, index, math.max(rung, at) end
        end
        if binding == 0 then binding = index end
      end
    end
  end
  if planOf(call, plan) then return nil, plan, binding, rung end
  local budget = call.budgets[binding]
  local view = viewOf(budget, nowMs)
  local at = rungOf(budget, view)
  return { 5, plan, at, binding, view.settled, heldText(view), limitText(view) }
end

-- Nothing where the plan fits, else the budget without room and the code why. The second table: budgets that use overflow.
local function shortOf(call, plan, nowMs, overflowing)
  local amounts = planOf(call, plan)
  for index, budget in ipairs(call.budgets) do
    if amounts[index] ~= "-" then
      local view = viewOf(budget, nowMs)
      if view.missing then return index, 12 end
      if view.frozen and budget.enforced then return index, 7 end
      local within, withinOverflow, countable = fits(view, amounts[index])
      if not countable then return index, 11 end
      if budget.enforced and not within then
        if not budget.overflowPlan or not withinOverflow then return index, 6 end
        overflowing.used = true
      end
    end
  end
end

-- A stricter plan may be cheaper: the first that fits is taken. Where the target of one has no money left nothing stricter is
-- looked at: that plan may be served elsewhere. Returns a refusal, or nil, the plan and 1 for overflow.
local function fittingPlan(call, plan, nowMs)
  local overflowing = {}
  local short, reason = shortOf(call, plan, nowMs, overflowing)
  local firstShort, firstReason = short, reason
  while short and reason == 6 and not call.budgets[short].ofTarget and plan < call.planCount - 1 do
    plan = plan + 1
    if planOf(call, plan) then
      overflowing = {}
      short, reason = shortOf(call, plan, nowMs, overflowing)
    end
  end
  if not short then return nil, plan, overflowing.used and 1 or 0 end
  if call.budgets[short].ofTarget then firstShort, firstReason = short, reason end
  if firstReason ~= 6 then return { firstReason, firstShort } end
  local view = viewOf(call.budgets[firstShort], nowMs)
  return { 6, firstShort, view.settled, heldText(view), limitText(view), withOverflowText(view) }
end
