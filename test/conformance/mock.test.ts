import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { Agent, keyFromJwk, keyFromPem, Registry } from '@countersign/sdk'
import type { ConformanceReport } from '../../packages/cli/src/conformance/conformance.ts'
import { COUNTERSIGN, cliFor, errorIn } from '../../packages/cli/test/support/cli.ts'
import { gateway } from '../../packages/gateway/src/fetch.ts'
import type { Cleanup } from '../support/service.ts'

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
    }[]
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
    assert.deepEqual(first.agents, second.agents)
  })

  test('wrong options are wrong usage', async (t) => {
    const cli = cliFor(t)
    for (const args of [
      ['--port', 'x'],
      ['--port', '65536'],
      ['--short-name', 'No'],
      ['--id-header', 'a b'],
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
