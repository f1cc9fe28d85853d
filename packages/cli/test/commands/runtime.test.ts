import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { formatChallenge, namingFor } from '@countersign/protocol'
import { formatMinute } from '@countersign/sdk/tool-support'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { type CertifiedCli, certifiedCli, changeStatus, cliFor, errorIn } from '../support/cli.ts'
import { bodyOf, startImpostor } from '../support/impostor.ts'

const DAY_MS = 24 * 3_600_000

interface Ground {
  readonly service: TestService
  readonly ownerId: number
  readonly cli: CertifiedCli
}

async function start(t: Parameters<typeof startTestService>[0], env = {}): Promise<Ground> {
  const service = await startTestService(t, env)
  const ownerId = await service.operator.addVerifiedOwner()
  return { service, ownerId, cli: await certifiedCli(t, service, ownerId) }
}

async function addRuntime({ service, ownerId }: Ground, did: string): Promise<void> {
  const owner = await signIn(service, ownerId)
  const channel = { kind: 'runtime', handleOrDomain: 'home-server' }
  const { status, text } = await owner.post(`/api/account/agents/${did}/channels`, channel)
  assert.equal(status, 201, text)
}

suite('runtime', () => {
  test('proves that the agent runs, and says until when that counts', async (t) => {
    const ground = await start(t)
    const { cli, service } = ground
    const { did } = cli
    await addRuntime(ground, did)

    const { code, stdout, stderr } = await cli.run('runtime')

    assert.deepEqual([code, stderr], [0, ''])
    const until = /^home-server is verified until (.+)\n/.exec(stdout)?.[1] as string
    const days = (Date.parse(until.replace(' at ', ' ')) - Date.now()) / DAY_MS
    assert.ok(days > 29.9 && days <= 30, until)
    assert.match(stdout, new RegExp(`^  DID {10}${did}$`, 'm'))
    assert.match(stdout, /^ {2}Grade {8}B \(A is best, E is lowest\)$/m)
    const card = await (await fetch(`${service.url}/api/agents/${did}/card`)).json()
    const shown = (card as { channels: object[] }).channels
    assert.deepEqual(shown, [{ kind: 'runtime', handleOrDomain: 'home-server' }])

    const proof = await cli.json('runtime', did)
    const names = [
      'svcDid',
      'kind',
      'handleOrDomain',
      'verifiedAt',
      'checkedAt',
      'freshUntil',
      'grade',
    ]
    assert.deepEqual(Object.keys(proof), names)
    const { freshUntil } = proof as { freshUntil: string }
    assert.deepEqual([proof.svcDid, formatMinute(freshUntil)], [did, until])
  })

  test('proves the one that is named, where the key has several certificates', async (t) => {
    const ground = await start(t)
    const { cli, service, ownerId } = ground
    const token = await service.operator.issueToken(ownerId)
    const { did } = await cli.json<{ did: string }>('claim', token, '--agent-id', 'second')
    await addRuntime(ground, did)
    const first = await cli.run('runtime', '--json')
    assert.deepEqual([first.code, errorIn(first).code], [3, 'NOT_FOUND'])
    for (const name of [did, did.slice(-24)]) {
      assert.equal((await cli.json('runtime', name)).svcDid, did)
    }
  })

  test('speaks to a deployment of another short name', async (t) => {
    const ground = await start(t, { SHORT_NAME: 'acme' })
    await addRuntime(ground, ground.cli.did)
    assert.equal((await ground.cli.json('runtime')).acmeDid, ground.cli.did)
  })

  test('says what is missing: a key, a certificate, a channel, the right key', async (t) => {
    const ground = await start(t)
    const { cli, service, ownerId } = ground
    const keyless = await cliFor(t).run('runtime', '--json')
    assert.deepEqual([keyless.code, errorIn(keyless).code], [2, 'NO_KEY'])

    const stranger = cliFor(t, { COUNTERSIGN_URL: service.url })
    await stranger.run('keygen')
    const unknown = await stranger.run('runtime', '--json')
    assert.deepEqual([unknown.code, errorIn(unknown).code], [3, 'NOT_FOUND'])
    assert.match(errorIn(unknown).message, /has no certificate.*countersign claim/)

    const none = await cli.run('runtime')
    assert.deepEqual([none.code, none.stdout], [3, ''])
    assert.match(none.stderr, /^countersign: .*Ask the owner to add one on the dashboard.*\n$/)

    await addRuntime({ service, ownerId, cli }, cli.did)
    const wrong = await stranger.run('runtime', cli.did, '--json')
    assert.deepEqual([wrong.code, errorIn(wrong).code], [4, 'INVALID_SIGNATURE'])

    await changeStatus(service, cli.did, 'revoke')
    const revoked = await cli.run('runtime', '--json')
    assert.deepEqual([revoked.code, errorIn(revoked).code], [4, 'FORBIDDEN'])
  })

  test('signs nothing for somebody in between, who passes on what the service asks', async (t) => {
    const ground = await start(t)
    const { cli, service } = ground
    await addRuntime(ground, cli.did)
    const passed: string[] = []
    const between = await startImpostor(t, async (request, response) => {
      passed.push(`${request.method} ${request.url}`)
      const { method = 'GET' } = request
      const body = method === 'POST' ? await bodyOf(request) : undefined
      const type = { 'content-type': 'application/json' }
      const init = body === undefined ? { method } : { method, body, headers: type }
      const answer = await fetch(service.url + request.url, init)
      response.writeHead(answer.status, type).end(await answer.text())
    })

    const people = await cli.run('runtime', '--url', between)

    assert.deepEqual([people.code, people.stdout], [4, ''])
    assert.match(
      people.stderr,
      /Nothing was signed: \S+ sent a challenge of http:\/\/localhost:\d+\./,
    )
    const program = await cli.run('runtime', cli.did, '--url', between, '--json')
    assert.deepEqual([program.code, errorIn(program).code], [4, 'ANOTHER_SERVICE'])
    const asked = passed.filter((each) => each.startsWith('POST'))
    assert.deepEqual(
      asked,
      Array(2).fill(`POST /api/agents/${encodeURIComponent(cli.did)}/runtime/challenge`),
    )
  })

  test('signs nothing that is not a challenge of this form', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const did = `svc:agent:${'7'.repeat(24)}`
    const nonce = 'A'.repeat(22)
    let challenge = ''
    let posts = 0
    const impostor = await startImpostor(t, async (request, response) => {
      await bodyOf(request)
      posts += 1
      const expiresAt = new Date().toISOString()
      const type = { 'content-type': 'application/json' }
      response.writeHead(200, type).end(JSON.stringify({ challenge, expiresAt }))
    })
    const texts = [
      `svc-verify-${'0'.repeat(32)}|main`,
      'hello',
      '',
      nonce,
      formatChallenge(namingFor('acme'), { audience: impostor, nonce }),
      `${formatChallenge(namingFor(), { audience: impostor, nonce })}\n`,
      `svc-challenge-v1:${impostor}/:${nonce}`,
    ]
    for (challenge of texts) {
      const refused = await cli.run('runtime', did, '--url', impostor, '--json')
      assert.deepEqual([refused.code, errorIn(refused).code], [1, 'UNEXPECTED_ANSWER'], challenge)
      assert.match(errorIn(refused).message, /sent a text to sign that is not a svc-challenge-v1:/)
    }
    assert.equal(posts, texts.length, 'nothing was sent after the challenge')
  })

  test('does not take an answer about another agent for its own', async (t) => {
    const cli = cliFor(t)
    await cli.run('keygen')
    const at = new Date().toISOString()
    const proof = {
      svcDid: `svc:agent:${'8'.repeat(24)}`,
      kind: 'runtime',
      handleOrDomain: 'home-server',
      verifiedAt: at,
      checkedAt: at,
      freshUntil: at,
      grade: 'A',
    }
    const impostor = await startImpostor(t, async (request, response) => {
      await bodyOf(request)
      const audience = `http://${request.headers.host}`
      const challenge = formatChallenge(namingFor(), { audience, nonce: 'A'.repeat(22) })
      const answer = request.url?.endsWith('challenge') ? { challenge, expiresAt: at } : proof
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    const did = `svc:agent:${'7'.repeat(24)}`
    const refused = await cli.run('runtime', did, '--url', impostor, '--json')
    assert.deepEqual([refused.code, errorIn(refused).code], [1, 'UNEXPECTED_ANSWER'])
    assert.match(errorIn(refused).message, /another agent/)
  })

  test('its help says how to keep it fresh', async (t) => {
    const { stdout } = await cliFor(t).run('runtime', '--help')
    assert.match(stdout, /^ {2}17 4 \* \* 1 {2}countersign runtime$/m)
    assert.match(stdout, /OnCalendar=weekly/)
  })
})
