import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import {
  Agent,
  CountersignError,
  DelegatedAgent,
  keyFromJwk,
  keyFromPem,
  memoryNonceStore,
  Registry,
  type UsedNonce,
  verifyCertificate,
  verifyRequest,
  verifyStaple,
} from '@countersign/sdk'
import type { ConformanceReport } from '../../packages/cli/src/conformance/conformance.ts'
import { COUNTERSIGN, cliFor, errorIn } from '../../packages/cli/test/support/cli.ts'
import type { Decision } from '../../packages/gateway/src/decision/decision.ts'
import { gateway } from '../../packages/gateway/src/fetch.ts'
import { olderNonceStore } from '../../packages/gateway/test/support/signing.ts'
import { type Cleanup, tempDir } from '../support/service.ts'

interface MockOutput {
  readonly url: string
  readonly shortName: string
  readonly idHeader: string
  readonly agents: readonly {
    readonly name: string
    readonly did: string
    readonly status: string
    readonly keys: readonly {
      readonly publicKey: string
      readonly jwk: Parameters<typeof keyFromJwk>[0]
      readonly pem: string
      readonly certificate: string
    }[]
  }[]
  readonly delegates: readonly {
    readonly name: string
    readonly did: string
    readonly jwk: Parameters<typeof keyFromJwk>[0]
    readonly chain: string
    readonly expiresAt: string
  }[]
  readonly approvals: readonly {
    readonly name: string
    readonly id: string
    readonly did: string
    readonly request: {
      readonly method: string
      readonly url: string
      readonly contentType: string
      readonly body: string
    }
    readonly token: string | null
    readonly use?: UsedNonce
  }[]
}

const SHOP = 'https://shop.example'

/** `countersign mock` in this process, until the test ends. */
async function startMock(t: Cleanup, ...args: string[]): Promise<MockOutput> {
  const cli = cliFor(t)
  let stop = () => {}
  const signalled = new Promise<void>((resolve) => {
    stop = resolve
  })
  const io = cli.io({ untilSignalled: () => signalled })
  const { run } = await import('../../packages/cli/src/run.ts')
  const output = once(io.stdout, 'data')
  const ended = run(['mock', '--json', ...args], io)
  t.after(() => {
    stop()
    return ended
  })
  return JSON.parse((await output)[0])
}

function agentNamed({ agents }: MockOutput, name: string) {
  return agents.find((each) => each.name === name) ?? assert.fail(name)
}

suite('countersign mock', () => {
  for (const names of [[], ['--short-name', 'acme', '--id-header', 'AcmeID']]) {
    test(`keeps the contract as far as it can be read ${names.join(' ')}`, async (t) => {
      const mock = await startMock(t, ...names)
      const agents = mock.agents.flatMap(({ did }) => ['--agent', did])
      const cli = cliFor(t)
      const report = await cli.json<ConformanceReport>('conformance', mock.url, ...agents)
      assert.deepEqual(
        report.checks.filter(({ outcome }) => outcome === 'fail'),
        [],
      )
      assert.equal(report.shortName, names[1] ?? 'svc')
    })
  }

  test('the SDK reads every agent, in the state that its name says', async (t) => {
    const mock = await startMock(t)
    const registry = await Registry.discover(mock.url)
    const grades: Record<string, string> = {}
    for (const { name, did } of mock.agents) {
      const [{ verified, owner, certificate }, card, grade, agent, keys] = await Promise.all([
        registry.lookup(did),
        registry.card(did),
        registry.grade(did),
        registry.agent(did),
        registry.keys(did),
      ])
      const { document, revoked } = await registry.resolve(did)
      assert.equal(verified, certificate.status === 'active')
      assert.equal(revoked, certificate.status === 'revoked')
      assert.equal(document.authentication.length, verified ? 1 : 0)
      assert.equal(card.grade, grade.grade)
      assert.equal(agent.keySequence, keys.keys.length)
      grades[name] = `${certificate.status} ${owner.identityMethod} ${card.grade}`
    }
    assert.deepEqual(grades, {
      'grade-a': 'active eid A',
      'grade-b': 'active email B',
      'grade-c': 'active eid C',
      'grade-d': 'active email D',
      'grade-e': 'active null E',
      'chat-only': 'active eid B',
      suspended: 'suspended eid E',
      revoked: 'revoked eid E',
      'rotated-key': 'active eid A',
      'expired-verification': 'active null C',
      'development-only': 'active development A',
      'owner-deleted': 'revoked null E',
      delegating: 'active eid A',
      approving: 'active eid A',
    })
  })

  test('a gateway admits and refuses its agents by their signatures', async (t) => {
    const mock = await startMock(t)
    const site = gateway({
      service: mock.url,
      audiences: [SHOP],
      policy: { requireProof: true, minimumGrade: 'B' },
    })(() => new Response('welcome'))
    const registry = await Registry.discover(mock.url)
    const status = async (name: string, key: number) => {
      const { did, keys } = agentNamed(mock, name)
      const signer = await keyFromJwk(keys[key]?.jwk ?? assert.fail(name))
      const agent = new Agent({ registry, signer, did, audiences: [SHOP] })
      const response = await site(await agent.sign(`${SHOP}/orders`))
      await response.text()
      return response.status
    }
    assert.equal(await status('grade-a', 0), 200)
    assert.equal(await status('grade-b', 0), 200)
    assert.equal(await status('grade-c', 0), 403)
    assert.equal(await status('suspended', 0), 403)
    assert.equal(await status('revoked', 0), 403)
    assert.equal(await status('rotated-key', 1), 200)
    assert.equal(await status('rotated-key', 0), 401)
  })

  test('a site that accepts delegates admits one of its three, and refuses the others', async (t) => {
    const mock = await startMock(t, '--origin', SHOP)
    const registry = await Registry.discover(mock.url)
    const delegation = { maxDepth: 1, maxSeconds: 3600, mcp: false }
    const outcomes: Record<string, unknown> = {}
    for (const { name, did, jwk, chain, expiresAt } of mock.delegates) {
      assert.equal(did, agentNamed(mock, 'delegating').did)
      assert.equal(Date.parse(expiresAt) > Date.now(), name !== 'expired')
      // `DelegatedAgent` sends no chain that has expired.
      const worker = new Agent({ registry, signer: await keyFromJwk(jwk), did, audiences: [SHOP] })
      const headers = { 'ServiceID-Certificate': chain }
      const options = { registry, audiences: [SHOP], nonces: olderNonceStore(), delegation }
      const request = await worker.sign(`${SHOP}/orders`, { headers })
      outcomes[name] = (await verifyRequest(request, options)).reason
    }
    const [{ jwk, chain } = assert.fail()] = mock.delegates
    const delegate = new DelegatedAgent({ chain, signer: await keyFromJwk(jwk) })
    const request = await delegate.sign(SHOP)
    const closed = { registry, audiences: [SHOP], nonces: olderNonceStore() }
    assert.equal((await verifyRequest(request, closed)).reason, 'delegation-refused')
    assert.deepEqual(outcomes, {
      accepted: null,
      expired: 'delegation-expired',
      ended: 'delegation-ended',
    })
  })

  test('a site that requires approvals admits the approved request once, and refuses the pending and the used one', async (t) => {
    const mock = await startMock(t, '--origin', SHOP)
    const registry = await Registry.discover(mock.url)
    const { did, keys } = agentNamed(mock, 'approving')
    const signer = await keyFromJwk(keys[0]?.jwk ?? assert.fail())
    const agent = new Agent({ registry, signer, did, audiences: [SHOP] })
    const older = olderNonceStore()
    // Has just started: such a site asks for a nonce in signatures, and an approval has none.
    const young = memoryNonceStore()
    const nonces = {
      record: (each: UsedNonce) => (each.nonce === undefined ? young : older).record(each),
    }
    const outcome = async (name: string, approval?: string) => {
      const { request } = mock.approvals.find((each) => each.name === name) ?? assert.fail(name)
      const { url, method, contentType, body } = request
      const headers = {
        'content-type': contentType,
        ...(approval !== undefined && { 'ServiceID-Approval': approval }),
      }
      const signed = await agent.sign(url, { method, headers, body })
      const options = { registry, audiences: [SHOP], nonces, approval: {} }
      const { reason, approval: found } = await verifyRequest(signed, options)
      return reason ?? found?.id
    }
    const tokens: Record<string, string> = {}
    for (const { name, id, did: asking, token, use } of mock.approvals) {
      assert.equal(asking, did)
      const answer = await fetch(`${mock.url}/api/v1/approvals/${id}`)
      const progress = (await answer.json()) as { state: string; token?: string }
      assert.equal(progress.state, name === 'pending' ? 'pending' : 'approved')
      assert.equal(token === null, progress.token === undefined)
      tokens[name] = progress.token ?? ''
      if (use !== undefined) assert.equal(await nonces.record(use), 'fresh')
    }
    const approved = mock.approvals.find(({ name }) => name === 'approved')
    assert.equal(await outcome('pending'), 'approval-required')
    assert.equal(await outcome('used', tokens.used), 'approval-used')
    assert.equal(await outcome('used', tokens.approved), 'approval-mismatch')
    assert.equal(await outcome('approved', tokens.approved), approved?.id)
    assert.equal(await outcome('approved', approved?.token ?? ''), 'approval-used')
    const unknown = await fetch(`${mock.url}/api/v1/approvals/ap_${'A'.repeat(22)}`)
    assert.equal(unknown.status, 404)
  })

  test('a gateway that trusts it decides by certificates, without a question about an agent', async (t) => {
    const mock = await startMock(t, '--short-name', 'acme', '--id-header', 'AcmeID')
    const naming = { shortName: mock.shortName, idHeader: mock.idHeader }
    const decisions: Decision[] = []
    const protect = gateway({
      service: new Registry(mock.url, {
        naming,
        fetch: async () => assert.fail('the service was asked about an agent'),
      }),
      audiences: [SHOP],
      nonces: olderNonceStore(),
      timeoutMs: 30_000,
      policy: {
        requireProof: true,
        trust: [{ issuer: mock.url, didPrefix: 'acme:agent:', idHeader: mock.idHeader }],
      },
      onDecision: (decision) => decisions.push(decision),
    })
    t.after(() => protect.close())
    const site = protect(() => new Response('welcome'))
    const registry = await Registry.discover(mock.url)
    /** @param certificate what the agent sends; absent: what it gets of the mock, with a staple */
    const outcome = async (name: string, key = 0, certificate?: string) => {
      const { did, keys } = agentNamed(mock, name)
      const signer = await keyFromJwk(keys[key]?.jwk ?? assert.fail(name))
      const certificates = certificate === undefined
      const agent = new Agent({ registry, signer, did, audiences: [SHOP], certificates })
      const headers = certificates ? {} : { [`${mock.idHeader}-Certificate`]: certificate }
      const response = await site(await agent.sign(`${SHOP}/orders`, { headers }))
      await response.text()
      const { source, grade, reasons } = decisions.at(-1) ?? assert.fail('no decision')
      return response.status === 200 ? [200, source, grade] : [response.status, reasons[0].code]
    }
    const held = (name: string, key = 0) => {
      const { certificate } = agentNamed(mock, name).keys[key] ?? assert.fail(name)
      return outcome(name, key, certificate)
    }
    const [status, source, grade] = await outcome('grade-b')
    assert.deepEqual([status, grade], [200, 'B'])
    assert.ok(source === 'certificate' || source === 'staple', String(source))
    assert.deepEqual(await held('grade-a'), [200, 'certificate', 'A'])
    assert.deepEqual(await held('rotated-key', 1), [200, 'certificate', 'A'])
    assert.deepEqual(await held('rotated-key', 0), [401, 'certificate-replaced'])
    assert.deepEqual(await held('suspended'), [403, 'status-refused'])
    assert.deepEqual(await held('revoked'), [401, 'certificate-replaced'])
  })

  test('its certificates and staples verify, and say what its status list says', async (t) => {
    const mock = await startMock(t)
    const registry = await Registry.discover(mock.url)
    const options = { issuers: [mock.url] }
    const outcomes: Record<string, string> = {}
    for (const { name, did, status, keys } of mock.agents) {
      const staple = await verifyStaple(await registry.staple(did), options)
      assert.deepEqual([staple.did, staple.status], [did, status])
      const issued = await registry.certificate(did).then(
        (token) => verifyCertificate(token, options),
        (error) => error,
      )
      if (status === 'active') assert.deepEqual([issued.did, issued.grade], [did, staple.grade])
      else assert.equal(issued.code, 'AGENT_NOT_ACTIVE')
      for (const [i, { certificate }] of keys.entries()) {
        const verified = await verifyCertificate(certificate, options).catch((error) => error)
        const isError = verified instanceof CountersignError
        outcomes[`${name} ${i + 1}`] = isError ? verified.code : verified.grade
      }
    }
    assert.deepEqual(outcomes, {
      'grade-a 1': 'A',
      'grade-b 1': 'B',
      'grade-c 1': 'C',
      'grade-d 1': 'D',
      'grade-e 1': 'E',
      'chat-only 1': 'B',
      'suspended 1': 'CERTIFICATE_SUSPENDED',
      'revoked 1': 'CERTIFICATE_REVOKED',
      'rotated-key 1': 'CERTIFICATE_REVOKED',
      'rotated-key 2': 'A',
      'expired-verification 1': 'C',
      'development-only 1': 'A',
      'owner-deleted 1': 'CERTIFICATE_REVOKED',
      'delegating 1': 'A',
      'approving 1': 'A',
    })
  })

  test('both algorithms, both formats and the feed are served as by a service', async (t) => {
    const mock = await startMock(t)
    const { did } = agentNamed(mock, 'grade-a')
    const get = (path: string, accept = '*/*') => fetch(mock.url + path, { headers: { accept } })
    const path = `/api/v1/agent/${did}/certificate`
    const es256 = await (await get(`${path}?alg=ES256`, 'application/dc+sd-jwt')).text()
    assert.ok(es256.endsWith('~'))
    assert.equal((await verifyCertificate(es256, { issuers: [mock.url] })).did, did)
    assert.equal((await get(`${path}?alg=RS256`)).status, 400)
    const metadata = await (await get('/.well-known/jwt-vc-issuer')).json()
    assert.deepEqual(metadata, {
      issuer: mock.url,
      jwks_uri: `${mock.url}/.well-known/jwks.json`,
    })
    const { head } = (await (await get('/api/v1/snapshot')).json()) as { head: string }
    const lines = await (await get(`/api/v1/feed?after=${head}`)).text()
    assert.deepEqual(Object.keys(JSON.parse(lines)), ['head'])
    const other = await startMock(t)
    const foreign = await fetch(`${other.url}/api/v1/feed?after=${head}`)
    assert.equal(foreign.status, 410)
    assert.equal((await get('/api/v1/feed?after=x')).status, 400)
  })

  test('`countersign certificate verify` accepts its certificates', async (t) => {
    const mock = await startMock(t)
    const cli = cliFor(t)
    const { did } = agentNamed(mock, 'grade-a')
    const { certificate } = await cli.json<{ certificate: string }>(
      ...(['certificate', 'get', did, '--url', mock.url] as const),
    )
    const file = join(tempDir(t), 'agent.jwt')
    writeFileSync(file, certificate)
    const verified = await cli.json<{ did: string }>(
      'certificate',
      'verify',
      file,
      '--url',
      mock.url,
    )
    assert.equal(verified.did, did)
  })

  test('an agent answers a challenge with its published key, in PEM and JWK', async (t) => {
    const mock = await startMock(t)
    const { did, keys } = agentNamed(mock, 'grade-a')
    const registry = await Registry.discover(mock.url)
    const [key = assert.fail()] = keys
    for (const signer of [await keyFromPem(key.pem), await keyFromJwk(key.jwk)]) {
      const challenge = `svc-challenge-v1:${SHOP}:AAECAwQFBgcICQoLDA0ODw`
      const signature = Buffer.from(await signer.sign(Buffer.from(challenge))).toString('base64')
      const { publicKey } = key
      const { verified, agent } = await registry.verify({ publicKey, challenge, signature })
      assert.deepEqual([verified, agent.did], [true, did])
    }
  })

  test('the agents and keys are the same at each start', async (t) => {
    const [first, second] = [await startMock(t), await startMock(t)]
    assert.notEqual(first.url, second.url)
    const known = ({ agents, delegates, approvals }: MockOutput) => [
      ...approvals.map(({ id, request }) => ({ id, request })),
      ...agents.map(({ keys, ...agent }) => ({ ...agent, keys: keys.map(({ jwk }) => jwk) })),
      ...delegates.map(({ name, did, jwk }) => ({ name, did, jwk })),
    ]
    assert.deepEqual(known(first), known(second))
  })

  test('wrong options are wrong usage', async (t) => {
    const cli = cliFor(t)
    for (const args of [
      ['--port', 'x'],
      ['--port', '65536'],
      ['--short-name', 'No'],
      ['--id-header', 'a b'],
      ['--origin', 'http://shop.example'],
    ]) {
      const result = await cli.run('mock', ...args, '--json')
      assert.deepEqual([result.code, errorIn(result).code], [2, 'USAGE'], args.join(' '))
    }
  })

  test('ends on SIGTERM', async (t) => {
    const child = spawn(process.execPath, [COUNTERSIGN, 'mock'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    let output = ''
    for await (const chunk of child.stdout) {
      output += chunk
      if (output.endsWith('\n}\n')) break
    }
    const { url } = JSON.parse(output) as MockOutput
    assert.equal((await fetch(`${url}/openapi.json`)).status, 200)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })
})
