import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { freePort } from '../../../../test/support/ports.ts'
import { only, sendRaw } from '../../../../test/support/raw-http.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { readHttpSettings } from '../../src/mcp/http-settings.ts'
import { COUNTERSIGN, certifiedCli, cliFor } from '../support/cli.ts'
import {
  connectHttpHost,
  type HttpServer,
  INITIALIZE,
  jsonRpc,
  startHttpServer,
  startStdioHost,
} from '../support/mcp.ts'

const HOST_TOKEN = 'a-token-that-is-long-enough-for-anyone'

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends what no client would: Host and Origin as they are given. */
async function send({ url, token }: HttpServer, { method, path, headers, body }: Sent) {
  const { host, pathname } = new URL(url)
  const all = {
    host,
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body ?? INITIALIZE)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `${method ?? 'POST'} ${path ?? pathname} HTTP/1.1\r\n${lines.join('')}\r\n`
  const { answers } = await sendRaw(url, `${head}${body ?? INITIALIZE}`, { count: 1 })
  return only(answers)
}

suite('countersign mcp --http', () => {
  test('serves the same tools to several hosts at once', async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    const cli = await certifiedCli(t, service, owner)
    const { url, token } = await startHttpServer(t, cli)
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    assert.match(token ?? '', /^[\w-]{43}$/)
    const hosts = await Promise.all([1, 2, 3].map(() => connectHttpHost(t, url, token as string)))
    const { tools } = await startStdioHost(t, cli)
    for (const host of hosts) assert.deepEqual(host.tools, tools)
    const answers = await Promise.all(
      hosts.flatMap((host) => [host.data('whoami'), host.data('explain_grade')]),
    )
    for (const { did } of answers) assert.equal(did, cli.did)

    // What one connection has asked, another may check: requests stand by themselves, the challenge does not.
    const [one, other] = hosts
    const ask = { agent: cli.did, audience: 'https://shop.example' }
    const { challenge } = (await one?.data('verify_agent', ask)) ?? {}
    const sign = { audience: ask.audience, challenge }
    const { signature } = (await other?.data('sign_challenge', sign)) ?? {}
    const proof = { agent: cli.did, challenge, signature }
    assert.equal((await other?.data('verify_agent', proof))?.verified, true)
    assert.equal((await one?.data('verify_agent', proof))?.verified, false)
  })

  test('wants its token, and says nothing without', async (t) => {
    const server = await startHttpServer(t, cliFor(t))
    assert.equal((await send(server, {})).status, 200)
    for (const authorization of ['', 'Bearer', 'Bearer x', `Basic ${server.token}`]) {
      const { status, headers, text } = await send(server, { headers: { authorization } })
      assert.equal(status, 401, authorization)
      assert.match(headers.get('www-authenticate') ?? '', /^Bearer realm="countersign mcp"/)
      assert.equal(JSON.parse(text).jsonrpc, '2.0')
      assert.doesNotMatch(text, /tools|result/)
    }
    const inQuery = { path: `/mcp?access_token=${server.token}`, headers: { authorization: '' } }
    assert.equal((await send(server, inQuery)).status, 401)
    const wrong = `${(server.token as string).slice(0, -1)}!`
    await assert.rejects(connectHttpHost(t, server.url, wrong), /401|bearer token/i)
    assert.equal(
      (await send(server, { headers: { authorization: `bEARER ${server.token}` } })).status,
      200,
    )
  })

  test('turns away other Hosts and Origins before anything else', async (t) => {
    const server = await startHttpServer(t, cliFor(t), '--allow-host', 'agent.example.com')
    const { port } = new URL(server.url)
    const status = async (headers: Record<string, string>) =>
      (await send(server, { headers })).status
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST', 'agent.example.com']) {
      assert.equal(await status({ host: `${host}:${port}` }), 200, host)
      assert.equal(await status({ host, origin: `http://${host}` }), 200, host)
    }
    const strangers = [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.nip.io',
      '10.0.0.1',
      'a b',
    ]
    for (const host of strangers) {
      assert.equal(await status({ host: `${host}:${port}` }), 403, host)
      assert.equal(await status({ host, authorization: '' }), 403, host)
    }
    for (const origin of [
      'https://evil.example',
      'null',
      `http://localhost:${port}`,
      'http://127.0.0.1',
    ]) {
      assert.equal(await status({ origin }), 403, origin)
    }
    assert.equal(await status({ origin: `http://127.0.0.1:${port}` }), 200)
  })

  test('knows one endpoint and one method', async (t) => {
    const server = await startHttpServer(t, cliFor(t))
    for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS']) {
      const { status, headers } = await send(server, { method })
      assert.deepEqual([status, headers.get('allow')], [405, 'POST'], method)
    }
    for (const path of ['/', '/mcp/', '/sse', '/.well-known/oauth-protected-resource']) {
      assert.equal((await send(server, { path })).status, 404, path)
    }
    const listed = await send(server, { body: jsonRpc(1, 'tools/list') })
    assert.equal(listed.headers.get('mcp-session-id'), null)
    assert.equal(JSON.parse(listed.text).result.tools.length, 10)
  })

  test('takes no more than a message has, and goes on after nonsense', async (t) => {
    const server = await startHttpServer(t, cliFor(t))
    const large = jsonRpc(1, 'tools/call', { name: 'whoami', arguments: { x: 'x'.repeat(70_000) } })
    assert.equal((await send(server, { body: large })).status, 413)
    for (const body of ['nonsense', '{}', '{"jsonrpc":"2.0","id":1,"method":7}']) {
      const { status, text } = await send(server, { body })
      assert.equal(status, 400, body)
      assert.doesNotMatch(text, /nonsense|\bat |\.js/)
    }
    const plain = { headers: { 'content-type': 'text/plain' } }
    assert.equal((await send(server, plain)).status, 415)
    assert.equal((await send(server, {})).status, 200)
    assert.doesNotMatch(server.output(), /nonsense/)
  })

  test('takes the token of the environment, and does not print it', async (t) => {
    const cli = cliFor(t, { COUNTERSIGN_MCP_TOKEN: HOST_TOKEN })
    const server = await startHttpServer(t, cli)
    assert.equal(server.token, null)
    const host = await connectHttpHost(t, server.url, HOST_TOKEN)
    assert.match(await host.refusal('whoami'), /^NO_KEY: /)
    assert.ok(!server.output().includes(HOST_TOKEN))
    assert.equal(await server.stop(), 0)
    assert.equal(server.output().trim().split('\n').length, 1)
  })

  test('says to people where it is, once, and ends at SIGINT', async (t) => {
    const args = [COUNTERSIGN, 'mcp', '--http', '0']
    const child = spawn(process.execPath, args, { env: { ...cliFor(t).env } })
    t.after(() => child.kill('SIGKILL'))
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    await once(child.stdout, 'data')
    child.kill('SIGINT')
    assert.deepEqual(await once(child, 'close'), [0, null])
    assert.match(
      output,
      /^MCP server is listening\n\n {2}Endpoint {2}http:\/\/127\.0\.0\.1:\d+\/mcp\n {2}Token {5}[\w-]{43}\n$/,
    )
  })

  test('says that a port is taken', async (t) => {
    const { url } = await startHttpServer(t, cliFor(t))
    const taken = await cliFor(t).run('mcp', '--http', new URL(url).port)
    assert.deepEqual([taken.code, taken.stdout], [1, ''])
    assert.match(taken.stderr, /^countersign: listen EADDRINUSE.*\n$/)
  })

  test('refuses settings that would leave it open', async (t) => {
    const cli = cliFor(t)
    const cases = [
      ['--http', '70000'],
      ['--http', 'localhost'],
      ['--http', '0', '--host', 'localhost'],
      ['--http', '0', '--host', '0.0.0.0'],
      ['--http', '0', '--host', '::'],
      ['--http', '0', '--allow-host', 'https://agent.example.com'],
      ['--http', '0', '--allow-host', 'agent.example.com:443'],
      ['--host', '127.0.0.1'],
      ['--allow-host', 'agent.example.com'],
      ['--audience', 'shop.example'],
    ]
    for (const args of cases) {
      const refused = await cli.run('mcp', ...args)
      assert.deepEqual([refused.code, refused.stdout], [2, ''], args.join(' '))
    }
    const weak = cliFor(t, { COUNTERSIGN_MCP_TOKEN: 'too-short-secret' })
    const refused = await weak.run('mcp', '--http', String(await freePort()))
    assert.equal(refused.code, 2)
    assert.doesNotMatch(refused.stderr, /too-short-secret/)
  })

  test('knows when others can connect', () => {
    const settings = (host: string, ...allowHost: string[]) =>
      readHttpSettings({ http: true, host, allowHost }, HOST_TOKEN)
    const local = ['localhost', '127.0.0.1', '[::1]']
    assert.deepEqual(settings('127.0.0.1'), {
      address: '127.0.0.1',
      port: 8808,
      hostnames: [...local, '127.0.0.1'],
      token: HOST_TOKEN,
      tokenIsNew: false,
      isLocal: true,
    })
    assert.equal(settings('::1').isLocal, true)
    const open = settings('0.0.0.0', 'agent.example.com')
    assert.deepEqual([open.isLocal, open.hostnames], [false, ['0.0.0.0', 'agent.example.com']])
    const inside = settings('192.168.1.5')
    assert.deepEqual([inside.isLocal, inside.hostnames], [false, ['192.168.1.5']])
  })
})
