import assert from 'node:assert/strict'
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { logInfo, untilLogged } from '../../../../test/support/log-client.ts'
import { mintAgents } from '../../../../test/support/many-claims.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { ON_POSTGRES } from '../../../../test/support/postgres.ts'
import { type RawDatabase, withRaw } from '../../../../test/support/raw-database.ts'
import { countersignd, startTestService, tempDir } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { appendFeedChange } from '../../src/agents/changes/feed-change-table.ts'

/** More than a full tile. */
const AGENTS = 300

async function startLogged(t: Parameters<typeof startTestService>[0], elapsed?: () => number) {
  const METRICS_PORT = String(await freePort())
  const service = await startTestService(t, { METRICS_PORT }, Date.now, elapsed)
  await mintAgents(service, AGENTS)
  await untilLogged(service, AGENTS)
  return service
}

/** Flips a bit in the middle of a value; the lowest one, so that text stays text. @returns the statement that undoes it */
async function flip(
  raw: RawDatabase,
  table: string,
  column: string,
  where: string,
): Promise<string> {
  const [row] = await raw.all(`SELECT ${column} AS value FROM ${table} WHERE ${where}`)
  const value = row?.value
  const set = (literal: string) => `UPDATE ${table} SET ${column} = ${literal} WHERE ${where}`
  if (value instanceof Uint8Array) {
    const bytes = Buffer.from(value)
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(flipped.length >> 1) ^ 1, flipped.length >> 1)
    await raw.exec(set(bytesLiteral(flipped)))
    return set(bytesLiteral(bytes))
  }
  const text = String(value)
  if (typeof value === 'number' || /^\d+$/.test(text)) {
    await raw.exec(set(String(Number(text) ^ 1)))
    return set(text)
  }
  const middle = text.length >> 1
  const other = String.fromCharCode(text.charCodeAt(middle) ^ 1)
  const quoted = (each: string) => `'${each.replaceAll("'", "''")}'`
  await raw.exec(set(quoted(text.slice(0, middle) + other + text.slice(middle + 1))))
  return set(quoted(text))
}

function bytesLiteral(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return ON_POSTGRES ? `'\\x${hex}'::bytea` : `x'${hex}'`
}

/** One bit each, and what is said of it. */
const FLIPS: readonly (readonly [string, string, string, RegExp])[] = [
  ['log_entries', 'entry', 'position = 280', /entry 280 /],
  ['log_entries', 'entry', 'position = 3', /entry 3 /],
  ['log_entries', 'tail', 'position = 7', /entry 7 is stored as one about another agent/],
  ['log_entries', 'salt', 'position = 8', /entry 8 has a commitment that/],
  ['log_entries', 'evidence', 'position = 9', /entry 9 has a commitment that/],
  ['log_tiles', 'hashes', 'level = 0 AND position = 0', /entry 128 does not have the hash/],
  ['log_tiles', 'hashes', 'level = 0 AND position = 1', /entry 278 does not have the hash/],
  ['log_tiles', 'hashes', 'level = 1 AND position = 0', /tile 0 of level 1 .* from 0 on/],
  ['log_epochs', 'root', 'epoch = 1', /the root of 300 entries/],
  ['log_epochs', 'size', 'epoch = 1', /entry 300 is missing/],
  ['log_epochs', 'published_root', 'epoch = 1', /the root of the checkpoint of 300 entries/],
  ['log_epochs', 'published_size', 'epoch = 1', /checkpoint/],
  ['log_epochs', 'checkpoint', 'epoch = 1', /the checkpoint of 300 entries is not signed/],
  ['log_epochs', 'public_key', 'epoch = 1', /the checkpoint of 300 entries is not signed/],
  ['feed_changes', 'chain', 'n = 1', /change 1 of the status feed does not have/],
  ['feed_changes', 'value', 'n = 2', /change 2 of the status feed does not have/],
  ['feed_changes', 'list', 'n = 3', /change 3 of the status feed does not have/],
]

test('one flipped bit in the stored log is found by doctor and by backup', async (t) => {
  const service = await startLogged(t)
  const { env, settings, stop } = service
  await service.operator.db.write(async (tx) => {
    for (const idx of [1, 2, 3]) await appendFeedChange(tx, { list: 0, idx, status: 1 }, Date.now())
  })
  await stop()
  const target = join(tempDir(t), 'backup.db')
  const examine = async () => {
    const { stdout, code } = await countersignd(env, 'doctor', '--json')
    const findings: { check: string; verdict: string; detail: string }[] = JSON.parse(stdout)
    return { code, ...findings.find(({ check }) => check === 'stored log') }
  }
  const sound = await examine()
  assert.deepEqual([sound.code, sound.verdict], [0, 'ok'], sound.detail)
  for (const [i, [table, column, where, says]] of FLIPS.entries()) {
    const undo = await withRaw(settings, (raw) => flip(raw, table, column, where))
    const found = await examine()
    assert.deepEqual([found.code, found.verdict], [1, 'fail'], `${table}.${column}`)
    assert.match(found.detail ?? '', says)
    // Both ask the same function: a third of the cases is enough for backup.
    if (!ON_POSTGRES && i % 3 === 0) {
      const saved = await countersignd(env, 'backup', target)
      assert.equal(saved.code, 1, `${table}.${column}`)
      assert.match(saved.stderr, says)
      assert.ok(!existsSync(target) && !existsSync(`${target}.part`))
    }
    await withRaw(settings, (raw) => raw.exec(undo))
  }
  assert.equal((await examine()).verdict, 'ok')
  if (!ON_POSTGRES) assert.equal((await countersignd(env, 'backup', target)).code, 0)

  const key = join(settings.dataDir, 'log-key')
  chmodSync(key, 0o640)
  const { stdout, code } = await countersignd(env, 'doctor')
  assert.equal(code, 0)
  assert.match(stdout, /^warn {2}key files: other users may read log-key: chmod 600$/m)
})

test('what is served is compared with the tree, and halts the log if it differs', async (t) => {
  const cases = [
    ['log_entries', 'entry', 'position = 3', 'tile/entries/000', /tile\/entries\/000 of /],
    ['log_entries', 'entry', 'position = 280', 'tile/entries/001.p/44', /tile\/entries\/001/],
    ['log_tiles', 'hashes', 'level = 0 AND position = 0', 'tile/0/000', /tile\/0\/000 of /],
    ['log_tiles', 'hashes', 'level = 0 AND position = 1', 'tile/0/001.p/44', /tile\/0\/001/],
    ['log_tiles', 'hashes', 'level = 1 AND position = 0', 'tile/0/000', /tile\/0\/000 of /],
  ] as const
  for (const [table, column, where, path, says] of cases) {
    const service = await startLogged(t)
    const get = async () => (await fetch(`${service.url}/log/${path}`)).status
    assert.equal(await get(), 200)
    const undo = await withRaw(service.settings, (raw) => flip(raw, table, column, where))
    assert.equal(await get(), 503, path)
    await untilTicked(service, async () => {
      const { log } = (await (await fetch(`${service.url}/readyz`)).json()) as {
        log: { state: string; problem: string }
      }
      return log.state === 'halted' && says.test(log.problem)
    })
    assert.equal((await fetch(`${service.url}/log/checkpoint`)).status, 503)
    await withRaw(service.settings, (raw) => raw.exec(undo))
    await service.stop()
  }
})

test('a node verifies what is stored once a day, in steps, and its metric shows what it has found', async (t) => {
  let elapsed = 0
  const service = await startLogged(t, () => elapsed + performance.now())
  const metric = async (name: string) => {
    const text = await (await fetch(`http://localhost:${service.env.METRICS_PORT}/metrics`)).text()
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (.*)$`, 'm').exec(text)?.[1])
  }
  assert.equal((await logInfo(service.url)).size, AGENTS)
  elapsed += 61_000
  await untilTicked(service, async () => (await metric('countersign_log_check_age_seconds')) < 60)
  assert.equal(await metric('countersign_log_damaged'), 0)
  await withRaw(service.settings, (raw) => flip(raw, 'log_entries', 'entry', 'position = 3'))
  elapsed += 86_400_000
  await untilTicked(service, async () => (await metric('countersign_log_damaged')) === 1)
})
