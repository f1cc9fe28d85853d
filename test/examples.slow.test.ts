import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { OwnerApprovals } from '@countersign/protocol'
import { unverify } from './support/agents.ts'
import { allowDelegation } from './support/allow-delegation.ts'
import { jsonOf } from './support/answer.ts'
import { approveOnPage, openApprover } from './support/approval-page.ts'
import { APPROVALS, allowApprovals, deny, givePasskey } from './support/approvals.ts'
import { openBrowser } from './support/browser.ts'
import {
  assertAdmitsVerified,
  newAgent,
  newOrigin,
  newToken,
  POST,
  startServices,
} from './support/example-sites.ts'
import {
  downloadWheel,
  EXAMPLE,
  type Example,
  installExample,
  show,
  startModel,
} from './support/examples.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { assign, createIssuer } from './support/grant-world.ts'
import { pythonFor } from './support/python.ts'
import type { CommandResult } from './support/run.ts'
import { ROOT, type TestService } from './support/service.ts'
import { signIn } from './support/signed-in.ts'
import { allOf, BROWSER_MATRIX, needs } from './support/tools.ts'

const cleanup = fileCleanup()
const all = cleanup
let service: TestService
let elsewhere: TestService

before(async () => {
  if (EXAMPLE.skip === false) ({ service, elsewhere } = await startServices(all))
})
const assertGuarded = (origin: string, path: string, init?: RequestInit) =>
  assertAdmitsVerified({ service, elsewhere }, origin, path, init)

/** Starts the shop of examples/shop, at which the agents of other examples order. */
async function startShop(): Promise<string> {
  const ORIGIN = await newOrigin()
  const shop = await installExample(all, 'shop', service, ['gateway', 'sdk'])
  await shop.start('node', ['shop.js'], { ORIGIN })
  const { status, text, line, agent } = await assertGuarded(ORIGIN, '/orders', POST)
  assert.deepEqual([status, JSON.parse(text)], [201, { item: 'lamp', orderedBy: agent.did }])
  show('shop', line)
  return ORIGIN
}

let shop: Promise<string> | undefined
const openShop = () => (shop ??= startShop())

/** Runs a program as an agent of the service, then as one of another service. */
async function runAsBoth(
  name: string,
  example: Example,
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
) {
  const [program, ...args] = command
  const own = { ...env, CLAIM_TOKEN: await newToken(service) }
  const admitted = await example.run(program, args, own)
  show(name, admitted.stdout + admitted.stderr)
  assert.equal(admitted.code, 0, admitted.stderr)
  const theirs = { ...env, SERVICE: elsewhere.url, CLAIM_TOKEN: await newToken(elsewhere) }
  const stranger = await example.run(program, args, theirs, 'stranger')
  show(`${name}, as a stranger`, stranger.stdout + lastLines(stranger))
  for (const { stderr } of [admitted, stranger]) assert.doesNotMatch(stderr, /loopback only/)
  return { admitted, stranger }
}

/** The line of an error, without its stack. */
function lastLines({ stderr }: CommandResult): string {
  return stderr.split('\n').find((line) => /error/i.test(line)) ?? ''
}

const ORDERED = /^The shop answered: http:\S+ answered 201\..*orderedBy\\":\\"svc:agent:\w{24}\\"/s
const REFUSED = /^The shop answered: http:\S+ answered 403\..*\\"FORBIDDEN\\"/s

test('shop', EXAMPLE, async () => {
  await openShop()
})

for (const name of ['ai-sdk', 'openai-agents', 'langchain']) {
  test(`${name}: a model orders with a tool that signs its requests`, EXAMPLE, async (t) => {
    const SHOP = await openShop()
    const env = { SHOP, OPENAI_BASE_URL: await startModel(t, SHOP) }
    const example = await installExample(t, name, service, ['sdk'])
    const program = ['node', '../agent.js'] as const
    const { admitted, stranger } = await runAsBoth(name, example, program, env)
    assert.match(admitted.stdout, ORDERED)
    assert.match(stranger.stdout, REFUSED)
    // Another run is the same agent, by its key file.
    const again = await example.run('node', ['../agent.js'], env)
    assert.equal(again.stdout, admitted.stdout, again.stderr)
  })
}

for (const [name, path] of [
  ['mcp', '/mcp'],
  ['a2a', '/a2a'],
] as const) {
  test(`${name}: the server admits only verified agents`, EXAMPLE, async (t) => {
    const ORIGIN = await newOrigin()
    const example = await installExample(t, name, service, ['gateway', 'sdk'])
    await example.start('node', ['server.js'], { ORIGIN })
    await assertGuarded(ORIGIN, path, POST)
    const program = ['node', '../client.js'] as const
    const { admitted, stranger } = await runAsBoth(name, example, program, { ORIGIN })
    assert.match(admitted.stdout, /^lamp, ordered by svc:agent:\w{24}\n$/)
    assert.notEqual(stranger.code, 0)
    assert.match(stranger.stderr, /FORBIDDEN/)
  })
}

test('cloudflare-worker: the Worker admits only verified agents', EXAMPLE, async (t) => {
  const ORIGIN = await newOrigin()
  const example = await installExample(t, 'cloudflare-worker', service, ['gateway'])
  const args = ['wrangler', 'dev', '--ip', '127.0.0.1', '--port', new URL(ORIGIN).port]
  await example.start('npx', [...args, '--var', `ORIGIN:${ORIGIN}`], { ORIGIN })
  // The first signed request is a POST, and is admitted as it is: Durable Objects know every nonce from the first one on.
  const early = await newAgent(service, ORIGIN)
  const post = await early.sign(`${ORIGIN}/orders`, POST)
  const copies = [await fetch(post.clone()), await fetch(post)]
  assert.deepEqual(
    copies.map((each) => each.status),
    [201, 401],
    await copies[0]?.text(),
  )
  const { status, text, line, agent } = await assertGuarded(ORIGIN, '/orders', POST)
  assert.deepEqual([status, JSON.parse(text)], [201, { item: 'lamp', orderedBy: agent.did }])
  show('cloudflare-worker', line)
})

test(
  'oauth: an agent whose issuer is registered gets a token, every other is refused',
  EXAMPLE,
  async (t) => {
    const ISSUER = await newOrigin()
    const example = await installExample(t, 'oauth', service, ['sdk'])
    const owner = await signIn(service, await service.operator.addVerifiedOwner())
    const run = (as: string, env = {}) =>
      example.run('node', ['../agent.js'], { ISSUER, ...env }, as)
    const { issuer, id } = await createIssuer(owner)
    const { issuer: unregistered, id: other } = await createIssuer(owner)
    const GRANT_ISSUERS = `https://other.example/issuer ${issuer}`
    const server = await example.start('node', ['server.js'], {
      ORIGIN: ISSUER,
      ISSUER,
      GRANT_ISSUERS,
    })
    const CLAIM_TOKEN = await newToken(service, owner.ownerId)
    const early = await run('agent', { CLAIM_TOKEN })
    // The refusal has the page on which the owner chooses an issuer.
    const [page = '', did = ''] =
      /http:\S+\/dashboard\/agents\/(svc:agent:\w{24})\/oauth/.exec(early.stderr) ?? []
    assert.ok(page.startsWith(service.url), early.stderr)
    await assign({ owner, did }, other)
    assert.match((await run('agent')).stderr, /invalid_grant/)
    assert.ok(server.output().includes(`${unregistered} is not registered`), server.output())
    await assign({ owner, did }, id)
    const { stdout, stderr } = await run('agent')
    show('oauth', stdout + stderr)
    for (const each of [did, "identity_level: 'verified'", 'grade:', `sub: '${issuer} ${did}'`])
      assert.ok(stdout.includes(each), stdout + stderr)
    // A grant counts once.
    const agent = await newAgent(service, ISSUER, owner.ownerId)
    await assign({ owner, did: agent.did as string }, id)
    const tokenEndpoint = `${ISSUER}/token`
    const { assertion, grantType } = await agent.grant({ audience: ISSUER, tokenEndpoint })
    const body = new URLSearchParams({ grant_type: grantType, assertion, client_id: 'agents' })
    const redeem = async () => (await fetch(tokenEndpoint, { method: 'POST', body })).status
    assert.deepEqual([await redeem(), await redeem()], [200, 400])
  },
)

test(
  'workers: five read a path each, and one is stopped while the others go on',
  EXAMPLE,
  async (t) => {
    const ORIGIN = await newOrigin()
    const example = await installExample(t, 'workers', service, ['sdk'])
    const shop = await example.start('node', ['shop.js'], { ORIGIN })
    const owner = await service.operator.addVerifiedOwner()
    const run = (env = {}) => example.run('node', ['../orchestrator.js'], { SHOP: ORIGIN, ...env })

    // Nothing without the permission of the owner: every worker says how to get it, and ends.
    const early = await run({ CLAIM_TOKEN: await newToken(service, owner) })
    assert.equal(early.code, 1, early.stderr)
    const [did = ''] = /svc:agent:\w{24}/.exec(early.stdout) ?? []
    assert.match(early.stderr, /allows 0 levels of delegation/)
    await allowDelegation(service, owner, did, 1)

    const { code, stdout, stderr } = await run()
    show('workers', stdout + stderr + shop.output())
    assert.equal(code, 0, stderr)
    const lines = stdout.trim().split('\n')
    const at = lines.indexOf('/reviews is stopped')
    const paths = ['/images', '/orders', '/prices', '/reviews', '/stock']
    assert.equal(lines[0], `${did} starts 5 workers`)
    assert.deepEqual(
      lines.slice(1, at).sort(),
      paths.map((path) => `${path} answered 200`),
    )
    assert.deepEqual(
      lines.slice(at + 1).sort(),
      paths.map((path) =>
        path === '/reviews'
          ? `${path} got no new chain: the orchestrator has stopped this worker`
          : `${path} answered 200, with a new chain`,
      ),
    )
    for (const path of paths) {
      assert.ok(shop.output().includes(`${path} refused: delegation-ended`), shop.output())
    }
  },
)

test(
  'approvals: an order above 100 euros waits until the owner has approved it with a passkey',
  allOf(EXAMPLE, BROWSER_MATRIX),
  async (t) => {
    const ORIGIN = await newOrigin()
    const example = await installExample(t, 'approvals', service, ['sdk'])
    // Its memory knows everything since its start, which was 40 seconds ago.
    const NODE_OPTIONS = `${example.env.NODE_OPTIONS} --import=${join(ROOT, 'test/support/older-process.mjs')}`
    const shop = await example.start('node', ['shop.js'], { ORIGIN, NODE_OPTIONS })
    const owner = await signIn(service, await service.operator.addVerifiedOwner())
    const run = (env = {}) => example.run('node', ['../agent.js'], { SHOP: ORIGIN, ...env })

    const early = await run({ CLAIM_TOKEN: await newToken(service, owner.ownerId) })
    assert.match(early.stderr, /Ask the owner to turn on approvals/)
    const [did = ''] = /svc:agent:\w{24}/.exec(early.stdout) ?? []
    await allowApprovals({ owner, did })

    const authenticator = await givePasskey(service, owner.ownerId, Date.now() - 72 * 3_600_000)
    const world = { service, owner, authenticator }
    // If a step fails, the agent does not wait for an answer that nobody gives.
    t.after(async () => {
      const pending = await owner.get(`${APPROVALS}?state=pending`)
      const { approvals } = jsonOf<OwnerApprovals>(pending)
      await Promise.all(approvals.map(({ id }) => deny({ owner }, id)))
    })
    const { page, problems } = await openApprover(await openBrowser(t), world, { width: 360 })
    const running = run()
    await page.goto(`${service.url}/dashboard/approvals?state=pending`)
    await page.getByRole('link', { name: new URL(ORIGIN).host }).click()
    await page.getByText('"129.00"').waitFor()
    await approveOnPage(page)
    const { code, stdout, stderr } = await running
    show('approvals', stdout + stderr + shop.output())
    assert.equal(code, 0, stderr)
    const [start, pencils = '', waiting = '', paper = ''] = stdout.split('\n')
    assert.equal(start, `${did} goes shopping`)
    assert.match(pencils, /^pencils: 201 .*"approval":null}$/)
    const id = page.url().split('/').at(-1)
    assert.equal(waiting, `waiting for the owner: ${service.url}/dashboard/approvals/${id}`)
    const order = { item: 'paper', total: '129.00', orderedBy: did, approval: id }
    assert.equal(paper, `paper: 201 ${JSON.stringify(order)}`)

    // Denied, the order is not sent again. The owner was shown what the shop would take, and it takes nothing else.
    const denied = run()
    await page.goto(`${service.url}/dashboard/approvals?state=pending`)
    await page.getByRole('link', { name: new URL(ORIGIN).host }).click()
    await page.getByRole('button', { name: 'Deny', exact: true }).click()
    assert.match((await denied).stderr, /APPROVAL_DENIED/)
    const agent = await newAgent(service, ORIGIN)
    const cheap = { ...POST, body: JSON.stringify({ ...order, total: '1.00', currency: 'EUR' }) }
    assert.equal((await agent.fetch(`${ORIGIN}/checkout`, cheap)).status, 400)
    assert.deepEqual(problems, [])
  },
)

function rubyHas(library: string): boolean {
  return spawnSync('ruby', ['-r', library, '-e', '']).status === 0
}

const FASTAPI = pythonFor('fastapi', 'uvicorn', 'cryptography')

test('fastapi: only verified agents are admitted', allOf(EXAMPLE, FASTAPI.options), async (t) => {
  const ORIGIN = await newOrigin()
  const PYTHONPATH = await downloadWheel(t, service)
  const example = await installExample(t, 'fastapi', service, [])
  const args = ['-m', 'uvicorn', 'shop:app', '--app-dir', '.', '--port', new URL(ORIGIN).port]
  await example.start(FASTAPI.path, [...args, '--host', 'localhost'], { ORIGIN, PYTHONPATH })
  const { status, text, line, agent } = await assertGuarded(ORIGIN, '/orders', POST)
  assert.deepEqual([status, JSON.parse(text)], [201, { item: 'lamp', orderedBy: agent.did }])
  show('fastapi', line)
})

const WEBRICK = {
  skip: rubyHas('webrick') ? (false as const) : 'Ruby has no webrick (Debian: ruby-webrick)',
}

test(
  'ruby: only verified agents are admitted',
  allOf(EXAMPLE, needs('ruby'), WEBRICK),
  async (t) => {
    const ORIGIN = await newOrigin()
    const example = await installExample(t, 'ruby', service, [])
    const { stop } = await example.start('ruby', ['site.rb'], { ORIGIN })
    const { status, text, line, agent } = await assertGuarded(ORIGIN, '/orders', POST)
    assert.deepEqual([status, JSON.parse(text)], [201, { item: 'lamp', orderedBy: agent.did }])
    const send = async (request: Request, body = POST.body) =>
      (await fetch(request.clone(), { method: 'POST', body })).status
    const copied = await agent.sign(`${ORIGIN}/orders?a=%2F`, POST)
    assert.deepEqual(
      [await send(copied, '{"item":"desk"}'), await send(copied), await send(copied)],
      [401, 201, 401],
    )
    await stop()
    await example.start('ruby', ['site.rb'], { ORIGIN })
    assert.equal(await send(copied), 401, 'a restart forgets no signature')
    const owner = await service.operator.addVerifiedOwner()
    const other = await newAgent(service, ORIGIN, owner)
    await unverify(service, owner, other.did as string)
    assert.equal((await other.fetch(`${ORIGIN}/orders`, POST)).status, 403)
    show('ruby', line)
  },
)

const HTTPX = pythonFor('httpx', 'cryptography')

test('python-agent: the agent orders at the shop', allOf(EXAMPLE, HTTPX.options), async (t) => {
  const env = { SHOP: await openShop(), PYTHONPATH: await downloadWheel(t, service) }
  const example = await installExample(t, 'python-agent', service, [])
  const program = [HTTPX.path, '../agent.py'] as const
  const { admitted, stranger } = await runAsBoth('python-agent', example, program, env)
  assert.match(admitted.stdout, /^201 \{"item":"lamp","orderedBy":"svc:agent:\w{24}"\}\n$/)
  assert.match(stranger.stdout, /^403 .*"FORBIDDEN"/)
})
