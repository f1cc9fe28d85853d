import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { VerifyResponse } from '@countersign/protocol'
import { DocPage } from './support/doc-page.ts'
import { type Context, startDocsFixture } from './support/docs-fixture.ts'
import { newKey, type TestKey } from './support/key.ts'
import { freePort } from './support/ports.ts'
import { BASE_ENV } from './support/run.ts'
import { claimAgent, postJson, type TestService } from './support/service.ts'
import { signedHeaders } from './support/sign-request.ts'
import { signIn } from './support/signed-in.ts'
import { needs } from './support/tools.ts'
import { until, untilTicked } from './support/until.ts'

const page = (name: string) => new DocPage(`docs/${name}.md`, import.meta.filename)
const AGENTS = page('agents')
const RELYING = page('relying-parties')
const WHICH = page('which-check')

const AUDIENCE = 'https://shop.example'
const NONCE = 'aQ3zXw9TbQe7RzMn3VhYcJ2p'

test('the commands of docs/agents.md work', needs('openssl', 'curl'), async (t) => {
  const { service, shell, ownerId, here } = await startDocsFixture(t)
  const step = (heading: string) => shell.run(here(AGENTS.take(heading)))
  await shell.run(`CLAIM_TOKEN=${await service.operator.issueToken(ownerId)}`)
  await shell.run(`AUDIENCE=${AUDIENCE} CHALLENGE=svc-challenge-v1:${AUDIENCE}:${NONCE}`)

  assert.match(await step('Get a key'), /^Key generated/)
  assert.match(await step('Claim'), /^This agent is svc:agent:/)
  const shown = await step('See who you are')
  assert.match(shown, /^You are svc:agent:\w{24} \(active\)/)
  assert.match(shown, /Certificate +http/)
  const identified = JSON.parse(await step('Say who you are'))
  assert.equal(identified.suggestedUse, 'full')

  const signature = (await step('Answer a challenge')).trim()
  const { publicKey } = JSON.parse(await shell.run('npx countersign whoami --json'))
  await assertProves(service, {
    publicKey,
    challenge: `svc-challenge-v1:${AUDIENCE}:${NONCE}`,
    signature,
  })
  for (const other of [`svc-challenge-v1:https://shop.example.evil.example:${NONCE}`, 'hello']) {
    await shell.run(`CHALLENGE='${other}'`)
    await assert.rejects(step('Answer a challenge'), /Nothing was signed/)
  }

  const owner = await signIn(service, ownerId)
  const place = { kind: 'runtime', handleOrDomain: 'home-server' }
  await owner.post(`/api/account/agents/${identified.svcDid}/channels`, place)
  assert.match(await step('Tell the service that you run'), /^home-server is verified until /)
})

test('the same with openssl and curl', needs('openssl', 'curl'), async (t) => {
  const { service, shell, ownerId, here } = await startDocsFixture(t)
  const [key = '', claim = '', prove = ''] = AGENTS.takeEach('With openssl and curl').map(here)
  await shell.run(`CLAIM_TOKEN=${await service.operator.issueToken(ownerId)}`)
  await shell.run(`AUDIENCE=${AUDIENCE} CHALLENGE=svc-challenge-v1:${AUDIENCE}:${NONCE}`)

  await shell.run(key)
  const claimed = JSON.parse(await shell.run(claim))
  assert.match(claimed.svcDid, /^svc:agent:/)
  const publicKey = (await shell.run('echo "$PUBLIC_KEY"')).trim()
  const signature = (await shell.run(prove)).trim()
  await assertProves(service, {
    publicKey,
    challenge: `svc-challenge-v1:${AUDIENCE}:${NONCE}`,
    signature,
  })
  await shell.run(`CHALLENGE='svc-verify-${'0'.repeat(32)}|main'`)
  await assert.rejects(shell.run(prove), /not for https:\/\/shop\.example/)
})

test('the agent of docs/agents.md signs in at the site of docs/relying-parties.md', async (t) => {
  const { service, shell, dir, ownerId, here } = await startDocsFixture(t)
  const site = RELYING.take('Sign-in in TypeScript')
  const origin = await startSite(t, dir, here(site))
  const agent = AGENTS.take('With TypeScript')
  writeFileSync(join(dir, 'agent.mjs'), here(agent))
  const token = await service.operator.issueToken(ownerId)

  assert.equal((await fetch(origin)).status, 401)
  const printed = await shell.run(`CLAIM_TOKEN=${token} SITE=${origin} node agent.mjs`)

  const [, did] = /^I am (svc:agent:\w{24})\nWelcome, \1\n$/.exec(printed) ?? assert.fail(printed)
  const { status } = await json(`${service.url}/api/agents/${did}`)
  assert.equal(status, 'active')
  // It starts again with the token that is used up.
  assert.equal(await shell.run(`CLAIM_TOKEN=${token} SITE=${origin} node agent.mjs`), printed)
})

/** Runs the server of the page in a process of its own. @returns its origin */
async function startSite(t: Context, dir: string, code: string): Promise<string> {
  const site = `http://localhost:${await freePort()}`
  writeFileSync(join(dir, 'site.mjs'), code)
  const env = { ...BASE_ENV, SITE: site, SESSION_SECRET: 'x'.repeat(43) }
  const server = spawn(process.execPath, ['site.mjs'], { cwd: dir, env, stdio: 'inherit' })
  t.after(() => server.kill())
  await until(async () => {
    assert.equal(server.exitCode, null, 'the server of the page runs')
    return fetch(site).then(
      () => true,
      () => false,
    )
  }, 20_000)
  return site
}

test(
  'the commands of docs/relying-parties.md work',
  needs('openssl', 'curl', 'python3'),
  async (t) => {
    const { service, shell, dir, ownerId, here } = await startDocsFixture(t)
    const key = newKey()
    const did = await claimAgent(service, ownerId, key)
    await shell.run(`export DID=${did} PUBLIC_KEY=${key.publicKey} URL`)
    const [lookup = '', script = '', python = '', identify = ''] =
      RELYING.takeEach('1. Look up a caller')
    writeFileSync(join(dir, 'lookup.mjs'), here(script))
    writeFileSync(join(dir, 'lookup.py'), python)
    for (const command of [lookup, 'node lookup.mjs', 'python3 lookup.py']) {
      assert.equal(JSON.parse(await shell.run(command)).certificate.id, did, command)
    }
    assert.equal(JSON.parse(await shell.run(identify)).suggestedUse, 'full')

    const [ask = '', check = ''] = RELYING.takeEach('2. Challenge a caller')
    await shell.run(ask)
    const challenge = (await shell.run('echo "$CHALLENGE"')).trim()
    assert.match(challenge, /^svc-challenge-v1:https:\/\/shop\.example:[0-9a-f]{48}$/)
    await shell.run(`SIGNATURE=${key.sign(challenge)}`)
    assert.equal(JSON.parse(await shell.run(check)).verified, true)

    const [described = '', send = ''] = RELYING.takeEach(
      '3. Verify a signed request, from any language',
    )
    writeFileSync(join(dir, 'received.json'), await describeSigned(service, did, key, described))
    const { verdict, svcDid, digest } = JSON.parse(await shell.run(send))
    assert.deepEqual([verdict, svcDid, digest], ['verified', did, 'unchecked'])

    const [grade = '', recompute = ''] = RELYING.takeEach('4. Read the grade')
    assert.equal(JSON.parse(await shell.run(grade)).grade, 'C')
    writeFileSync(join(dir, 'grade.mjs'), here(recompute))
    assert.deepEqual(JSON.parse(await shell.run('node grade.mjs')), { grade: 'C', agrees: true })
    const shown = await shell.run(RELYING.take('5. Show the agent to people'))
    assert.match(shown, /"certificateUrl":.*<svg/s)
  },
)

test(
  'the commands of docs/which-check.md tell the status in five ways',
  needs('curl'),
  async (t) => {
    const { service, shell, ownerId, here } = await startDocsFixture(t)
    const did = await claimAgent(service, ownerId, newKey())
    const latest = `${service.url}/api/v1/feed/latest`
    await untilTicked(service, async () => (await fetch(latest)).status === 200)
    await shell.run(`export DID=${did} URL`)
    const first = JSON.parse(await shell.run(here(WHICH.take('Which check do I need?'))))
    assert.equal(first.verified, true)

    const ways = WHICH.take('The same status, five times').trim().split('\n')
    const [lookup = '', certificate = '', staple = '', list = '', feed = ''] = ways
    assert.equal(JSON.parse(await shell.run(lookup)).certificate.status, 'active')
    const { status } = claimsOf(await shell.run(certificate))
    assert.equal(claimsOf(await shell.run(staple)).agentStatus, 'active')
    await shell.run(`LIST=${status.status_list.uri}`)
    assert.equal(claimsOf(await shell.run(list)).sub, status.status_list.uri)
    assert.match(await shell.run(feed), /"head":"ey/)
  },
)

test('every block of this test was run', needs('openssl', 'curl', 'python3'), () => {
  for (const each of [AGENTS, RELYING, WHICH]) each.assertAllTaken()
})

/** The page's description of a request, with the headers of one that the agent has signed. */
async function describeSigned(
  service: TestService,
  did: string,
  key: TestKey,
  described: string,
): Promise<string> {
  const page = JSON.parse(described)
  const { method, url } = page
  const unsigned = [
    ['Content-Type', 'application/json'],
    ['Content-Length', '12'],
    ['ServiceID', did],
  ] as const
  const body = '{"amount":1}'
  const headers = await signedHeaders(service, did, key, { method, url, headers: unsigned, body })
  const names = (each: readonly (readonly [string, string])[]) =>
    each.map(([name]) => name.toLowerCase())
  assert.deepEqual(names(page.headers), names(headers))
  return JSON.stringify({ ...page, headers })
}

interface Proof {
  readonly publicKey: string
  readonly challenge: string
  readonly signature: string
}

async function assertProves(service: TestService, proof: Proof): Promise<void> {
  const response = await postJson(`${service.url}/api/v1/agent/verify`, proof)
  const { verified } = (await response.json()) as VerifyResponse
  assert.equal(verified, true)
}

/** The claims of a JWT. */
function claimsOf(token: string) {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString())
}

async function json(url: string): Promise<Record<string, string>> {
  return (await (await fetch(url)).json()) as Record<string, string>
}
