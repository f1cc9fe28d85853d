import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  type CertifiedCli,
  COUNTERSIGN,
  certifiedCli,
  cliFor,
  errorIn,
} from '../packages/cli/test/support/cli.ts'
import { type Admitted, BYTES, startGuardedSite } from './support/express-gateway.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { startSite } from './support/impostor.ts'
import { freePort } from './support/ports.ts'
import { run, startTestService, type TestService } from './support/service.ts'
import { needs } from './support/tools.ts'

const cleanup = fileCleanup()
const t = cleanup
let service: TestService
let cli: CertifiedCli
let site: Awaited<ReturnType<typeof startGuardedSite>>

before(async () => {
  service = await startTestService(t)
  cli = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
  site = await startGuardedSite(t, service.url)
})
async function admitted(...args: string[]): Promise<Admitted> {
  const { code, stdout, stderr } = await cli.run('fetch', ...args)
  assert.deepEqual([code, stderr], [0, ''])
  return JSON.parse(stdout)
}

test('fetch is admitted by a gateway that requires proof; a stranger who names the DID is not', async () => {
  const stranger = await fetch(`${site.url}/`, { headers: { ServiceID: cli.did } })
  assert.equal(stranger.status, 401)
  const got = await admitted(`${site.url}/a b?c=d`, '-H', 'X-Own: yes', '--header=Accept: text/x')
  assert.deepEqual([got.method, got.url, got.body], ['GET', '/a%20b?c=d', ''])
  assert.equal(got.headers['x-serviceid-did'], cli.did)
  assert.equal(got.headers['x-serviceid-proof'], 'signature')
  assert.deepEqual([got.headers['x-own'], got.headers.accept], ['yes', 'text/x'])
  assert.match(got.headers['user-agent'] ?? '', /^countersign\//)
})

test('fetch sends bodies from arguments, files and standard input, byte by byte', async () => {
  const form = await admitted(`${site.url}/`, '-d', 'a=1', '--data', 'b=2')
  assert.deepEqual([form.method, form.body], ['POST', 'a=1&b=2'])
  assert.equal(form.headers['content-type'], 'application/x-www-form-urlencoded')
  const file = join(cli.home, 'order.json')
  writeFileSync(file, '{"item":\r\n1}\n')
  const json = ['-H', 'Content-Type: application/json', '-X', 'PUT']
  const put = await admitted(`${site.url}/`, '-d', '@order.json', ...json)
  assert.deepEqual([put.method, put.body], ['PUT', '{"item":\r\n1}\n'])
  const piped = await cli.runWithInput('in\n', 'fetch', `${site.url}/`, '-d', '@-')
  assert.equal(JSON.parse(piped.stdout).body, 'in\n')
})

test('fetch writes the response byte by byte, with -i its headers, with -o to a file', async () => {
  const written = await cli.run('fetch', `${site.url}/bytes`, '-o', 'out.bin')
  assert.deepEqual(written, { code: 0, stdout: '', stderr: '' })
  assert.deepEqual(readFileSync(join(cli.home, 'out.bin')), BYTES)
  const { stdout } = await cli.run('fetch', `${site.url}/status/202`, '-i')
  assert.match(stdout, /^HTTP 202 Accepted\r\n(.+: .+\r\n)+\r\nwhy$/)
  const nowhere = await cli.run('fetch', `${site.url}/`, '-o', 'no/such/file')
  assert.deepEqual([nowhere.code, nowhere.stdout], [2, ''])
  assert.match(nowhere.stderr, /cannot be written: ENOENT/)
})

test('fetch has an exit code for each kind of status, and always the body', async () => {
  const codes = { 204: 0, 402: 4, 404: 3, 410: 3, 429: 5, 503: 5 }
  for (const [status, expected] of Object.entries(codes)) {
    const { code, stdout, stderr } = await cli.run('fetch', `${site.url}/status/${status}`)
    assert.deepEqual([code, stdout], [expected, status === '204' ? '' : 'why'], status)
    const line = expected === 0 ? /^$/ : new RegExp(`^countersign: ${site.url} answered ${status} `)
    assert.match(stderr, line)
  }
  const silent = await startSite(t, (request) => void request.socket.destroy())
  const closed = `http://127.0.0.1:${await freePort()}`
  for (const [url, expected] of [
    [silent, 'NO_ANSWER'],
    [closed, 'UNREACHABLE'],
  ] as const) {
    const failed = await cli.run('fetch', url, '--json')
    assert.deepEqual([failed.code, failed.stdout, errorIn(failed).code], [5, '', expected])
  }
})

test('fetch follows redirects within the site, signed anew, and no others', async () => {
  const inside = await admitted(`${site.url}/to?${encodeURIComponent('/moved?x')}`)
  assert.equal(inside.url, '/moved?x')
  const asked: unknown[] = []
  const other = await startSite(t, (request, response) => {
    asked.push(request.headers)
    response.end()
  })
  const refused = await cli.run('fetch', `${site.url}/to?${encodeURIComponent(other)}`, '--json')
  assert.deepEqual([refused.code, refused.stdout], [4, ''])
  assert.equal(errorIn(refused).code, 'REDIRECT')
  assert.deepEqual(asked, [])
})

test('fetch and sign-request refuse what must not be signed, and repeat no secret', async () => {
  const cases = [
    ['http://shop.example/', 'not https'],
    ['ftp://shop.example/', 'https URL'],
    ['shop.example', 'https URL'],
    ['https://user:secret@shop.example/', 'without credentials'],
    [site.url, 'already has the header signature', '-H', 'Signature: sig1=:secret:'],
    [site.url, 'already has the header signature-agent', '-H', 'signature-agent: "secret"'],
    [site.url, 'header host cannot be set', '-H', 'Host: shop.example'],
    [site.url, 'a name, a colon and a value', '-H', 'secret'],
    [site.url, 'GET request has no body', '-X', 'GET', '-d', 'x'],
    [site.url, 'The request is not valid', '-X', 'CONNECT'],
    [site.url, 'file for the body', '-d', '@missing'],
    [site.url, 'legacy requires', '--dialect', 'legacy'],
  ] as const
  for (const [url, message, ...args] of cases) {
    for (const command of [['fetch'], ['sign-request', '--url']]) {
      const refused = await cli.run(...command, url, ...args, '--json')
      assert.deepEqual([refused.code, refused.stdout], [2, ''], `${url} ${args}`)
      assert.equal(errorIn(refused).code, 'USAGE')
      assert.ok(errorIn(refused).message.includes(message), refused.stderr)
      assert.ok(!refused.stderr.includes('secret'), refused.stderr)
    }
  }
  const keyless = await cliFor(t, { COUNTERSIGN_URL: service.url }).run('fetch', site.url)
  assert.deepEqual([keyless.code, keyless.stdout], [2, ''])
  assert.match(keyless.stderr, /There is no key at .* keygen/)
})

test('sign-request prints headers that any client can send, once', async () => {
  const url = `${site.url}/orders?draft=1`
  const type = 'content-type: application/json'
  const args = ['sign-request', '--url', url, '-X', 'POST', '-d', '{"item":1}', '-H', type]
  const { code, stdout, stderr } = await cli.run(...args)
  assert.deepEqual([code, stderr], [0, ''])
  const headers = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(': ') as [string, string])
  const send = () => fetch(url, { method: 'POST', headers, body: '{"item":1}' })
  assert.equal((await send()).status, 200)
  assert.equal((await send()).status, 401)
  assert.equal(site.reasons.at(-1), 'replay')

  const described = await cli.json<{ method: string; url: string; headers: [string, string][] }>(
    ...args.slice(0, 4),
    'DELETE',
  )
  assert.deepEqual([described.method, described.url], ['DELETE', url])
  assert.equal((await fetch(url, described as RequestInit)).status, 200)

  const spaced = await cli.run('sign-request', '--url', `${site.url}/a b`)
  assert.match(
    spaced.stderr,
    /warning: send the request to http.*\/a%20b, the address that was signed/,
  )
  const legacy = ['--dialect', 'legacy', '--signature-agent', 'https://agent.example']
  const bare = await cli.run('sign-request', '--url', site.url, ...legacy)
  assert.match(bare.stdout, /^signature-agent: "https:\/\/agent\.example"$/m)
  const none = await cli.run('sign-request')
  assert.match(none.stderr, /The address of the request is missing/)
})

test('sign-request and curl work together in a shell', needs('curl'), async () => {
  const countersign = `"${process.execPath}" "${COUNTERSIGN}"`
  const get = `${countersign} sign-request --url ${site.url}/piped | curl -sS -H @- ${site.url}/piped`
  const shell = (script: string) =>
    run('sh', ['-c', `cd "${cli.home}" && ${script}`], cli.env as Record<string, string>)
  const got = JSON.parse((await shell(get)).stdout) as Admitted
  assert.deepEqual([got.url, got.headers['x-serviceid-did']], ['/piped', cli.did])
  writeFileSync(join(cli.home, 'order.json'), '{"item":1}\n')
  const post = `${countersign} sign-request --method POST --url ${site.url}/orders -d @order.json \
    -H 'Content-Type: application/json' > headers.txt &&
    curl -sS -H @headers.txt --data-binary @order.json ${site.url}/orders`
  const posted = JSON.parse((await shell(post)).stdout) as Admitted
  assert.deepEqual([posted.method, posted.body], ['POST', '{"item":1}\n'])
  assert.equal(posted.headers['x-serviceid-proof'], 'signature')
})
