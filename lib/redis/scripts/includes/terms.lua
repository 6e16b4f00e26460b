-- What calls of one key, model and class have in common: the epoch and span it holds for, budgets and short windows.
-- Text: "epoch start end", then a line of "<e|t|w|s> <period id> <meter> <rungs or -> <overflow plan or ->;" for each budget ("t" is
-- enforced and of the target that serves, not of the caller) or
-- "i <session> <meter> <limit> <ms its counter outlives its last call>;" for what a session may use, which stands nowhere else,
-- a line of "<interval> <tolerance> <tokens per minute> <slots>;" for each rate limit, "-" where there is none, then the
-- usage event's head up to what is a call's own, and a line for each plan of what its serving says in the head.
-- `at` is the position of its keys: counter and limit of each budget, then request rate, token rate, concurrency of each.
-- Requires reservation.lua.
-- Budgets and sessions of a line of terms, their counters as a reservation names them, and where the next keys stand.
local function readBudgets(line, at)
  local budgets, counters = {}, {}
  for enforcement, periodId, meter, rungs, overflowPlan in string.gmatch(line, "(%a) (%S+) (%S+) (%S+) (%S+);") do
    if enforcement == "i" then
      budgets[#budgets + 1] = { enforced = true, ownLimit = rungs, ttlMs = overflowPlan, counterKey = KEYS[at] }
      meter = meter .. "@" .. overflowPlan
    else
      budgets[#budgets + 1] = {
        enforced = enforcement == "e" or enforcement == "t", ofTarget = enforcement == "t", periodId = periodId, rungs = rungs, firstRung = tonumber((string.match(rungs, "^%d+"))),
        overflowPlan = tonumber(overflowPlan), counterKey = KEYS[at], limitKey = KEYS[at + 1],
      }
    end
    counters[#counters + 1] = KEYS[at] .. "|" .. meter .. ";"
    at = at + 2
  end
  return budgets, table.concat(counters), at
end

local function readTerms(text, at)
  local lines = {}
  for line in string.gmatch(text .. "\n", "([^\n]*)\n") do lines[#lines + 1] = line end
  local epoch, from, to = string.match(lines[1], "^(%S*) (%d+) (%d+)$")
  local terms = { epoch = epoch, from = tonumber(from), to = tonumber(to), rates = {}, head = lines[4], lines = lines, shared = {} }
  terms.budgets, terms.counters, at = readBudgets(lines[2], at)
  for interval, tolerance, perMinute, slots in string.gmatch(lines[3], "(%S+) (%S+) (%S+) (%S+);") do
    terms.rates[#terms.rates + 1] = {
      interval = tonumber(interval), tolerance = tonumber(tolerance), perMinute = tonumber(perMinute), slots = tonumber(slots),
      requestKey = KEYS[at], tokenKey = KEYS[at + 1], slotKey = KEYS[at + 2],
    }
    at = at + 3
  end
  return terms, at
end

-- What the reservations of all calls of these terms begin with that took the same and have no slots and tokens of their own.
local function sharedOf(terms, plan, taken)
  local shared = terms.shared[taken]
  if not shared then
    shared = sharedText(taken, terms.counters, "", "", terms.head .. terms.lines[5 + plan])
    terms.shared[taken] = shared
  end
  return shared
end
