--[[
  Ends reservations of one organisation: settles each with what its call cost and appends its usage event, or voids it.
  Idempotent by reservation id. Where no reservation is open a settlement touches no counter and appends a late event.

  KEYS[1] generation  KEYS[2] deadlines  KEYS[3] usage stream  KEYS[4] booked
  KEYS[..] a reservation for each end, then books of UTC days
  ARGV[1] run id  ARGV[2] ends
  per end: reservation id; "" for a void or "<cost> <input tokens> <output tokens> <total tokens> <price currency> <amount in
           it> <number of its book>", then " <requests>" where they are not one; what the end adds to the usage event (JSON from
           its comma); head of the event (JSON), which only an end that was answered late says: an open reservation has it

  Settlements share entries of the stream: a "c" is what the head of each following "r" begins with.

  A void of an id never seen leaves a marker, so that a reserve whose answer got lost cannot take its hold afterwards.

  Returns one text: the watermark up to which everything is booked or -, then "<code> <stream id or ->" for each end:
  0 settled or voided, 1 already so, 2 nothing was open (of a void nothing remains to do; of a settlement nothing is written
  unless it has its head: then a late event), 3 fenced, 4 already late
]]
--- @include "includes/time.lua"
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"
--- @include "includes/resolve.lua"

local count = tonumber(ARGV[2])
local stored = redis.call("MGET", KEYS[1], unpack(KEYS, 5, 4 + count))
local isFenced = stored[1] ~= ARGV[1]
local reply, ended = {}, {}

-- Bounds what a reader of the stream takes with one entry.
local EVENTS_AN_ENTRY = 32
local fields, told, lastCommon = { "k", "settled" }, {}, nil

local function writeSettled()
  if #told == 0 then return end
  local streamId = redis.call("XADD", KEYS[3], "*", unpack(fields))
  for _, index in ipairs(told) do reply[index] = "0 " .. streamId end
  fields, told, lastCommon = { "k", "settled" }, {}, nil
end

local function noteSettled(index, common, own, result)
  local size = #fields
  if common ~= lastCommon then
    fields[size + 1], fields[size + 2] = "c", common
    size, lastCommon = size + 2, common
  end
  fields[size + 1], fields[size + 2] = "r", own .. result
  told[#told + 1] = index
  if #told == EVENTS_AN_ENTRY then writeSettled() end
end

local function void(index, id, key, state)
  if state == "v" then return 1 end
  if not state then mark(key, "v") end
  if state ~= "p" then return 2 end
  resolve(stored[index + 1], key, id, "v", nil, 0)
  return 0
end

local function settle(index, id, key, state, at)
  if state == "s" then return 1 end
  if state == "l" then return 4 end
  if state ~= "p" then
    if ARGV[at + 3] == "" then return 2 end
    mark(key, "l")
    return 2, redis.call("XADD", KEYS[3], "*", "k", "late", "h", ARGV[at + 3], "e", ARGV[at + 2])
  end
  local cost, input, output, total, currency, amount, book, requests =
    string.match(ARGV[at + 1], "^(%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%d+) ?(%d*)$")
  if requests == "" then requests = "1" end
  local actual = { cost = cost, input_tokens = input, output_tokens = output, total_tokens = total, requests = requests }
  local common, own = resolve(stored[index + 1], key, id, "s", actual, total)
  add(sumOf(KEYS[4 + count + book], currency), amount, smallNumber(amount), 1)
  noteSettled(index, common, own, ARGV[at + 2])
  return 0
end

-- The same id twice in one batch: the second sees what the first has left.
local seen = {}
for index = 1, count do
  local at = 3 + (index - 1) * 4
  local id, key = ARGV[at], KEYS[4 + index]
  local code, streamId = 3, nil
  if not isFenced then
    local state = seen[id] or stateOf(stored[index + 1])
    if ARGV[at + 1] == "" then
      code = void(index, id, key, state)
      seen[id] = (code == 0 or not state) and "v" or state
    else
      code, streamId = settle(index, id, key, state, at)
      seen[id] = code == 0 and "s" or streamId and "l" or state
    end
    if code == 0 then ended[#ended + 1] = id end
  end
  reply[index] = reply[index] or code .. " " .. (streamId or "-")
end
writeSettled()
if #ended > 0 then redis.call("ZREM", KEYS[2], unpack(ended)) end
writeSums()
return (redis.call("GET", KEYS[4]) or "-") .. " " .. table.concat(reply, " ")
