import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { prepareClaims } from '../support/many-claims.ts'
import { fileOf } from '../support/raw-database.ts'
import {
  type ClaimBody,
  COUNTERSIGND,
  countersignd,
  openOperator,
  startServiceProcess,
  tempDir,
  testEnv,
} from '../support/service.ts'
import { findLostClaims, statusesOf } from './support/acknowledged-claims.ts'
import { claimAll, formatFailures, type Tally } from './support/claim-load.ts'
import { report } from './support/report.ts'
import { checkpoint, damage, listPages, type Page, quickCheck } from './support/sqlite-pages.ts'
import { formatPercentiles } from './support/times.ts'

const CLAIMS = 2000
/** The remaining tokens are claimed while pages are being damaged. */
const BEFORE = 1800
/** Smaller than the number of agents, so that lookups read the database. */
const IN_MEMORY = '100'

/** The number of pages that are damaged to count how many are detected. */
const SAMPLE = 100

type Change = (bytes: Buffer) => void

const DAMAGES = {
  'garbage all over': (bytes: Buffer) => void randomBytes(bytes.length).copy(bytes),
  zeros: (bytes: Buffer) => void bytes.fill(0),
  'half of it zeros': (bytes: Buffer) => void bytes.fill(0, bytes.length / 2),
  'its first byte flipped': (bytes: Buffer) => void bytes.writeUInt8(bytes.readUInt8(0) ^ 0xff, 0),
}

/**
 * SQLite has no checksums, so it detects damage after the first bytes of a page only by a check of the whole file.
 */
const WHOLE_PAGES: readonly Change[] = [
  DAMAGES['garbage all over'],
  DAMAGES['its first byte flipped'],
  DAMAGES.zeros,
]

interface Scene {
  readonly env: Record<string, string>
  readonly file: string
  readonly backup: string
  readonly tally: Tally
  /** Unused tokens. */
  readonly unused: ClaimBody[]
}

/** A database file with agents and a backup of it, without a running service. */
async function startScene(t: TestContext): Promise<Scene> {
  const env = await testEnv(t, { READ_MODEL_AGENTS: IN_MEMORY })
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  const claims = await prepareClaims(operator, CLAIMS)
  await operator.close()
  const service = await startServiceProcess(t, env)
  const tally = await claimAll(() => service.url, claims.slice(0, BEFORE), {
    inFlight: 32,
    againAfter: null,
  })
  assert.equal(tally.acknowledged.size, BEFORE)
  const backup = join(tempDir(t), 'backup.db')
  assert.equal((await countersignd(env, 'backup', backup)).code, 0)
  assert.equal(await service.stop('SIGTERM'), 0)
  assert.equal(existsSync(`${fileOf(settings)}-wal`), false, 'the file is whole after a clean stop')
  return { env, file: fileOf(settings), backup, tally, unused: claims.slice(BEFORE) }
}

test('a service refuses to start with a damaged page, and starts with a restored backup', async (t) => {
  const { env, file, backup, tally } = await startScene(t)
  const pages = listPages(file)
  const page = (of: string, kind: Page['kind']) =>
    pages.find((each) => each.of === of && each.kind === kind) as Page
  const agents = page('agents', 'leaf')
  const cases: readonly (readonly [Page, keyof typeof DAMAGES])[] = [
    [page('sqlite_schema', 'internal'), 'garbage all over'],
    [page('agents', 'internal'), 'garbage all over'],
    [page('sqlite_autoindex_agents_1', 'leaf'), 'garbage all over'],
    [page('events', 'leaf'), 'garbage all over'],
    [page('claim_tokens', 'leaf'), 'garbage all over'],
    ...Object.keys(DAMAGES).map((kind) => [agents, kind as keyof typeof DAMAGES] as const),
  ]
  const times: number[] = []
  for (const [{ number, of, kind }, how] of cases) {
    copyFileSync(backup, file)
    damage(file, number, DAMAGES[how])
    const began = performance.now()
    const { code, stderr } = await serveToTheEnd(t, env)
    times.push(performance.now() - began)
    assert.equal(code, 1, `${of}, ${kind}, ${how}`)
    assert.match(stderr, /^countersignd: The database file is damaged: .+ countersignd restore/)
    t.diagnostic(`${how} in ${of}, ${kind}: ${stderr.trim().split('\n')[0]}`)
  }
  const restored = await countersignd(env, 'restore', backup)
  assert.equal(restored.code, 0, restored.stderr)
  const again = await startServiceProcess(t, env)
  assert.deepEqual(await findLostClaims(again, tally), [])
  report(t, {
    acknowledged: tally.acknowledged.size,
    'refused to start': `${cases.length} of ${cases.length} times`,
    'found after the backup was restored': tally.acknowledged.size,
    'from start to refusal': formatPercentiles(times),
    'pages that quick_check recognizes': recognized(file, backup, pages),
  })
})

test('pages damaged under a running service cause 503, never 404 or a wrong answer', async (t) => {
  const { env, file, backup, tally, unused } = await startScene(t)
  const service = await startServiceProcess(t, env)
  checkpoint(file)
  const pages = listPages(file).filter(
    ({ of, kind }) => kind === 'leaf' && /^(agents|sqlite_autoindex_agents_1)$/.test(of),
  )
  for (const [i, { number }] of pages.entries()) {
    if (i % 2 === 0) damage(file, number, WHOLE_PAGES[i % WHOLE_PAGES.length] as Change)
  }
  const said = Map.groupBy(await statusesOf(service, tally), ([, each]) => each)
  const claims = await claimAll(() => service.url, unused, { inFlight: 8, againAfter: null })
  await service.stop('SIGTERM')
  const { code } = await serveToTheEnd(t, env)
  const restored = await countersignd(env, 'restore', backup)
  assert.equal(restored.code, 0, restored.stderr)
  const lost = await findLostClaims(await startServiceProcess(t, env), tally)
  report(t, {
    acknowledged: tally.acknowledged.size,
    'pages damaged': `${Math.ceil(pages.length / 2)} of ${pages.length} of agents and their index`,
    'looked up meanwhile': [...said].map(([what, { length }]) => `${what} ${length}`).join(', '),
    'claimed meanwhile': `${claims.acknowledged.size}, refused: ${formatFailures(claims)}`,
    'found after the backup was restored': tally.acknowledged.size - lost.length,
  })
  assert.deepEqual([...said.keys()].toSorted(), ['503 UNAVAILABLE', 'found'])
  assert.ok([...claims.failures.keys()].every((each) => each === '503 UNAVAILABLE'))
  assert.equal(code, 1, 'it does not start again')
  assert.deepEqual(lost, [])
})

/**
 * Damages random pages one at a time.
 * @returns how many of them quick_check detects, as text
 */
function recognized(file: string, good: string, pages: readonly Page[]): string {
  const share = (change: Change) => {
    const seen = Array.from({ length: SAMPLE }, () => {
      copyFileSync(good, file)
      damage(file, (pages[randomInt(pages.length)] as Page).number, change)
      return quickCheck(file) === 'ok' ? 0 : 1
    })
    return seen.reduce((sum: number, each) => sum + each, 0)
  }
  const whole = share(DAMAGES['garbage all over'])
  assert.equal(whole, SAMPLE)
  // Without checksums, a flipped bit inside a row is not detectable.
  const bit = share((bytes) => {
    const at = randomInt(bytes.length)
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << randomInt(8)), at)
  })
  return `${whole} of ${SAMPLE} full of garbage, ${bit} of ${SAMPLE} with one bit flipped`
}

/** Runs `countersignd serve` and expects it to exit. */
async function serveToTheEnd(t: TestContext, env: Record<string, string>) {
  const child = spawn(process.execPath, [COUNTERSIGND, 'serve'], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const late = setTimeout(() => child.kill('SIGKILL'), 30_000)
  const [code] = await once(child, 'close')
  clearTimeout(late)
  return { code: code as number | null, stderr }
}
