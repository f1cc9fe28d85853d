import assert from 'node:assert/strict'
import { chmodSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { offlineLines } from '../bench/measure-offline.ts'
import type { Report } from '../bench/report.ts'
import { SCENARIO_NAMES, SCENARIOS } from '../bench/scenarios.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { ROOT, run, tempDir } from './support/service.ts'
import { needs } from './support/tools.ts'

/** What other tests of this file measure; the first takes all the others. */
const ELSEWHERE = /^(?:gateway|proof|workers|nodes)-/
const MEASURED = SCENARIO_NAMES.filter((name) => !ELSEWHERE.test(name))
/** Of all tests, so that the same seeds are made once. PostgreSQL runs as another user, which must be able to enter it. */
const dir = tempDir(fileCleanup())
chmodSync(dir, 0o711)

/** The smallest possible measurement. */
const BRIEFLY = ['--agents', '200', '--seconds', '1', '--rounds', '1', '--json']

test('the bench measures three systems without an error, prints JSON alone, and cleans up', async () => {
  const only = ['--only', [...MEASURED, 'footprint'].join(',')]
  const { code, stdout, stderr } = await bench(...BRIEFLY, ...only)
  assert.equal(code, 0, stderr)
  const { options, measurements, footprint, machine, errors }: Report = JSON.parse(stdout)
  assert.deepEqual(options, {
    agents: 200,
    seconds: 1,
    rounds: 1,
    connections: 64,
    claimConnections: 128,
  })
  assert.equal(errors, 0)
  assert.match(machine.generator, /^(wrk|autocannon)$/)
  assert.deepEqual(
    measurements.map(({ name }) => name),
    MEASURED,
  )
  for (const { name, perSecond, ratioToCeiling, ratioToNaive, rounds } of measurements) {
    assert.equal(rounds.length, 1)
    assert.ok(perSecond.countersign && perSecond.countersign > 0)
    const { kind } = SCENARIOS[name as keyof typeof SCENARIOS]
    assert.equal(ratioToNaive === null, kind === 'transaction' || kind === 'issue', name)
    assert.equal(ratioToCeiling === null, kind === 'transaction', name)
  }
  assert.ok(footprint && footprint.startUp.readyMs > 0)
  assertNothingButSeeds()
})

test('the bench compares with the service of another checkout', async () => {
  const names = ['lookup', 'verify', 'claim']
  const only = ['--before', ROOT, '--only', [...names, 'footprint'].join(',')]
  const { code, stdout, stderr } = await bench(...BRIEFLY, ...only)
  assert.equal(code, 0, stderr)
  const { measurements, footprint }: Report = JSON.parse(stdout)
  assert.deepEqual(
    measurements.map(({ name }) => name),
    names,
  )
  for (const { perSecond, ratioToBefore, rounds } of measurements) {
    const [{ countersign, before } = {}] = rounds
    assert.ok(countersign && before)
    assert.equal(perSecond.before, before.perSecond)
    assert.equal(ratioToBefore, countersign.perSecond / before.perSecond)
  }
  const before = footprint?.before
  assert.ok(before && before.startUp.readyMs > 0)
  assert.ok(before.memory.atRest && before.memory.afterLoad)
  assertNothingButSeeds()
})

test('the bench measures on a durable PostgreSQL', async () => {
  const names = ['claim', 'claim-transaction']
  const only = ['--database', 'postgres', '--only', [...names, 'footprint'].join(',')]
  const { code, stdout, stderr } = await bench(...BRIEFLY, ...only)
  assert.equal(code, 0, stderr)
  const { database, measurements, footprint }: Report = JSON.parse(stdout)
  assert.match(database, /^PostgreSQL .*fsync = on.*synchronous_commit = on/)
  assert.deepEqual(
    measurements.map(({ name }) => name),
    names,
  )
  for (const { name, perSecond, aims } of measurements) {
    assert.ok(perSecond.countersign && perSecond.countersign > 0)
    assert.equal(aims[0]?.atLeast, name === 'claim' ? 0.8 : 20_000, name)
  }
  assert.ok(footprint && footprint.startUp.readyMs > 0)
  assertNothingButSeeds()
})

test('the bench compares two nodes on one PostgreSQL with one, and measures how soon they refuse', async () => {
  const names = ['nodes-lookup', 'nodes-verify']
  const several = ['--database', 'postgres', '--nodes', '2', '--revocations', '3']
  const only = ['--only', [...names, 'revocation'].join(',')]
  const { code, stdout, stderr } = await bench(...BRIEFLY, ...several, ...only)
  assert.equal(code, 0, stderr)
  assertSeveral(JSON.parse(stdout), names, 'nodes')
  assertNothingButSeeds()
})

test('the bench compares two workers with one process', async () => {
  const names = ['workers-lookup', 'workers-verify']
  const several = ['--workers', '2', '--revocations', '3']
  const only = ['--only', [...names, 'revocation'].join(',')]
  const { code, stdout, stderr } = await bench(...BRIEFLY, ...several, ...only)
  assert.equal(code, 0, stderr)
  assertSeveral(JSON.parse(stdout), names, 'workers')
})

test('the bench measures decisions by certificates, and how soon gateways refuse', async () => {
  const { code, stdout, stderr } = await bench(
    ...BRIEFLY,
    '--only',
    'offline',
    '--revocations',
    '3',
  )
  assert.equal(code, 0, stderr)
  const { offline }: Report = JSON.parse(stdout)
  assert.ok(offline)
  assert.deepEqual(
    offline.arrivals.map(({ gateways, way, count }) => [gateways, way, count]),
    [
      [1, 'stream', 3],
      [100, 'stream', 3],
      [1, 'poll', 1],
      [100, 'poll', 1],
    ],
  )
  for (const { times } of offline.arrivals) assert.ok(times.p50 > 0 && times.longest >= times.p99)
  const { decision, request, verification } = offline
  assert.ok(decision > 0 && request > 0 && verification > 0)
  const text = offlineLines(offline)
  assert.match(
    text[1] ?? '',
    /^revocation to refusal through the feed \(stream\), the last of 100 gateways: p50 /,
  )
  assertNothingButSeeds()
})

test(
  'the bench counts what followers behind a cache ask of the service',
  needs('nginx'),
  async () => {
    const few = ['--only', 'followers', '--followers', '100', '--revocations', '1']
    const { code, stdout, stderr } = await bench(...BRIEFLY, ...few)
    assert.equal(code, 0, stderr)
    const { followers }: Report = JSON.parse(stdout)
    assert.deepEqual(
      followers?.map((each) => each.followers),
      [100],
    )
    for (const { sentPerSecond, servedPerSecond, revocations, burst } of followers ?? []) {
      assert.ok(servedPerSecond < sentPerSecond && revocations.p50 > 0)
      assert.ok(burst.served > 0 && burst.served < burst.changes)
    }
  },
)

test('the bench compares a site with the gateway to the same site without it', async () => {
  const names = ['gateway-express', 'gateway-fastify', 'gateway-uncached']
  const { code, stdout, stderr } = await bench(...BRIEFLY, '--only', names.join(','))
  assert.equal(code, 0, stderr)
  const { measurements, errors }: Report = JSON.parse(stdout)
  assert.equal(errors, 0)
  assert.deepEqual(
    measurements.map(({ name }) => name),
    names,
  )
  for (const { name, perSecond, ratioToCeiling } of measurements) {
    assert.ok(perSecond.countersign && perSecond.countersign > 0)
    assert.equal(ratioToCeiling === null, name === 'gateway-uncached')
  }
})

test('the bench measures signed requests beside sites that only verify, and the memory of nonces', async () => {
  const fewer = ['--connections', '4', '--only', 'proof']
  const { code, stdout, stderr } = await bench(...BRIEFLY, ...fewer)
  assert.equal(code, 0, stderr)
  const { measurements, nonces, errors }: Report = JSON.parse(stdout)
  assert.equal(errors, 0)
  assert.deepEqual(
    measurements.map(({ name, ratioToCeiling, ratioToNaive }) => [
      name,
      ratioToCeiling !== null,
      ratioToNaive !== null,
    ]),
    [
      ['proof-express', true, true],
      ['proof-express-sodium', true, true],
      ['proof-fastify', true, true],
      ['proof-fastify-sodium', true, true],
      ['proof-command', false, false],
      ['proof-command-unsigned', false, false],
    ],
  )
  for (const { perSecond } of measurements) assert.ok(perSecond.countersign)
  assert.equal(nonces?.entries, 200_000)
})

test('the bench measures operations on keys, how soon a replaced key is refused, and its memory', async () => {
  const { code, stdout, stderr } = await bench(...BRIEFLY, '--only', 'keys')
  assert.equal(code, 0, stderr)
  const { keys }: Report = JSON.parse(stdout)
  assert.ok(keys)
  assert.deepEqual(
    keys.rates.map(({ operation, count }) => [operation, count]),
    [
      ['claim', 500],
      ['rotation', 500],
      ['recovery', 500],
    ],
  )
  for (const { perSecond } of keys.rates) assert.ok(perSecond > 0)
  const { by, rotations, times } = keys.refusal
  assert.deepEqual([by, rotations], ['workers', 100])
  assert.ok(times.p50 <= times.p99 && times.p99 <= times.longest)
  assert.ok(keys.memory.replaced > 0)
  assertNothingButSeeds()
})

test('the bench prints its options and refuses unknown ones', async () => {
  const help = await bench('--help')
  assert.equal(help.code, 0)
  assert.match(help.stdout, /--agents N/)
  for (const mistake of MISTAKES) {
    const { code, stdout } = await bench(...mistake)
    assert.equal(code, 2)
    assert.equal(stdout, '')
  }
})

const MISTAKES = [
  ['--agents', 'many'],
  ['--only', 'everything'],
  ['--swift'],
  ['--database', 'paper'],
  // Not a checkout.
  ['--before', tmpdir()],
  // One process at a time serves a file.
  ['--nodes', '2'],
]

function assertSeveral(report: Report, names: readonly string[], by: 'nodes' | 'workers'): void {
  const { measurements, revocations } = report
  assert.deepEqual(
    measurements.map(({ name, title }) => [name, title.endsWith(`2 ${by}`)]),
    names.map((name) => [name, true]),
  )
  for (const { ratioToOne } of measurements) assert.ok(ratioToOne && ratioToOne > 0)
  assert.deepEqual(
    revocations.map(({ underLoad }) => underLoad),
    [false, true],
  )
  for (const each of revocations) {
    assert.deepEqual([each.by, each.processes, each.count], [by, 2, 3])
    assert.ok(each.sinceAsked.longest >= each.sinceAsked.p50)
    assert.ok(each.sinceAsked.longest >= each.sinceAnswered.longest)
  }
}

function assertNothingButSeeds(): void {
  assert.deepEqual(
    readdirSync(dir).filter((name) => !/^countersign-bench-seed-(?!.*draft)/.test(name)),
    [],
  )
}

function bench(...args: string[]) {
  return run(process.execPath, [join(ROOT, 'bench/main.ts'), ...args], { TMPDIR: dir })
}
