import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import {
  certificatePath,
  decodeJws,
  KEY_SET,
} from '../../../../../test/support/agent-certificates.ts'
import { claimAgent, countersignd } from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { IssuerKeyRing } from '../../../src/secrets/issuer-keys/issuer-keys.ts'
import {
  asTestService,
  byWorker,
  getOverNewConnection,
  startWithWorkers,
  untilAllAnswer,
  type WorkerService,
} from './worker-service.ts'

const WORKERS = 2
/** Connections at a time: enough that all workers get some. */
const CONNECTIONS = 8 * WORKERS
const TEN_MINUTES = 10 * 60_000

/** Asks over new connections, which reach all workers. Every answer must be a success. */
async function askAll({ url }: WorkerService, path: string): Promise<string[]> {
  const asked = Array.from({ length: CONNECTIONS }, () => getOverNewConnection(url + path))
  const answers = await Promise.all(asked)
  for (const { status, text } of answers) assert.equal(status, 200, text)
  return answers.map(({ text }) => text)
}

const kidsOf = (set: string) =>
  (JSON.parse(set) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)

test('all workers publish a new issuer key, then sign with it; a compromised one leaves all of them at once', async (t) => {
  const service = await startWithWorkers(t, WORKERS)
  await untilAllAnswer(service, WORKERS)
  const site = asTestService(service)
  const did = await claimAgent(site, await service.operator.addVerifiedOwner())
  const certificates = () => askAll(service, certificatePath(did))
  const kids = async () => new Set((await certificates()).map((each) => decodeJws(each).header.kid))
  const sets = () => askAll(service, KEY_SET)
  const assertVerified = async () => {
    // Verifiers use a key set that is older than the certificate.
    const published = new Set(await sets())
    for (const certificate of new Set(await certificates())) {
      for (const set of published) {
        const keys = createLocalJWKSet(JSON.parse(set) as JSONWebKeySet)
        await jwtVerify(certificate, keys, { issuer: service.url })
      }
    }
  }
  await until(async () => (await kids()).size === 1)
  const [first = ''] = await kids()

  const rotate = async (...options: string[]) => {
    const { code, stdout, stderr } = await countersignd(
      service.env,
      ...['issuer-key', 'rotate', '--json', ...options],
    )
    assert.equal(code, 0, stderr)
    const { id } = JSON.parse(stdout) as { id: string }
    return id
  }
  const listed = async (id: string) => {
    const { stdout } = await countersignd(service.env, 'issuer-key', 'list', '--json')
    const keys = JSON.parse(stdout) as { id: string; kids: string[]; state: string }[]
    return keys.find((each) => each.id === id) ?? assert.fail('no such key')
  }
  const second = await rotate()
  const { kids: next } = await listed(second)
  await until(async () =>
    (await sets()).every((set) => next.every((kid) => kidsOf(set).includes(kid))),
  )
  assert.deepEqual(await kids(), new Set([first]), 'verifiers may not know the new key yet')

  // Ten minutes pass for a process that takes part in the rotation.
  let ahead = 0
  const ring = await IssuerKeyRing.open({
    db: service.operator.db,
    folders: service.settings,
    certificateLifetimeMs: service.settings.certificateLifetimeMs,
    now: () => Date.now() + ahead,
    elapsed: () => performance.now() + ahead,
  })
  ahead = TEN_MINUTES + 1000
  await ring.refresh()
  assert.equal((await listed(second)).state, 'active')
  await until(async () => {
    await assertVerified()
    return [...(await kids())].every((kid) => next.includes(String(kid)))
  })
  for (const set of await sets())
    assert.ok(kidsOf(set).includes(first), 'for certificates until now')
  const byRoute = byWorker(
    await service.metrics(),
    'http_request_duration_seconds_count',
    `route="${KEY_SET}"`,
  )
  assert.equal(byRoute.size, WORKERS)

  const third = await rotate('--compromised')
  const { kids: last } = await listed(third)
  await until(async () =>
    (await sets()).every((set) => kidsOf(set).toSorted().join() === last.toSorted().join()),
  )
  await until(async () => [...(await kids())].every((kid) => last.includes(String(kid))))
  await assertVerified()
  const { list, head } = await readAll(service, (await certificates())[0] as string)
  for (const token of [...list, ...head])
    assert.ok(last.includes(decodeJws(token).header.kid ?? ''))
})

/** The status list of a certificate, and heads of the feed, from all workers. */
async function readAll(service: WorkerService, certificate: string) {
  const { uri } = decodeJws(certificate).claims.status.status_list
  const feeds = await askAll(service, '/api/v1/feed')
  return {
    list: await askAll(service, new URL(uri).pathname),
    head: feeds.map((feed) => JSON.parse(feed.trimEnd().split('\n').at(-1) ?? '').head as string),
  }
}
