import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { VerifyResponse } from '@countersign/protocol'
import { DocPage } from './support/doc-page.ts'
import { type Context, startDocsFixture } from './support/docs-fixture.ts'
import { newKey } from './support/key.ts'
import { freePort } from './support/ports.ts'
import { claimAgent, postJson, type TestService } from './support/service.ts'
import { signIn } from './support/signed-in.ts'
import { needs } from './support/tools.ts'

const page = (name: string) => new DocPage(`docs/${name}.md`, import.meta.filename)
const AGENTS = page('agents')
const RELYING = page('relying-parties')

const AUDIENCE = 'https://shop.example'
const NONCE = 'aQ3zXw9TbQe7RzMn3VhYcJ2p'

test(
  'the commands of docs/agents.md get and use an identity',
  needs('openssl', 'curl'),
  async (t) => {
    const { service, shell, ownerId, here } = await startDocsFixture(t)
    const step = (heading: string) => shell.run(here(AGENTS.take(heading)))
    await shell.run(`CLAIM_TOKEN=${await service.operator.issueToken(ownerId)}`)
    await shell.run(`AUDIENCE=${AUDIENCE} CHALLENGE=svc-challenge-v1:${AUDIENCE}:${NONCE}`)

    assert.match(await step('Get a key'), /^A new key/)
    assert.match(await step('Claim'), /^This agent is svc:agent:/)
    const shown = await step('See who you are')
    assert.match(shown, /^You are svc:agent:\w{24} \(active\)/)
    assert.match(shown, /Certificate +http/)
    const identified = JSON.parse(await step('Say who you are'))
    assert.equal(identified.suggestedUse, 'full')

    const signature = (await step('Prove it')).trim()
    const { publicKey } = JSON.parse(await shell.run('npx countersign whoami --json'))
    await assertProves(service, {
      publicKey,
      challenge: `svc-challenge-v1:${AUDIENCE}:${NONCE}`,
      signature,
    })
    for (const other of [`svc-challenge-v1:https://shop.example.evil.example:${NONCE}`, 'hello']) {
      await shell.run(`CHALLENGE='${other}'`)
      await assert.rejects(step('Prove it'), /Nothing was signed/)
    }

    const owner = await signIn(service, ownerId)
    const place = { kind: 'runtime', handleOrDomain: 'home-server' }
    await owner.post(`/api/account/agents/${identified.svcDid}/channels`, place)
    assert.match(await step('Tell the service that you run'), /^home-server counts until /)
  },
)

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

test('the same with TypeScript, at a site that asks', needs('openssl', 'curl'), async (t) => {
  const { service, shell, dir, ownerId, here } = await startDocsFixture(t)
  const seen: (string | undefined)[] = []
  const site = createServer((request, response) => {
    seen.push(request.headers.serviceid as string | undefined)
    const challenge = `svc-challenge-v1:${origin}:${NONCE}`
    response.end(JSON.stringify({ challenge }))
  })
  await new Promise<void>((resolve) => site.listen(0, 'localhost', resolve))
  t.after(() => site.close())
  const origin = `http://localhost:${(site.address() as AddressInfo).port}`
  writeFileSync(join(dir, 'agent.mjs'), here(AGENTS.take('With TypeScript')))
  const token = await service.operator.issueToken(ownerId)

  const said = await shell.run(`CLAIM_TOKEN=${token} SITE=${origin} node agent.mjs`)

  const [did, signature = ''] = said.trim().split('\n')
  assert.match(did ?? '', /^svc:agent:/)
  assert.equal(seen[0], did)
  const { publicKey = '' } = await json(`${service.url}/api/agents/${did}`)
  await assertProves(service, {
    publicKey,
    challenge: `svc-challenge-v1:${origin}:${NONCE}`,
    signature,
  })
})

test(
  'the commands of docs/relying-parties.md look up, challenge and grade',
  needs('openssl', 'curl'),
  async (t) => {
    const { service, shell, ownerId } = await startDocsFixture(t)
    const key = newKey()
    const did = await claimAgent(service, ownerId, key)
    await shell.run(`DID=${did} PUBLIC_KEY=${key.publicKey}`)
    const [lookup = '', identify = ''] = RELYING.takeEach('1. Look a caller up')
    assert.equal(JSON.parse(await shell.run(lookup)).certificate.id, did)
    assert.equal(JSON.parse(await shell.run(identify)).suggestedUse, 'full')

    const [ask = '', check = '', code = ''] = RELYING.takeEach('2. Have it proven')
    await shell.run(ask)
    const challenge = (await shell.run('echo "$CHALLENGE"')).trim()
    assert.match(challenge, /^svc-challenge-v1:https:\/\/shop\.example:[0-9a-f]{48}$/)
    await shell.run(`SIGNATURE=${key.sign(challenge)}`)
    assert.equal(JSON.parse(await shell.run(check)).verified, true)
    await assertSignIn(t, code)

    assert.equal(JSON.parse(await shell.run(RELYING.take('3. Read the grade'))).grade, 'C')
    const shown = await shell.run(RELYING.take('4. Show people whom they deal with'))
    assert.match(shown, /"certificateUrl":.*<svg/s)
  },
)

/** Runs the server of the page, and signs an agent in at it as the page says. */
async function assertSignIn(t: Context, code: string): Promise<void> {
  const { service, dir, ownerId, here } = await startDocsFixture(t)
  const site = `http://localhost:${await freePort()}`
  writeFileSync(join(dir, 'site.mjs'), here(code))
  const env = { PATH: process.env.PATH, SITE: site, SESSION_SECRET: 'x'.repeat(43) }
  const server = spawn(process.execPath, ['site.mjs'], { cwd: dir, env, stdio: 'inherit' })
  t.after(() => server.kill())
  while (
    await fetch(site).then(
      () => false,
      () => true,
    )
  ) {
    assert.equal(server.exitCode, null, 'the server of the page runs')
    await sleep(25)
  }
  const { Agent, newKey: newSigner, Registry } = await import('@countersign/sdk')
  const agent = new Agent({ registry: new Registry(service.url), signer: await newSigner() })
  const { did } = await agent.claim(await service.operator.issueToken(ownerId))
  assert.equal((await fetch(site)).status, 401)
  const { token } = await agent.signIn(`${site}/agent-sign-in`)
  const welcome = await fetch(site, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(await welcome.text(), `Welcome, ${did}`)
}

test('every block that these pages assign to this test was run', needs('openssl', 'curl'), () => {
  for (const each of [AGENTS, RELYING]) each.assertAllTaken()
})

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

async function json(url: string): Promise<Record<string, string>> {
  return (await (await fetch(url)).json()) as Record<string, string>
}
