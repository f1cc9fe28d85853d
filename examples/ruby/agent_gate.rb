require 'digest'
require 'fileutils'
require 'json'
require 'net/http'
require 'openssl'
require 'stringio'
require 'time'

# Rack middleware that admits only agents of verified owners that sign their requests for one origin. env['agent.did'] is the agent.
class AgentGate
  class Refused < StandardError
    attr_reader :status, :code

    def initialize(status, code, message)
      @status = status
      @code = code
      super(message)
    end
  end

  # origin: the public origin of your site, from your settings, never from a request
  # used: a folder for the signatures that were used, which all processes of your site share
  def initialize(app, service:, origin:, used: 'tmp/used-signatures')
    @app = app
    @service = URI(service)
    @origin = URI(origin)
    @used = used
    FileUtils.mkdir_p(used)
  end

  def call(env)
    body = env['rack.input']&.read.to_s
    env['rack.input'] = StringIO.new(body)
    begin
      env['agent.did'] = admit(env, body)
    rescue Refused => e
      error = { error: { code: e.code, message: e.message } }
      return [e.status, { 'content-type' => 'application/json' }, [error.to_json]]
    end
    @app.call(env)
  end

  private

  # Returns the DID of the agent that has signed the request.
  def admit(env, body)
    verdict = ask('/api/v1/verify-request', description(env))
    unless verdict['verdict'] == 'verified'
      raise Refused.new(403, 'FORBIDDEN', 'This site does not know the agent.') if verdict['reason'] == 'untrusted-agent'
      raise Refused.new(401, 'UNAUTHENTICATED', "Sign the request as an agent (#{verdict['reason']}).")
    end
    compare(body, verdict['digest'], env['HTTP_CONTENT_DIGEST'])
    agent = ask("/api/v1/agent/#{verdict['svcDid']}")
    unless agent.dig('owner', 'identityLevel') == 'verified'
      raise Refused.new(403, 'FORBIDDEN', 'The owner of the agent is not verified.')
    end
    use(verdict['replayKey'], Time.parse(verdict['replayUntil']))
    verdict['svcDid']
  end

  # The request as it was received, before anything is decoded. The service needs no cookies.
  def description(env)
    names = env.keys.grep(/\A(?:HTTP_(?!COOKIE\z)|CONTENT_(?:TYPE|LENGTH)\z)/)
    headers = names.map { |name| [name.delete_prefix('HTTP_').tr('_', '-'), env[name]] }
    target = env.fetch('REQUEST_URI').sub(%r{\Ahttps?://[^/]+}, '')
    url = "#{@origin.scheme}://#{env['HTTP_HOST']}#{target}"
    { method: env['REQUEST_METHOD'], url:, headers:, audience: @origin.to_s }
  end

  # The signature covers a digest of the body, not the body.
  def compare(body, digest, header)
    signed = header.to_s[/sha-256=:([\w+\/=]+):/, 1] if digest == 'unchecked'
    return if signed.nil? ? body.empty? : Digest::SHA256.base64digest(body) == signed
    raise Refused.new(401, 'INVALID_SIGNATURE', 'The body is not the one that was signed.')
  end

  # A signature counts once. Only one process can create the file, and files outlive restarts.
  def use(key, expires)
    file = File.join(@used, Digest::SHA256.hexdigest(key))
    File.open(file, File::CREAT | File::EXCL | File::WRONLY) {}
    File.utime(expires, expires, file)
    sweep if rand(100).zero?
  rescue Errno::EEXIST
    raise Refused.new(401, 'INVALID_SIGNATURE', 'The signature was used before.')
  end

  def sweep
    expired = Dir.glob(File.join(@used, '*')).select { |file| File.mtime(file) < Time.now - 60 }
    FileUtils.rm_f(expired)
  end

  def ask(path, body = nil)
    options = { use_ssl: @service.scheme == 'https', open_timeout: 5, read_timeout: 5 }
    response = Net::HTTP.start(@service.host, @service.port, options) do |http|
      body ? http.post(path, body.to_json, 'Content-Type' => 'application/json') : http.get(path)
    end
    return JSON.parse(response.body) if response.is_a?(Net::HTTPSuccess)
    raise Refused.new(503, 'UNAVAILABLE', 'The request cannot be verified now.')
  rescue SystemCallError, SocketError, IOError, Timeout::Error, OpenSSL::SSL::SSLError, JSON::ParserError
    raise Refused.new(503, 'UNAVAILABLE', 'The request cannot be verified now.')
  end
end
