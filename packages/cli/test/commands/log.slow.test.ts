import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatVerifierKey } from '@countersign/protocol'
import { startSite } from '../../../../test/support/impostor.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { signInBy } from '../../../../test/support/sign-in-by.ts'
import { policyFile, startTestWitness } from '../../../../test/support/test-witness.ts'
import { type Cli, certifiedCli, cliFor, errorIn } from '../support/cli.ts'

/** A service with a log of agents that were claimed. */
async function startLogged(t: Cleanup, agents: number) {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  for (let i = 0; i < agents; i++) await claimAgent(service, owner)
  await untilLogged(service, agents)
  return { service, owner }
}

/** A mirror of a log, which the test can change: the body of each file passes through `change`. */
async function startMirror(t: Cleanup, { url }: TestService) {
  const mirror = {
    from: url,
    url: '',
    change: (_path: string, body: Buffer): Buffer => body,
  }
  mirror.url = await startSite(t, async (request, response) => {
    const path = request.url ?? ''
    const answer = await fetch(mirror.from + path)
    const body = Buffer.from(await answer.arrayBuffer())
    response.writeHead(answer.status).end(mirror.change(path, body))
  })
  return mirror
}

function evidenceIn(cli: Cli): string[] {
  const directory = join(cli.home, '.countersign', 'log')
  return readdirSync(directory).filter((name) => name.includes('.evidence-'))
}

async function assertFault(cli: Cli, log: string, code: string): Promise<void> {
  const refused = await cli.run('log', 'verify', '--json', '--log', `${log}/log`)
  assert.deepEqual([refused.code, errorIn(refused).code], [4, code], refused.stderr)
  const kept = evidenceIn(cli)
  assert.equal(kept.length, 1)
  const evidence = readFileSync(join(cli.home, '.countersign', 'log', kept[0] as string), 'utf8')
  assert.equal(JSON.parse(evidence).code, code)
}

test('log verify checks the whole log, then what is new, with the key of the first run', async (t) => {
  const { service, owner } = await startLogged(t, 3)
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const first = await cli.run('log', 'verify')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^The log localhost:\d+\/log\/\d+ is verified: 3 entries\n/)
  assert.match(first.stderr, /No key of the log was given \(--log-key\)/)
  assert.equal((await cli.json<{ entries: number }>('log', 'verify')).entries, 0)

  for (let i = 0; i < 300; i++) await claimAgent(service, owner)
  await untilLogged(service, 303)
  const later = await cli.json<{ entries: number; size: number; keyOrigin: string }>(
    'log',
    'verify',
  )
  assert.deepEqual([later.entries, later.size, later.keyOrigin], [300, 303, 'pinned'])
  const all = await cli.json<{ entries: number; verifierKey: string }>('log', 'verify', '--all')
  assert.equal(all.entries, 303)

  const other = cliFor(t, { COUNTERSIGN_URL: service.url })
  const given = await other.run('log', 'verify', '--log-key', all.verifierKey)
  assert.deepEqual([given.code, given.stderr], [0, ''])
})

test('a rewritten entry is found', async (t) => {
  const { service } = await startLogged(t, 3)
  const mirror = await startMirror(t, service)
  const control = cliFor(t, { COUNTERSIGN_URL: service.url })
  const { code, stderr } = await control.run('log', 'verify', '--log', `${mirror.url}/log`)
  assert.equal(code, 0, stderr)
  mirror.change = (path, body) => {
    // A digit of the time of the first entry.
    const at = body.indexOf('"at":') + 8
    if (path.startsWith('/log/tile/entries/')) body[at] = (body[at] as number) ^ 1
    return body
  }
  await assertFault(cliFor(t, { COUNTERSIGN_URL: service.url }), mirror.url, 'LOG_REWRITTEN')
})

test('an older checkpoint, another history under the same key, and another key are found', async (t) => {
  const { service, owner } = await startLogged(t, 3)
  const mirror = await startMirror(t, service)
  const verified = async () => {
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const { code, stderr } = await cli.run('log', 'verify', '--log', `${mirror.url}/log`)
    assert.equal(code, 0, stderr)
    return cli
  }
  const old = Buffer.from(await (await fetch(`${service.url}/log/checkpoint`)).arrayBuffer())
  await claimAgent(service, owner)
  await untilLogged(service, 4)
  const rolledBack = await verified()
  mirror.change = (path, body) => (path === '/log/checkpoint' ? old : body)
  await assertFault(rolledBack, mirror.url, 'LOG_ROLLED_BACK')

  mirror.change = (_, body) => body
  const [forked, replaced] = [await verified(), await verified()]
  // The operator signs another history: the same address and keys, and another database.
  const DATA_DIR = tempDir(t)
  for (const file of readdirSync(service.settings.dataDir)) {
    if (!/\.db|log-head/.test(file) && /-key|pepper/.test(file))
      copyFileSync(join(service.settings.dataDir, file), join(DATA_DIR, file))
  }
  const fork = await startTestService(t, { DATA_DIR, BASE_URL: service.url })
  const somebody = await fork.operator.addVerifiedOwner()
  for (let i = 0; i < 6; i++) await claimAgent(fork, somebody)
  await untilLogged(fork, 6)
  mirror.from = fork.url
  await assertFault(forked, mirror.url, 'LOG_FORKED')

  const { service: stranger } = await startLogged(t, 5)
  mirror.from = stranger.url
  await assertFault(replaced, mirror.url, 'LOG_REPLACED')
})

test('a checkpoint without the cosignatures of the policy is refused', async (t) => {
  const { service } = await startLogged(t, 1)
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const { verifierKey } = await cli.json<{ verifierKey: string }>('log', 'verify')
  const none = `log ${verifierKey}\nquorum none\n`
  writeFileSync(join(cli.home, 'policy.txt'), none)
  const accepted = await cli.run('log', 'verify', '--policy', 'policy.txt')
  assert.equal(accepted.code, 0, accepted.stderr)
  const { publicKey } = generateKeyPairSync('ed25519')
  const key = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)
  const witness = formatVerifierKey({
    name: 'witness.example',
    type: 'cosignature',
    publicKey: key,
  })
  const required = none.replace('quorum none', `witness w ${witness}\nquorum w`)
  writeFileSync(join(cli.home, 'policy.txt'), required)
  const refused = await cli.run('log', 'verify', '--policy', 'policy.txt', '--json')
  assert.deepEqual([refused.code, errorIn(refused).code], [4, 'LOG_NOT_WITNESSED'])
})

test('a witnessed log has the cosignatures of a policy, unless the policy requires more', async (t) => {
  const [a, b] = [await startTestWitness(t, 'a'), await startTestWitness(t, 'b')]
  const WITNESSES = policyFile(t, `${a.line}quorum a\n`)
  const service = await startTestService(t, { WITNESSES })
  await untilLogged(service, 0)
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const { verifierKey } = await cli.json<{ verifierKey: string }>('log', 'verify')
  const verify = (lines: string) => {
    writeFileSync(join(cli.home, 'policy.txt'), `log ${verifierKey}\n${lines}`)
    return cli.run('log', 'verify', '--policy', 'policy.txt', '--json')
  }
  const accepted = await verify(`${a.line}${b.line}group g any a b\nquorum g\n`)
  assert.equal(accepted.code, 0, accepted.stderr)
  const refused = await verify(`${a.line}${b.line}group g all a b\nquorum g\n`)
  assert.deepEqual([refused.code, errorIn(refused).code], [4, 'LOG_NOT_WITNESSED'])
})

test('log watch alerts about a recovery that the agent has not signed, and not about its own rotation', async (t) => {
  const { service, owner } = await startLogged(t, 1)
  const account = await signInBy(service, owner, Date.now)
  const cli = await certifiedCli(t, service, owner)
  const alerts: { type: string; did: string; entry: { type: string } }[] = []
  let status = 204
  const webhook = await startSite(t, async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    if (status < 300) alerts.push(JSON.parse(Buffer.concat(parts).toString()))
    response.writeHead(status).end()
  })
  const watch = () => cli.run('log', 'watch', '--once', '--did', cli.did, '--webhook', webhook)
  await untilLogged(service, 2)
  const quiet = await watch()
  assert.equal(quiet.code, 0, quiet.stderr)
  const rotated = await cli.run('rotate')
  assert.equal(rotated.code, 0, rotated.stderr)
  await untilLogged(service, 3)
  const stillQuiet = await watch()
  assert.deepEqual([stillQuiet.code, alerts], [0, []], stillQuiet.stderr)

  const path = `/api/account/agents/${cli.did}/recovery`
  const started = await account.post(path, { reason: 'key_lost' })
  assert.ok(started.status < 300, started.text)
  await untilLogged(service, 4)
  status = 500
  assert.equal((await watch()).code, 5, 'the webhook does not accept it')
  status = 204
  assert.equal((await watch()).code, 4, 'it is sent again')
  const [alert, ...more] = alerts
  assert.deepEqual(
    [alert?.type, alert?.did, alert?.entry.type, more],
    ['agent.unexpected_entry', cli.did, 'key_recovery_started', []],
  )
  assert.equal((await watch()).code, 0, 'it is sent once')
})
