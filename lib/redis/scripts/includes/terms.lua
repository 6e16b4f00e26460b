-- What calls of one key, model and class have in common: the epoch and span it holds for, budgets and short windows.
-- Text: "epoch start end", then a line of "<e|w|s> <period id> <meter> <rungs or -> <overflow plan or ->;" for each budget,
-- then a line of "<interval> <tolerance> <tokens per minute> <slots>;" for each rate limit, "-" where there is none.
-- `at` is the position of its keys: counter and limit of each budget, then request rate, token rate, concurrency of each.
local function readTerms(text, at)
  local epoch, from, to, budgetText, rateText = string.match(text, "^(%S*) (%d+) (%d+)\n([^\n]*)\n([^\n]*)$")
  local terms = { epoch = epoch, from = tonumber(from), to = tonumber(to), budgets = {}, rates = {} }
  local counters = {}
  for enforcement, periodId, meter, rungs, overflowPlan in string.gmatch(budgetText, "(%a) (%S+) (%S+) (%S+) (%S+);") do
    terms.budgets[#terms.budgets + 1] = {
      enforced = enforcement == "e", periodId = periodId, rungs = rungs, firstRung = tonumber((string.match(rungs, "^%d+"))),
      overflowPlan = tonumber(overflowPlan), counterKey = KEYS[at], limitKey = KEYS[at + 1],
    }
    counters[#counters + 1] = KEYS[at] .. "|" .. meter .. ";"
    at = at + 2
  end
  terms.counters = table.concat(counters)
  for interval, tolerance, perMinute, slots in string.gmatch(rateText, "(%S+) (%S+) (%S+) (%S+);") do
    terms.rates[#terms.rates + 1] = {
      interval = tonumber(interval), tolerance = tonumber(tolerance), perMinute = tonumber(perMinute), slots = tonumber(slots),
      requestKey = KEYS[at], tokenKey = KEYS[at + 1], slotKey = KEYS[at + 2],
    }
    at = at + 3
  end
  return terms, at
end
