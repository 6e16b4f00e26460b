-- A reservation is one text: the letter of its state and, while it is open, a line for each thing its end needs:
--   p / plan rung overflow, and once it was extended the number of its last extension / counters / slots / token rates /
--   common / amounts / own / usage so far
-- Counters are "key|meter;" for each budget above the caller, "key|meter@<ms it outlives its last call>;" for a session,
-- amounts "held " for each, "-" where the plan charges none. The usage event's head is common .. own .. "}": what it shares
-- with other calls, and what is its own. JSON as our writers make it has no line breaks. A resolved one is its letter alone:
-- v, s, e or l (late), for ten minutes.
local MARKER_TTL_MS = "600000"

local function stateOf(stored)
  return stored and string.sub(stored, 1, 1)
end

-- Plain finds: a pattern would look at every letter.
local function lineBreak(text, from)
  return string.find(text, "\n", from, true)
end

-- All lines up to common: calls of one key and model have the same, unless limits of their own give them slots and tokens.
local lastShared, lastParts = nil, nil
local function sharedParts(stored)
  if lastShared and string.sub(stored, 1, #lastShared) == lastShared then return lastParts end
  local a = lineBreak(stored, 3)
  local b = lineBreak(stored, a + 1)
  local c = lineBreak(stored, b + 1)
  local d = lineBreak(stored, c + 1)
  local e = lineBreak(stored, d + 1)
  lastShared = string.sub(stored, 1, e)
  lastParts = {
    counters = string.sub(stored, a + 1, b - 1), slots = string.sub(stored, b + 1, c - 1),
    tokenRates = string.sub(stored, c + 1, d - 1), common = string.sub(stored, d + 1, e - 1), length = e,
  }
  return lastParts
end

-- { counters, slots, tokenRates, common }, amounts, own.
local function openParts(stored)
  local shared = sharedParts(stored)
  local a = lineBreak(stored, shared.length + 1)
  local b = lineBreak(stored, a + 1)
  return shared, string.sub(stored, shared.length + 1, a - 1), string.sub(stored, a + 1, b - 1)
end

-- Calls of one key and model have the same counters: taken apart once a script.
local shapes = {}
local function countersOf(text)
  local shape = shapes[text]
  if shape then return shape end
  shape = { isAllCost = true }
  local held, settled = {}, {}
  for key, meter in string.gmatch(text, "([^|]+)|([^;]+);") do
    local at = #shape + 1
    held[at], settled[at] = sumOf(key, "h"), sumOf(key, "s")
    shape[at] = { key = key, meter = meter, held = held[at], settled = settled[at] }
    if string.find(meter, "@", 1, true) then
      shape[at].meter, shape[at].ttlMs = string.match(meter, "^(.-)@(%d+)$")
      -- A session that is over has nothing to be given back to.
      shape[at].isGone = redis.call("PEXPIRE", key, shape[at].ttlMs) == 0
    end
    shape.isAllCost = shape.isAllCost and meter == "cost"
  end
  shape.held, shape.settled = jointOf(held), jointOf(settled)
  shapes[text] = shape
  return shape
end

-- plan, rung, overflow and the number of the last extension, as texts.
local function takenParts(stored)
  local plan, rung, overflow, extension = string.match(stored, "^p\n(%d+) (%d+) (%d) ?(%d*)\n")
  return plan, rung, overflow, extension == "" and "0" or extension
end

local function sharedText(taken, counters, slots, tokenRates, common)
  return table.concat({ "p", taken, counters, slots, tokenRates, common, "" }, "\n")
end

local function openText(shared, amounts, own)
  return shared .. amounts .. "\n" .. own .. "\n"
end

-- A head in one piece is a common one without an own.
local function commonOfHead(head)
  return string.sub(head, 1, -2)
end

local function mark(reservationKey, state)
  redis.call("SET", reservationKey, state, "PX", MARKER_TTL_MS)
end
