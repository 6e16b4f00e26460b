--[[
  Ends a fence: sets an organisation's counters to what the ledger and the open reservations say, and names this server as
  the one they were proved on. All in one step, and only if nothing moved since the caller read: while fenced, only an
  announcement can move anything (a reservation appears, or an event is appended), and both are seen here.

  KEYS[1] generation  KEYS[2] deadlines  KEYS[3] usage stream  KEYS[4] applied sequence  KEYS[5] epoch
  KEYS[..] D keys to delete (all counters and books that stand), C counters, B books, R reservations by position
  ARGV[1] run id of the server the caller read  ARGV[2] last id of the drained stream  ARGV[3] epoch the caller read
  ARGV[4] applied sequence  ARGV[5] D  ARGV[6] C  ARGV[7] B  ARGV[8] R
  per counter:     settled, opening part of it
  per book:        number of fields, then field and amount
  per reservation: id, state to close it with ("s" or "e") or "" to keep it

  Returns {code, open reservations}: 0 done, 1 already sound, 2 stream moved, 3 another server, 4 reservations moved, 5 epoch moved
]]
--- @include "includes/sums.lua"
--- @include "includes/reservation.lua"

local runId = string.match(redis.call("INFO", "server"), "run_id:(%w+)")
if runId ~= ARGV[1] then return { 3, 0 } end
if redis.call("GET", KEYS[1]) == ARGV[1] then return { 1, 0 } end
if redis.call("XLEN", KEYS[3]) > 0 then return { 2, 0 } end
local info = redis.call("XINFO", "STREAM", KEYS[3])
for index = 1, #info, 2 do
  if info[index] == "last-generated-id" and info[index + 1] ~= ARGV[2] then return { 2, 0 } end
end
if (redis.call("GET", KEYS[5]) or "") ~= ARGV[3] then return { 5, 0 } end

local deleted, counters, books, reservations = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local countersAt = 5 + deleted
local booksAt = countersAt + counters
local reservationsAt = booksAt + books

-- Positions of the arguments first: nothing is written before every check has passed.
local position = 9 + counters * 2
local bookPositions = {}
for index = 1, books do
  bookPositions[index] = position
  position = position + 1 + 2 * tonumber(ARGV[position])
end
local known = {}
for index = 1, reservations do
  known[ARGV[position]] = { key = KEYS[reservationsAt + index], close = ARGV[position + 1] }
  position = position + 2
end
local open = redis.call("ZRANGE", KEYS[2], 0, -1)
for _, id in ipairs(open) do
  if not known[id] then return { 4, 0 } end
end

for index = 1, deleted do redis.call("UNLINK", KEYS[5 + index]) end
for index = 1, counters do
  redis.call("HSET", KEYS[countersAt + index], "s", ARGV[7 + index * 2], "h", "0", "o", ARGV[8 + index * 2])
end
for index = 1, books do
  local at = bookPositions[index]
  for field = 1, tonumber(ARGV[at]) do
    redis.call("HSET", KEYS[booksAt + index], ARGV[at + field * 2 - 1], ARGV[at + field * 2])
  end
end

local kept = 0
for _, id in ipairs(open) do
  local reservation = known[id]
  local stored = redis.call("GET", reservation.key)
  if stateOf(stored) ~= "p" then
    redis.call("ZREM", KEYS[2], id)
  else
    local shared, amounts = openParts(stored)
    if reservation.close ~= "" then
      for slot in string.gmatch(shared.slots, "[^ ]+") do redis.call("ZREM", slot, id) end
      redis.call("ZREM", KEYS[2], id)
      mark(reservation.key, reservation.close)
    else
      kept = kept + 1
      local counters, index = countersOf(shared.counters), 0
      for held in string.gmatch(amounts, "%S+") do
        index = index + 1
        local counter = counters[index]
        if held ~= "-" and held ~= "0" then redis.call("HINCRBY", counter.key, "h", held) end
        if counter.ttlMs then redis.call("PEXPIRE", counter.key, counter.ttlMs) end
      end
    end
  end
end
redis.call("SET", KEYS[4], ARGV[4])
redis.call("SET", KEYS[1], ARGV[1])
return { 0, kept }
