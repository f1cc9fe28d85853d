import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildGo } from '../../../../test/support/go.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { logInfo, logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { mintAgents } from '../../../../test/support/many-claims.ts'
import { BASE_ENV, run } from '../../../../test/support/run.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { until } from '../../../../test/support/until.ts'
import { COUNTERSIGN, cliFor, errorIn } from '../support/cli.ts'

async function startLogged(t: Cleanup, agents: number) {
  const service = await startTestService(t)
  await addAgents(service, agents)
  return service
}

/** Adds agents, and waits until the log has so many entries in all. */
async function addAgents(service: TestService, count: number, size = count): Promise<void> {
  await mintAgents(service, count)
  await untilLogged(service, size)
}

/** Serves a folder as any web server would. @returns the address of the log in it */
async function serve(t: Cleanup, dir: string): Promise<string> {
  const url = await startSite(t, (request, response) => {
    const path = join(dir, (request.url ?? '').replace('/log/', ''))
    if (!existsSync(path) || !statSync(path).isFile()) return void response.writeHead(404).end()
    response.writeHead(200).end(readFileSync(path))
  })
  return `${url}/log`
}

/** A proxy before a log, which the test can point elsewhere. */
async function startProxy(t: Cleanup, from: string) {
  /** `refused`: counts the requests while it is `away`. */
  const proxy = { from, url: '', isAway: false, refused: 0 }
  proxy.url = await startSite(t, async (request, response) => {
    if (proxy.isAway) {
      proxy.refused += 1
      return void response.writeHead(proxy.refused % 2 === 0 ? 502 : 404).end()
    }
    const answer = await fetch(proxy.from + request.url)
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()))
  })
  return proxy
}

function sizeOf(dir: string): number {
  return Number(readFileSync(join(dir, 'checkpoint'), 'utf8').split('\n')[1])
}

/** All files of a mirror but the state, with their contents. */
function filesOf(dir: string): Map<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  const files = names.filter(
    (each) => !each.startsWith('.state') && statSync(join(dir, each)).isFile(),
  )
  return new Map(files.map((each) => [each, readFileSync(join(dir, each), 'latin1')]))
}

test(
  'a mirror follows the log, and anybody can verify it: our reader, the command and Go',
  needs('go', 'golang.org/x/mod'),
  async (t) => {
    const service = await startLogged(t, 300)
    const dir = join(tempDir(t), 'log')
    const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
    const { verifierKey } = await logInfo(service.url)
    const mirror = () =>
      cli.json<{ entries: number }>('log', 'mirror', '--to', dir, '--log-key', verifierKey)
    assert.equal((await mirror()).entries, 300)
    const early = join(tempDir(t), 'early')
    copyFileSync(join(dir, 'checkpoint'), early)
    assert.equal((await mirror()).entries, 0)
    await addAgents(service, 250, 550)
    assert.equal((await mirror()).entries, 250)

    const url = await serve(t, dir)
    const key = await logKey(service.url)
    const copy = await readLog(url, key)
    const original = await readLog(`${service.url}/log`, key)
    assert.deepEqual(copy.raw, original.raw)
    assert.equal(copy.signed, original.signed)
    const go = await run(await buildGo(t, 'log-verify'), [url, verifierKey, early])
    assert.equal(go.code, 0, go.stderr)
    assert.match(go.stdout, /^consistent with 300 entries\nverified 550 entries, root /)
    const checked = await cli.run('log', 'verify', '--log', url, '--log-key', verifierKey)
    assert.equal(checked.code, 0, checked.stderr)
    // Web servers of other users read it, and partial tiles that are full by now are gone.
    assert.equal(statSync(join(dir, 'tile/0/001')).mode & 0o044, 0o044)
    assert.ok(
      !existsSync(join(dir, 'tile/0/001.p')) && !existsSync(join(dir, 'tile/entries/001.p')),
    )

    // A mirror of the mirror is the same.
    const second = join(tempDir(t), 'log')
    await cli.json('log', 'mirror', '--to', second, '--from', url, '--log-key', verifierKey)
    assert.deepEqual(filesOf(second).get('checkpoint'), filesOf(dir).get('checkpoint'))
    assert.equal((await readLog(await serve(t, second), key)).size, 550)
  },
)

test('a smaller log and another history are refused, with evidence, and the copy stays as it is', async (t) => {
  const service = await startLogged(t, 3)
  const dir = join(tempDir(t), 'log')
  const proxy = await startProxy(t, service.url)
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const mirror = () => cli.run('log', 'mirror', '--to', dir, '--from', `${proxy.url}/log`, '--json')
  assert.equal((await mirror()).code, 0)
  const before = filesOf(dir)
  // The operator signs other histories: the same address and keys, and another database.
  const fork = async (entries: number) => {
    const DATA_DIR = tempDir(t)
    for (const file of readdirSync(service.settings.dataDir)) {
      if (!/\.db|log-head/.test(file) && /-key|pepper/.test(file))
        copyFileSync(join(service.settings.dataDir, file), join(DATA_DIR, file))
    }
    const other = await startTestService(t, { DATA_DIR, BASE_URL: service.url })
    await addAgents(other, entries)
    return other.url
  }
  const cases = [
    [await fork(2), 'LOG_ROLLED_BACK'],
    [await fork(6), 'LOG_FORKED'],
    [(await startLogged(t, 5)).url, 'LOG_REPLACED'],
  ] as const
  for (const [url, code] of cases) {
    proxy.from = url
    const refused = await mirror()
    assert.deepEqual([refused.code, errorIn(refused).code], [4, code], refused.stderr)
    assert.deepEqual(filesOf(dir), before)
    const kept = readdirSync(join(dir, '.state')).filter((name) => name.includes('.evidence-'))
    const codes = kept.map(
      (name) => JSON.parse(readFileSync(join(dir, '.state', name), 'utf8')).code,
    )
    assert.ok(codes.includes(code), codes.join())
  }
  // The control: the log that was mirrored goes on.
  proxy.from = service.url
  await addAgents(service, 2, 5)
  assert.equal((await mirror()).code, 0)
  assert.equal(sizeOf(dir), 5)

  // Without its state, or with other files than it names, nothing is added to the copy.
  rmSync(join(dir, '.state/mirror.json'))
  const lost = await mirror()
  assert.deepEqual([lost.code, errorIn(lost).code], [1, 'STATE_DAMAGED'])
})

test('a mirror whose last tile was changed is not continued', async (t) => {
  const service = await startLogged(t, 3)
  const dir = join(tempDir(t), 'log')
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const mirror = () => cli.run('log', 'mirror', '--to', dir, '--json')
  assert.equal((await mirror()).code, 0)
  const tile = join(dir, 'tile/0/000.p/3')
  const hashes = readFileSync(tile)
  hashes.writeUInt8(hashes.readUInt8(40) ^ 1, 40)
  writeFileSync(tile, hashes)
  const refused = await mirror()
  assert.deepEqual([refused.code, errorIn(refused).code], [1, 'STATE_DAMAGED'], refused.stderr)
})

test('kill -9 while it writes: the copy has a checkpoint whose files are all there, and the next run goes on', async (t) => {
  const service = await startLogged(t, 20)
  const dir = join(tempDir(t), 'log')
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const args = ['log', 'mirror', '--to', dir, '--url', service.url]
  assert.equal((await cli.run(...args)).code, 0)
  const key = await logKey(service.url)
  const url = await serve(t, dir)
  let size = 20
  // Each is written at another step of a run: entries, tiles, the state, the checkpoint.
  const steps = [
    (now: number) => existsSync(join(dir, `tile/entries/000.p/${now}`)),
    (now: number) => existsSync(join(dir, `tile/0/000.p/${now}`)),
    (now: number) => stateSize(dir) === now,
    (now: number) => sizeOf(dir) === now,
  ]
  for (const isThere of steps) {
    size += 20
    await addAgents(service, 20, size)
    const env = { ...BASE_ENV, HOME: cli.home }
    const child = spawn(process.execPath, [COUNTERSIGN, ...args], { env, stdio: 'ignore' })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    await until(async () => isThere(size), 60_000, 0)
    child.kill('SIGKILL')
    await exited
    const left = await readLog(url, key)
    assert.ok([size, size - 20].includes(left.size), String(left.size))
    const again = await cli.run(...args)
    assert.equal(again.code, 0, again.stderr)
    assert.equal((await readLog(url, key)).size, size)
  }
})

function stateSize(dir: string): number {
  return JSON.parse(readFileSync(join(dir, '.state/mirror.json'), 'utf8')).size
}

test('with --every it goes on while the service is away, and ends if the log breaks its promise', async (t) => {
  const service = await startLogged(t, 2)
  const dir = join(tempDir(t), 'log')
  const proxy = await startProxy(t, service.url)
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const running = cli.run(
    'log',
    'mirror',
    '--to',
    dir,
    '--from',
    `${proxy.url}/log`,
    '--every',
    '1s',
  )
  await until(async () => existsSync(join(dir, 'checkpoint')))
  proxy.isAway = true
  const owner = await service.operator.addVerifiedOwner()
  await claimAgent(service, owner)
  await untilLogged(service, 3)
  await until(async () => proxy.refused >= 2)
  proxy.isAway = false
  await until(async () => sizeOf(dir) === 3)
  const other = await startLogged(t, 5)
  proxy.from = other.url
  const { code, stderr } = await running
  assert.equal(code, 4, stderr)
  assert.match(stderr, /serves another log/)
})

test('the time between two rounds is checked', async (t) => {
  const cli = cliFor(t)
  for (const time of ['0s', '1.5s', 'often', '5d', '-1s', '']) {
    const { code } = await cli.run('log', 'mirror', '--to', 'x', '--every', time)
    assert.equal(code, 2, time)
  }
})
