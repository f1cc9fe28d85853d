# A site around agent_sessions.rb of docs/sessions.md. It prints its port.
require 'socket'

server = TCPServer.new('127.0.0.1', 0)
port = server.addr[1]
ENV['AGENT_AUDIENCE'] = "http://127.0.0.1:#{port}"
require_relative 'agent_sessions'

nonces = {}
puts port
$stdout.flush

loop do
  client = server.accept
  method, path = client.gets.to_s.split
  headers = {}
  while (line = client.gets.to_s.chomp) != ''
    name, value = line.split(': ', 2)
    headers[name.downcase] = value
  end
  body = client.read(headers['content-length'].to_i).to_s
  begin
    status, answer =
      if path != '/agent-sign-in'
        session = AgentSessions.session(headers['authorization'])
        [session ? 200 : 401, session]
      elsif method == 'POST'
        [200, AgentSessions.complete(body) { |nonce| !nonces.delete(nonce).nil? }]
      else
        [200, AgentSessions.start { |nonce, seconds| nonces[nonce] = seconds }]
      end
  rescue AgentSessions::Refused => e
    status, answer = e.status, e.body
  end
  schemes = status == 401 && answer.nil? ? "WWW-Authenticate: ServiceID sign_in=\"/agent-sign-in\", Bearer\r\n" : ''
  text = answer.to_json
  client.write("HTTP/1.1 #{status} -\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n#{schemes}")
  client.write("Connection: close\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}")
  client.close
end
