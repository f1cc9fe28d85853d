-- For wrk: walks over every line of a file, each line a tail in a path or a body to post.
-- Arguments: method, file, path before the tail, path after it, header lines, the header that a tail goes into instead.

local requests, tails, head, foot
local count, at, stride, width = 0, 0, 1, 0

-- The golden ratio of the count, and prime to it: every line once a lap, neighbours far apart.
local function gcd(a, b)
  while b ~= 0 do a, b = b, a % b end
  return a
end

local function stride_of(n)
  local s = math.max(1, math.floor(n * 0.6180339887))
  while gcd(s, n) ~= 1 do s = s + 1 end
  return s
end

function init(args)
  local method, file, before, after, headers = args[1], args[2], args[3], args[4], args[5]
  local rest = after .. " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port .. "\r\n" .. headers
  if method == "GET" then
    tails = assert(io.open(file, "rb")):read("*a")
    width = tails:find("\n", 1, true)
    count = #tails / width
    head, foot = "GET " .. before, rest .. "\r\n"
    if args[6] then head, foot = head .. " HTTP/1.1\r\n" .. args[6] .. ": ", rest:gsub("^.-(\r\n)", "%1") .. "\r\n" end
  else
    requests = {}
    for body in io.lines(file) do
      local length = "Content-Length: " .. #body .. "\r\n\r\n"
      requests[#requests + 1] = "POST " .. before .. rest .. length .. body
    end
    count = #requests
  end
  stride = stride_of(count)
end

function request()
  at = (at + stride) % count
  if requests then return requests[at + 1] end
  local from = at * width
  return head .. tails:sub(from + 1, from + width - 1) .. foot
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"seconds":%f,"bytes":%d,"errors":%d,"p50":%f,"p99":%f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
