-- Asks countersign-gateway about a request with HAProxy's HTTP client, in the format of Caddy and Traefik:
--   http-request lua.countersign <URL of the gateway> <prefix of the headers that it sets, such as X-ServiceID->
-- Forwards the request with those headers, or returns the gateway's refusal. If the gateway does not answer, refuses.

local TIMEOUT_MS = 5000

-- The response if the gateway does not answer, in the form of its own refusals.
local UNAVAILABLE = '{"error":{"code":"UNAVAILABLE",'
  .. '"message":"Agents cannot be checked at the moment. Try again in a few seconds.",'
  .. '"requestId":"req_%s","reasons":["gateway-failed"]}}'

-- Headers about the connection or the body, which the gateway does not need.
local LEFT_OUT = {
  ['connection'] = true,
  ['content-length'] = true,
  ['expect'] = true,
  ['host'] = true,
  ['keep-alive'] = true,
  ['proxy-connection'] = true,
  ['te'] = true,
  ['trailer'] = true,
  ['transfer-encoding'] = true,
  ['upgrade'] = true,
}

-- The headers of a refusal that are passed on to the client.
local PASSED_ON = {
  'accept-signature', 'cache-control', 'content-security-policy', 'content-type', 'retry-after', 'vary',
  'www-authenticate', 'x-content-type-options',
}

-- Sites with CGI or WSGI read X_ServiceID_DID, X.ServiceID.DID and X~ServiceID~DID as X-ServiceID-DID.
local function folded(name)
  return (name:lower():gsub('[^a-z0-9]', '-'))
end

local function values_of(each)
  local values = {}
  local i = 0
  while each[i] ~= nil do
    values[#values + 1] = each[i]
    i = i + 1
  end
  return values
end

local function question(txn)
  local headers = {}
  for name, each in pairs(txn.http:req_get_headers()) do
    if not LEFT_OUT[name] then headers[name] = values_of(each) end
  end
  headers['x-forwarded-method'] = { txn.f:method() }
  headers['x-forwarded-uri'] = { txn.f:pathq() }
  -- The origin that agents sign for. The gateway compares it with its audiences.
  headers['x-forwarded-host'] = { txn.f:req_fhdr('host') or '' }
  headers['x-forwarded-proto'] = { txn.f:ssl_fc() == 1 and 'https' or 'http' }
  headers['x-forwarded-for'] = { tostring(txn.f:src()) }
  return headers
end

local function strip(txn, prefix)
  for name in pairs(txn.http:req_get_headers()) do
    if folded(name):sub(1, #prefix) == prefix then txn.http:req_del_header(name) end
  end
end

local function refuse(txn, response)
  local reply = txn:reply({ status = response.status })
  for _, name in ipairs(PASSED_ON) do
    for _, value in ipairs(values_of(response.headers[name] or {})) do reply:add_header(name, value) end
  end
  reply:set_body(response.body or '')
  txn:done(reply)
end

core.register_action('countersign', { 'http-req' }, function(txn, url, beginning)
  local prefix = folded(beginning)
  strip(txn, prefix)
  local response = core.httpclient():get({ url = url, headers = question(txn), timeout = TIMEOUT_MS })
  local status = response and response.status or 0
  if status == 200 then
    for name, each in pairs(response.headers) do
      -- Empty if the gateway did not set it.
      if folded(name):sub(1, #prefix) == prefix and each[0] ~= '' then
        txn.http:req_set_header(name, each[0])
      end
    end
    return
  end
  -- The gateway's answers all have no-store. HAProxy's own, if there is no gateway, has not.
  local caching = values_of(response and response.headers['cache-control'] or {})[1]
  if status >= 400 and caching == 'no-store' then return refuse(txn, response) end
  core.Warning('countersign: no answer from ' .. url)
  refuse(txn, {
    status = 503,
    headers = {
      ['cache-control'] = { [0] = 'no-store' },
      ['content-type'] = { [0] = 'application/json' },
      ['retry-after'] = { [0] = '5' },
    },
    body = UNAVAILABLE:format(txn.f:uuid():gsub('-', '')),
  })
end, 2)
