require 'json'
require 'webrick'
require_relative 'agent_gate'

SERVICE = ENV.fetch('SERVICE', 'http://localhost:8080')
ORIGIN = ENV.fetch('ORIGIN', 'http://localhost:3000')
JSON_TYPE = { 'content-type' => 'application/json' }

# A Rack application. The agent has signed this request.
orders = lambda do |env|
  did = env.fetch('agent.did')
  next [200, JSON_TYPE, [{ orders: [], agent: did }.to_json]] unless env['REQUEST_METHOD'] == 'POST'
  item = JSON.parse(env['rack.input'].read)['item']
  [201, JSON_TYPE, [{ item:, orderedBy: did }.to_json]]
end

app = AgentGate.new(orders, service: SERVICE, origin: ORIGIN)

# WEBrick is enough to try it. With Puma or another Rack server: `use AgentGate, …` and `run orders` in config.ru.
server = WEBrick::HTTPServer.new(BindAddress: 'localhost', Port: URI(ORIGIN).port)
server.mount_proc('/') do |request, response|
  env = request.meta_vars.merge('rack.input' => StringIO.new(request.body.to_s))
  response.status, headers, body = app.call(env)
  headers.each { |name, value| response[name] = value }
  response.body = body.join
end
trap('INT') { server.shutdown }
server.start
