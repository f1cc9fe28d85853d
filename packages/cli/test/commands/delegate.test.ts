import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { readChain } from '@countersign/protocol'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { type CertifiedCli, type Cli, certifiedCli, cliFor, errorIn } from '../support/cli.ts'
import { startStdioHost } from '../support/mcp.ts'
import { startSignedSite } from '../support/signed-site.ts'

const POLICY = { maxDepth: 3, maxSeconds: 86_400, mcp: true }
const cleanup = fileCleanup()
const t = cleanup
let service: TestService
let agent: CertifiedCli
let site: Awaited<ReturnType<typeof startSignedSite>>

before(async () => {
  service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  agent = await certifiedCli(t, service, owner)
  await allowDelegation(service, owner, agent.did, 2)
  site = await startSignedSite(
    t,
    service.url,
    (_seen, { verdict, reason, did, keyid }) =>
      Response.json({ did, keyid, reason }, { status: verdict === 'verified' ? 200 : 401 }),
    POLICY,
  )
})

/** A worker on a machine of its own, with a key that nobody has claimed. */
async function newWorker(): Promise<{ readonly cli: Cli; readonly key: string }> {
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const { publicKey } = await cli.json<{ publicKey: string }>('keygen')
  return { cli, key: publicKey }
}

interface Delegated {
  readonly did: string
  readonly keyid: string
  readonly chain: string
  readonly expiresAt: string
}

test('delegate prints a chain that a worker sends with fetch and sign-request, within its limits', async () => {
  const { cli: worker, key } = await newWorker()
  const limits = ['--method', 'GET', '--path', '/orders/*', '--ttl', '10m']
  const text = await agent.run('delegate', '--to', key, '--origin', site.url, ...limits)
  assert.equal(text.code, 0, text.stderr)
  const [first, second, ...more] = text.stderr.split('\n')
  assert.match(
    first ?? '',
    new RegExp(`^countersign: delegated for ${agent.did} to the key \\S{43}$`),
  )
  const until = String.raw`\d{1,2} [A-Z][a-z]+ 20\d\d at \d\d:\d\d UTC`
  assert.match(
    second ?? '',
    new RegExp(`^countersign: it may send GET to ${site.url}/orders/\\* until ${until}$`),
  )
  assert.deepEqual(more, [''])
  const file = join(worker.home, 'chain.txt')
  writeFileSync(file, text.stdout)

  const { did, keyid, chain, expiresAt } = await agent.json<Delegated>(
    ...['delegate', '--to', key, '--origin', site.url, ...limits],
  )
  const read = readChain(chain)
  assert.ok(!('fault' in read))
  const [hop] = read.hops
  assert.deepEqual([did, keyid], [read.root.did, hop?.keyid])
  assert.deepEqual(hop?.limits, {
    origins: [site.url],
    methods: ['GET'],
    paths: ['/orders/*'],
    mcp: null,
  })
  assert.equal(expiresAt, new Date(hop?.expiresAt ?? 0).toISOString())
  assert.equal((hop?.expiresAt ?? 0) - (hop?.issuedAt ?? 0), 600_000)

  const got = await worker.run('fetch', `${site.url}/orders/7`, '--chain', '@chain.txt')
  assert.deepEqual([got.code, got.stderr], [0, ''])
  assert.deepEqual(JSON.parse(got.stdout), { did: agent.did, keyid, reason: null })
  const url = `${site.url}/orders/8`
  const signed = await worker.json<{ method: string; headers: [string, string][] }>(
    ...['sign-request', '--url', url, '--chain', chain],
  )
  const response = await fetch(url, { headers: signed.headers })
  assert.deepEqual(await response.json(), { did: agent.did, keyid, reason: null })

  const count = site.seen.length
  for (const [address, ...options] of [
    [`${site.url}/admin`],
    [`${site.url}/orders/7`, '-X', 'DELETE'],
    ['https://other.example/orders/7'],
  ] as const) {
    const refused = await worker.run('fetch', address, ...options, '--chain', chain, '--json')
    assert.deepEqual([refused.code, errorIn(refused).code], [4, 'OUTSIDE_DELEGATION'], address)
  }
  assert.equal(site.seen.length, count, 'nothing outside the limits is sent')
  // Without the chain, the key is nobody's.
  assert.equal(errorIn(await worker.run('fetch', url, '--json')).code, 'NOT_FOUND')
})

test('a delegate delegates further with --chain, if the chain allows it', async () => {
  const [first, second] = [await newWorker(), await newWorker()]
  const limits = ['--origin', site.url]
  const of = ['delegate', '--to', first.key, ...limits, '--depth', '1', '--ttl', '60s']
  const { chain } = await agent.json<Delegated>(...of)
  const args = ['delegate', '--to', second.key, ...limits, '--chain', chain]
  const longer = await first.cli.run(...args)
  assert.equal(longer.code, 0, longer.stderr)
  assert.match(
    longer.stderr,
    /warning: it ends before the 1h that you asked for, with your own chain/,
  )
  const last = longer.stdout.trim()
  const got = await second.cli.run('fetch', site.url, '--chain', last)
  assert.equal(JSON.parse(got.stdout).did, agent.did, got.stderr)

  const third = await newWorker()
  const deeper = ['delegate', '--to', third.key, ...limits, '--chain', last, '--json']
  const refused = errorIn(await second.cli.run(...deeper))
  assert.equal(refused.code, 'DELEGATION_NOT_ALLOWED')
  assert.match(refused.message, /Ask the agent for a chain with a higher --depth/)
})

test('what cannot be delegated is refused with the next step', async () => {
  const { key } = await newWorker()
  const other = await certifiedCli(t, service, await service.operator.addVerifiedOwner())
  const denied = await other.run('delegate', '--to', key, '--origin', site.url, '--json')
  assert.deepEqual([denied.code, errorIn(denied).code], [4, 'DELEGATION_NOT_ALLOWED'])
  const page = `${service.url}/dashboard/agents/${other.did}/delegation`
  assert.ok(errorIn(denied).message.includes(`Ask the owner to allow more at ${page}`))
  const deep = await agent.run('delegate', '--to', key, '--origin', site.url, '--depth', '2')
  assert.equal(deep.code, 4)
  assert.match(deep.stderr, /allows 2 levels/)

  for (const [args, words] of [
    [['--origin', site.url], /--to/],
    [['--to', key], /--origin/],
    [['--to', 'AAAA', '--origin', site.url], /--to must be the public key/],
    [['--to', key, '--origin', site.url, '--ttl', '25h'], /--ttl must be a time/],
    [['--to', key, '--origin', site.url, '--ttl', '0s'], /--ttl must be a time/],
    [['--to', key, '--origin', site.url, '--depth', '3'], /--depth must be/],
    [['--to', key, '--origin', 'http://shop.example'], /Limits are/],
    [['--to', key, '--origin', site.url, '--path', '/a/../b'], /Limits are/],
    [['--to', agent.publicKey, '--origin', site.url], /refuse this chain/],
    [['--to', key, '--origin', site.url, '--chain', 'x'], /--chain must be a chain/],
    [['--to', key, '--origin', site.url, '--chain', '@none'], /cannot be read/],
  ] as const) {
    const { code, stdout, stderr } = await agent.run('delegate', ...args)
    assert.deepEqual([code, stdout], [2, ''], args.join(' '))
    assert.match(stderr, words, args.join(' '))
  }
})

test('a chain is of no use to another key, or to sign challenges and cards', async () => {
  const [worker, thief] = [await newWorker(), await newWorker()]
  const of = ['delegate', '--to', worker.key, '--origin', site.url]
  const { chain } = await agent.json<Delegated>(...of)
  const stolen = await thief.cli.run('fetch', site.url, '--chain', chain, '--json')
  assert.deepEqual([stolen.code, errorIn(stolen).code], [2, 'UNUSABLE_KEY'])
  for (const command of [
    ['sign', '--unbound', 'a challenge'],
    ['sign-card', 'card.json'],
  ]) {
    const refused = await worker.cli.run(...command, '--chain', chain, '--json')
    assert.deepEqual([refused.code, refused.stdout], [4, ''])
    assert.equal(errorIn(refused).message, 'A delegated key cannot do this. Ask the agent.')
    assert.doesNotMatch((await worker.cli.run(command[0] as string, '--help')).stdout, /--chain/)
  }
  const both = await worker.cli.run('fetch', site.url, '--certificate', '--chain', chain)
  assert.equal(both.code, 2)
})

interface Fetched {
  readonly status: number
  readonly untrusted: { readonly lines: readonly string[] | null }
}

test('mcp --chain has fetch and the tools that read, within the limits of the chain', async () => {
  const { cli: worker, key } = await newWorker()
  const of = ['delegate', '--to', key, '--origin', site.url, '--path', '/orders/*']
  const { chain, keyid, expiresAt } = await agent.json<Delegated>(...of)
  const host = await startStdioHost(t, worker, '--chain', chain)
  assert.deepEqual(
    host.tools.map(({ name }) => name),
    ['whoami', 'show_card', 'fetch', 'lookup_agent', 'explain_grade'],
  )
  assert.doesNotMatch(host.client.getInstructions() ?? '', /sign_challenge|rotate_key|claim \(/)
  const { status, untrusted } = await host.data<Fetched>('fetch', { url: `${site.url}/orders/1` })
  assert.equal(status, 200)
  assert.equal(JSON.parse(untrusted.lines?.[0] ?? '').keyid, keyid)
  assert.match(await host.refusal('fetch', { url: `${site.url}/admin` }), /^OUTSIDE_DELEGATION: /)
  assert.match(await host.refusal('fetch', { url: 'https://other.example' }), /^WRONG_AUDIENCE: /)

  const self = await host.data('whoami')
  assert.deepEqual([self.did, self.publicKey], [agent.did, key])
  assert.deepEqual(self.delegation, {
    keyThumbprint: keyid,
    expiresAt,
    origins: [site.url],
    methods: null,
    paths: ['/orders/*'],
    mcp: null,
  })
  assert.equal((await host.data('show_card')).did, agent.did)
  const own = await startStdioHost(t, agent)
  assert.equal((await own.data('whoami')).delegation, null)

  const plain = await worker.run('mcp', '--chain', chain, '--allow-plain-challenges')
  assert.equal(plain.code, 2)
})
