-- A reservation is one text: the letter of its state and, while it is open, a line for each thing its end needs:
--   p / plan rung overflow, and once it was extended the number of its last extension / counters / amounts / slots /
--   token rates / head of the usage event / usage so far
-- Counters are "key|meter;" for each budget above the caller, "key|meter@<ms it outlives its last call>;" for a session, amounts "held " for each, "-" where the plan charges none.
-- JSON as our writers make it has no line breaks. A resolved one is its letter alone: v, s, e or l (late), for ten minutes.
local MARKER_TTL_MS = "600000"

local function stateOf(stored)
  return stored and string.sub(stored, 1, 1)
end

-- counters, amounts, slots, token rates, head. Plain finds: a pattern would look at every letter.
local function openParts(stored)
  local a = string.find(stored, "\n", 3, true)
  local b = string.find(stored, "\n", a + 1, true)
  local c = string.find(stored, "\n", b + 1, true)
  local d = string.find(stored, "\n", c + 1, true)
  local e = string.find(stored, "\n", d + 1, true)
  local f = string.find(stored, "\n", e + 1, true)
  return string.sub(stored, a + 1, b - 1), string.sub(stored, b + 1, c - 1), string.sub(stored, c + 1, d - 1),
    string.sub(stored, d + 1, e - 1), string.sub(stored, e + 1, f - 1)
end

-- Calls of one key and model have the same counters: taken apart once a script.
local shapes = {}
local function countersOf(text)
  local shape = shapes[text]
  if shape then return shape end
  shape = {}
  for key, meter in string.gmatch(text, "([^|]+)|([^;]+);") do
    local counter = { key = key, meter = meter, held = sumOf(key, "h"), settled = sumOf(key, "s") }
    if string.find(meter, "@", 1, true) then
      counter.meter, counter.ttlMs = string.match(meter, "^(.-)@(%d+)$")
      -- A session that is over has nothing to be given back to.
      counter.isGone = redis.call("PEXPIRE", key, counter.ttlMs) == 0
    end
    shape[#shape + 1] = counter
  end
  shapes[text] = shape
  return shape
end

-- plan, rung, overflow and the number of the last extension, as texts.
local function takenParts(stored)
  local plan, rung, overflow, extension = string.match(stored, "^p\n(%d+) (%d+) (%d) ?(%d*)\n")
  return plan, rung, overflow, extension == "" and "0" or extension
end

local function openText(taken, counters, amounts, slots, tokenRates, head)
  return table.concat({ "p", taken, counters, amounts, slots, tokenRates, head, "" }, "\n")
end

local function mark(reservationKey, state)
  redis.call("SET", reservationKey, state, "PX", MARKER_TTL_MS)
end
