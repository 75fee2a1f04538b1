// The store's side of the protocol as one Lua script that gets a whole message. A message is handled atomically, by the
// store's own clock, and once. https://valkey.io/topics/eval-intro/ Numbers are doubles, exact to 2^53; they are
// written with %.0f, never by tostring. test/admission/simulation/store-model.ts does the same in TypeScript, and a
// differential test compares the two.
import { BUCKETS } from "../windows.ts";
import { MIN_LEASED_CALLS, MIN_LEASED_WINDOW_MS, SLOTS_FREED_MS, TIMINGS } from "./protocol.ts";

/**
 * KEYS: epoch, replicas and group, then two for each account: its count and this replica's part of it. ARGV: the
 * message.
 */
export const STORE_SCRIPT = `
local m = cjson.decode(ARGV[1])
local epochKey, liveKey, groupKey = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local BUCKETS, DAY = ${BUCKETS}, 86400000
local floor, max, min = math.floor, math.max, math.min
local function text(n) return string.format('%.0f', n) end

-- a new epoch: another process answers than the one that wrote, or what it wrote is gone
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local epoch = redis.call('HMGET', epochKey, 'run', 'label', 'opens')
if epoch[1] ~= run then
  epoch = { run, string.sub(run, 1, 12) .. '.' .. time[1] .. '.' .. time[2], text(now + m.w) }
  redis.call('HSET', epochKey, 'run', epoch[1], 'label', epoch[2], 'opens', epoch[3])
end
local label, isOpen = epoch[2], now >= tonumber(epoch[3])

local known = redis.call('HMGET', groupKey, 'q:' .. m.r, 'j:' .. m.r)
-- a statement is of one epoch too; a replica that knows of none has nothing to state
local isNew = m.j == 2 and m.e == ''
if m.j ~= 3 and not isNew and (m.e ~= label or (m.j == 0 and known[2] ~= label)) then return { 1, label, now } end
local last = tonumber(known[1] or '0')
if m.q < last then return { 2, label, now } end
if m.q == last then
  local answer = redis.call('HGET', groupKey, 'a:' .. m.r)
  if answer then return cmsgpack.unpack(answer) end
end

if m.j ~= 3 then redis.call('ZADD', liveKey, text(now), m.r) end
local replicas, rank = 0, 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', liveKey, text(now - 10000), '+inf')) do
  replicas = replicas + 1
  if id < m.r then rank = rank + 1 end
end
replicas = max(replicas, 1)

local function monthOf(day)
  local z = day + 719468
  local era = floor(z / 146097)
  local doe = z - era * 146097
  local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
  local mp = floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 2 or mp - 10
  return (yoe + era * 400 + (month <= 1 and 1 or 0)) * 12 + month
end
local function firstDay(months)
  local month = months % 12
  local y = floor(months / 12) - (month <= 1 and 1 or 0)
  local era = floor(y / 400)
  local yoe = y - era * 400
  return era * 146097 + yoe * 365 + floor(yoe / 4) - floor(yoe / 100) + floor((153 * ((month + 10) % 12) + 2) / 5) - 719468
end
local function bucketAt(kind, window)
  local day = floor(now / DAY)
  if kind == 'slide' then return floor(now * BUCKETS / window) end
  if kind == 'day' then return day end
  if kind == 'week' then return floor((day + 3) / 7) end
  if kind == 'month' then return monthOf(day) end
  return 0
end

-- when a bucket has left the window; false: never
local function leavesAt(account, bucket)
  local kind = account.kind
  if kind == 'slide' then return math.ceil((bucket + 1) * account.window / BUCKETS) + account.window + account.allowance end
  if kind == 'day' then return (bucket + 1) * DAY end
  if kind == 'week' then return ((bucket + 1) * 7 - 3) * DAY end
  if kind == 'month' then return firstDay(bucket + 1) * DAY end
  return false
end

local function open(i)
  local line = m.a[i]
  local account = { key = KEYS[2 + 2 * i], ownKey = KEYS[3 + 2 * i], limit = line[1], kind = line[2], window = line[3], typical = max(line[4], 1), want = line[5], hold = line[6], idle = line[7],
    buckets = {}, holds = {}, used = 0, recalled = 0, granted = 0, dirty = {}, gone = {} }
  account.allowance = account.window >= ${MIN_LEASED_WINDOW_MS} and m.l or 0
  account.now = bucketAt(account.kind, account.window)
  local flat = redis.call('HGETALL', account.key)
  for n = 1, #flat, 2 do
    local field, value = flat[n], flat[n + 1]
    local sort = string.sub(field, 1, 2)
    if sort == 'b:' then
      local bucket = tonumber(string.sub(field, 3))
      local leaves = leavesAt(account, bucket)
      if leaves and leaves <= now then account.gone[#account.gone + 1] = field
      else
        account.buckets[bucket] = tonumber(value)
        account.used = account.used + tonumber(value)
      end
    elseif sort == 'h:' then
      local units, at, idle = string.match(value, '(%d+):(%d+):(%d+)')
      account.holds[string.sub(field, 3)] = { tonumber(units), tonumber(at), tonumber(idle) }
    elseif field == 'x' then account.recalled = tonumber(value) end
  end
  -- slots of replicas that were not heard for three heartbeats are free
  if account.kind == 'slots' then
    for id, hold in pairs(account.holds) do
      if id ~= m.r and hold[2] + ${SLOTS_FREED_MS} < now then
        account.holds[id] = nil
        account.gone[#account.gone + 1] = 'h:' .. id
      elseif id ~= m.r then account.used = account.used + hold[1] end
    end
  end
  local mine = account.holds[m.r]
  if account.hold > 0 then
    account.holds[m.r] = { account.hold, (account.kind ~= 'slots' and mine) and mine[2] or now, account.idle }
    if account.kind == 'slots' then account.used = account.used + account.hold end
    account.dirty['h:' .. m.r] = true
  elseif mine then
    account.holds[m.r] = nil
    account.gone[#account.gone + 1] = 'h:' .. m.r
  end
  return account
end

local accounts = {}
for i = 1, #m.a do accounts[i] = open(i) end

local function own(account)
  if account.own == nil then
    account.own, account.ownDirty = {}, {}
    local flat = redis.call('HGETALL', account.ownKey)
    for n = 1, #flat, 2 do account.own[tonumber(flat[n])] = tonumber(flat[n + 1]) end
  end
  return account.own
end

local function add(account, bucket, units)
  if account.kind == 'slots' then return end
  bucket = min(bucket, account.now)
  local leaves = leavesAt(account, bucket)
  if leaves and leaves <= now then return end
  local mine = own(account)
  units = max(units, -(mine[bucket] or 0))
  if units == 0 then return end
  mine[bucket] = (mine[bucket] or 0) + units
  account.ownDirty[bucket] = true
  account.buckets[bucket] = max(0, (account.buckets[bucket] or 0) + units)
  account.used = account.used + units
  account.dirty['b:' .. text(bucket)] = true
end

local function take(account, units)
  if account.kind == 'slots' then
    local mine = account.holds[m.r]
    account.holds[m.r] = { (mine and mine[1] or 0) + units, now, (mine and mine[3] or 0) }
    account.used = account.used + units
    account.dirty['h:' .. m.r] = true
  else add(account, account.now, units) end
end

-- of a window without end nothing leaves by itself: what a call has reserved is held until its replica says what it used
local function hold(account, units)
  if account.kind ~= 'total' or units == 0 then return end
  local mine = account.holds[m.r]
  account.holds[m.r] = { (mine and mine[1] or 0) + units, mine and mine[2] or now, mine and mine[3] or 0 }
  account.dirty['h:' .. m.r] = true
end

local function fitsAt(account, units)
  if units > account.limit or account.kind == 'total' then return -1 end
  if account.kind == 'slots' then return now end
  if account.kind ~= 'slide' then return leavesAt(account, account.now) end
  local order = {}
  for bucket in pairs(account.buckets) do order[#order + 1] = bucket end
  table.sort(order)
  local used = account.used
  for _, bucket in ipairs(order) do
    if used + units <= account.limit then break end
    used = used - account.buckets[bucket]
    order.at = leavesAt(account, bucket)
  end
  return order.at or now
end

local function reserve(op)
  if not isOpen then return { 2 } end
  local worst, worstAt, worstNeed, worstOrder, worth = nil, 0, 0, -1, 1
  for n = 2, #op, 3 do
    local account, units = accounts[op[n]], op[n + 1]
    account.asked = (account.asked or 0) + units
    local missing = account.used + account.asked - account.limit
    if op[n + 2] == 0 and units > 0 and missing > 0 then
      local at, out = fitsAt(account, units), 0
      for _, hold in pairs(account.holds) do
        if hold[2] + m.l + ${TIMINGS.recallWaitMs} >= now then out = out + hold[3] end
      end
      if out > 0 and units <= account.limit then
        account.recalled = now + 500
        account.dirty.x = true
      end
      if out < missing or units > account.limit then worth = 0 end
      local order = at ~= -1 and at or (units > account.limit and 2 ^ 52 or 2 ^ 51)
      if order > worstOrder then worst, worstAt, worstNeed, worstOrder = account, at, (n - 2) / 3, order end
    end
  end
  for n = 2, #op, 3 do accounts[op[n]].asked = 0 end
  if worst then return { 0, worstNeed, worst.used, worstAt, worth } end
  local done = { 1 }
  for n = 2, #op, 3 do
    done[#done + 1] = accounts[op[n]].used
    take(accounts[op[n]], op[n + 1])
    hold(accounts[op[n]], op[n + 1])
  end
  return done
end

local function isFirst(account, mark)
  local told = redis.call('HGET', account.key, 'm:' .. mark)
  if told and (account.kind == 'slide' and now - tonumber(told) < account.window or account.kind ~= 'slide' and tonumber(told) >= account.now) then return { 0 } end
  redis.call('HSET', account.key, 'm:' .. mark, text(account.kind == 'slide' and now or account.now))
  account.touched = true
  return { 1 }
end

-- what the replica says that it has charged takes the place of what is written here
for _, statement in ipairs(m.s) do
  local account = accounts[statement[1]]
  local stated, newest = {}, -1
  for n = 3, #statement, 2 do
    local bucket = min(statement[n], account.now)
    stated[bucket] = (stated[bucket] or 0) + statement[n + 1]
    newest = max(newest, bucket)
  end
  local before = {}
  for bucket, units in pairs(own(account)) do before[bucket] = units end
  if statement[2] > 0 then
    for bucket, units in pairs(before) do
      if stated[bucket] == nil and (statement[2] == 1 or bucket > newest) then add(account, bucket, -units) end
    end
  end
  for bucket, units in pairs(stated) do add(account, bucket, units - (before[bucket] or 0)) end
end

local answers = {}
for n, op in ipairs(m.o) do
  if op[1] == 'g' then
    add(accounts[op[2]], op[3], op[4])
    answers[n] = {}
  elseif op[1] == 'c' then
    add(accounts[op[2]], accounts[op[2]].now, op[3])
    answers[n] = {}
  elseif op[1] == 'r' then answers[n] = reserve(op)
  else answers[n] = isFirst(accounts[op[2]], op[3]) end
end

local lines = {}
for i, account in ipairs(accounts) do
  local available = max(0, account.limit - account.used)
  local cap = floor(available / (2 * replicas))
  local leasable = account.limit >= ${MIN_LEASED_CALLS} * account.typical and (account.kind ~= 'slide' or account.window >= ${MIN_LEASED_WINDOW_MS})
  local mode = (leasable and account.recalled <= now and cap >= account.typical and cap * 4 >= account.want) and 1 or 0
  if not isOpen then mode = 2 end
  local granted, valid = 0, m.l
  if account.kind ~= 'slide' and account.kind ~= 'total' and account.kind ~= 'slots' then valid = min(m.l, leavesAt(account, account.now) - now) end
  if mode == 1 and account.want > 0 then
    granted = min(max(account.want, account.typical), cap)
    local mine = account.holds[m.r]
    take(account, granted)
    if account.kind ~= 'slots' then account.holds[m.r] = { (mine and mine[1] or 0) + granted, now, (mine and mine[3] or 0) + granted }
    elseif granted > 0 then account.holds[m.r][3] = account.holds[m.r][3] + granted end
    account.dirty['h:' .. m.r] = true
  end
  local newest = false
  for bucket, units in pairs(account.buckets) do
    if units > 0 and (not newest or bucket > newest) then newest = bucket end
  end
  lines[i] = { account.used, mode, granted, account.now, valid, newest and leavesAt(account, newest) or -1 }

  local keep = false
  if account.kind == 'slide' then keep = 2 * account.window + 60000
  elseif account.kind == 'slots' then keep = 60000
  elseif account.kind ~= 'total' then keep = leavesAt(account, account.now) - now + DAY end
  local fields = {}
  for field in pairs(account.dirty) do
    local sort, rest = string.sub(field, 1, 2), string.sub(field, 3)
    if sort == 'b:' and account.buckets[tonumber(rest)] == 0 then account.gone[#account.gone + 1] = field
    else
      fields[#fields + 1] = field
      if sort == 'b:' then fields[#fields + 1] = text(account.buckets[tonumber(rest)])
      elseif sort == 'h:' then fields[#fields + 1] = text(account.holds[rest][1]) .. ':' .. text(account.holds[rest][2]) .. ':' .. text(account.holds[rest][3])
      else fields[#fields + 1] = text(account.recalled) end
    end
  end
  if #account.gone > 0 then redis.call('HDEL', account.key, unpack(account.gone)) end
  if #fields > 0 then redis.call('HSET', account.key, unpack(fields)) end
  if keep and (#fields > 0 or account.touched) then redis.call('PEXPIRE', account.key, text(keep)) end
  if account.own and next(account.ownDirty) then
    local written, gone = {}, {}
    for bucket, units in pairs(account.own) do
      local leaves = leavesAt(account, bucket)
      if units == 0 or (leaves and leaves <= now) then gone[#gone + 1] = text(bucket)
      elseif account.ownDirty[bucket] then
        written[#written + 1] = text(bucket)
        written[#written + 1] = text(units)
      end
    end
    if #gone > 0 then redis.call('HDEL', account.ownKey, unpack(gone)) end
    if #written > 0 then redis.call('HSET', account.ownKey, unpack(written)) end
    -- of a budget without end too: without it a replica that died long ago cannot be corrected any more, and nothing is forgotten that was used
    redis.call('PEXPIRE', account.ownKey, text(keep or 400 * DAY))
  end
end

local answer = { 0, label, now, replicas, rank, lines, answers }
if m.j == 2 then redis.call('HSET', groupKey, 'j:' .. m.r, label) end
if m.j == 3 then redis.call('HDEL', groupKey, 'j:' .. m.r)
else redis.call('HSET', groupKey, 'q:' .. m.r, text(m.q), 'a:' .. m.r, cmsgpack.pack(answer), 's:' .. m.r, text(now)) end
if m.j == 2 then
  -- channels of replicas that are long gone; one that is silent about this tenant may speak of others
  redis.call('ZREMRANGEBYSCORE', liveKey, '-inf', text(now - 3600000))
  local flat = redis.call('HGETALL', groupKey)
  for n = 1, #flat, 2 do
    if string.sub(flat[n], 1, 2) == 's:' and tonumber(flat[n + 1]) < now - 3600000 then
      local id = string.sub(flat[n], 3)
      redis.call('HDEL', groupKey, 'q:' .. id, 'a:' .. id, 's:' .. id, 'j:' .. id)
    end
  end
end
redis.call('PEXPIRE', groupKey, 90000000)
return answer
`;
