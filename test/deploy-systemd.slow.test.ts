import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { readSettings } from '../packages/server/src/base/config.ts'
import { newKey } from './support/key.ts'
import { logInfo, untilLogged } from './support/log-client.ts'
import {
  COUNTERSIGND,
  claimBody,
  countersignd,
  postJson,
  ROOT,
  run,
  startTestService,
  tempDir,
  testEnv,
} from './support/service.ts'
import { needs } from './support/tools.ts'
import { until } from './support/until.ts'

const UNIT = join(ROOT, 'deploy/systemd/countersign.service')
const TEXT = readFileSync(UNIT, 'utf8')

const MIRROR_UNIT = join(ROOT, 'deploy/systemd/countersign-log-mirror.service')

/** A unit with the paths of this checkout: systemd asks whether what it starts is there. */
function unitHere(dir: string, unit: string): string {
  const file = join(dir, basename(unit))
  writeFileSync(file, readFileSync(unit, 'utf8').replaceAll('/opt/countersign', ROOT))
  return file
}

for (const unit of [UNIT, MIRROR_UNIT]) {
  const name = basename(unit)

  test(`systemd accepts ${name} without warnings`, needs('systemd-analyze'), async (t) => {
    const { code, stdout, stderr } = await run('systemd-analyze', [
      'verify',
      '--man=no',
      '--recursive-errors=no',
      unitHere(tempDir(t), unit),
    ])
    assert.equal(code, 0, stdout + stderr)
    // What it does not know it only says.
    assert.ok(!new RegExp(`${name}:\\d+:`).test(stderr), stderr)
  })

  test(
    `the exposure level of ${name} is at most 1.5 of 10`,
    needs('systemd-analyze'),
    async (t) => {
      const { code, stdout, stderr } = await run('systemd-analyze', [
        'security',
        '--offline=true',
        '--threshold=15',
        '--no-pager',
        unitHere(tempDir(t), unit),
      ])
      assert.equal(code, 0, stdout + stderr)
      assert.match(stdout, new RegExp(`Overall exposure level for ${name}: [01]\\.\\d`))
    },
  )
}

test('what the unit of the mirror starts copies the log', async (t) => {
  const service = await startTestService(t)
  await untilLogged(service, 0)
  const { verifierKey } = await logInfo(service.url)
  const dir = join(tempDir(t), 'log')
  const [, command = ''] = /^ExecStart=(.*)$/m.exec(readFileSync(MIRROR_UNIT, 'utf8')) ?? []
  const args = command
    .replace('/var/lib/countersign-log-mirror/log', dir)
    .replace(/\$\{LOG_KEY\}/, verifierKey)
    .split(' ')
    .slice(1)
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: dir, COUNTERSIGN_URL: service.url },
    stdio: 'ignore',
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  t.after(() => {
    child.kill('SIGKILL')
    return exited
  })
  await until(async () => existsSync(join(dir, 'checkpoint')))
  child.kill('SIGTERM')
  assert.equal(await exited, 0)
})

test('systemd does not kill the service while it drains, for any setting of the drain time', () => {
  const longest = Math.max(...[...Array(3600).keys()].filter(isDrain))
  assert.ok(longest > 0)
  const unit = Number(/^TimeoutStopSec=(\d+)$/m.exec(TEXT)?.[1])
  const compose = readFileSync(join(ROOT, 'deploy/docker/compose.yaml'), 'utf8')
  const grace =
    60 *
    Number(/^ {2}countersign:\n(?: {4}.*\n)* {4}stop_grace_period: (\d+)m$/m.exec(compose)?.[1])
  for (const waits of [unit, grace]) assert.ok(waits >= longest + AT_THE_END, `${waits} ${longest}`)
})

/** So long requests that are under way may take after that, with something to spare (http/connections.ts). */
const AT_THE_END = 15

function isDrain(seconds: number): boolean {
  try {
    return readSettings({ DRAIN_SECONDS: String(seconds) }).drainSeconds === seconds
  } catch {
    return false
  }
}

test('documented commands run as the unit does', needs('systemd-analyze'), async (t) => {
  const dir = tempDir(t)
  // systemd does not run here: what it would be asked is written down, and systemd-analyze looks at that.
  writeFileSync(join(dir, 'systemd-run'), '#!/bin/sh\nprintf "%s\\0" "$@"\n', { mode: 0o755 })
  const env = { PATH: `${dir}:${process.env.PATH}` }
  const given = ['owner', 'add', 'ada', '--name', 'Ada Lovelace']
  const asked = await run(join(ROOT, 'deploy/systemd/countersignd'), given, env)
  assert.equal(asked.code, 0, asked.stderr)
  const args = asked.stdout.split('\0').slice(0, -1)
  const end = args.indexOf('--')
  const lines = args
    .slice(0, end)
    .flatMap((arg) => /^--property=(.*)$/.exec(arg)?.[1] ?? [])
    .toSorted()
  const names = lines.map((line) => line.split('=')[0])
  for (const name of ['User', 'WorkingDirectory', 'Environment', 'EnvironmentFile'])
    assert.ok(names.includes(name), name)
  const ofUnit = TEXT.split('\n').filter((line) => names.includes(line.split('=')[0]))
  assert.deepEqual(lines, ofUnit.toSorted())
  const command = /^ExecStart=(.*) serve$/m.exec(TEXT)?.[1]?.split(' ') ?? []
  assert.deepEqual(args.slice(end + 1), [...command, ...given])

  const file = join(dir, 'by-hand.service')
  const unit = `[Service]\n${lines.join('\n')}\nExecStart=${command.join(' ')} owner list\n`
  writeFileSync(file, unit.replaceAll('/opt/countersign', ROOT))
  const verified = await run('systemd-analyze', [
    'verify',
    '--man=no',
    '--recursive-errors=no',
    file,
  ])
  assert.equal(verified.code, 0, verified.stderr)
  assert.doesNotMatch(verified.stderr, /by-hand\.service:\d+:/)
})

test('no page sources a systemd environment file in a shell', () => {
  const pages = globSync(['*.md', 'docs/*.md'], { cwd: ROOT })
  assert.ok(pages.length > 10)
  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    assert.doesNotMatch(text, /(?:^|[;&]|\bset -a;?) *(?:\.|source) \S*countersign\.env/m, page)
  }
  const operating = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
  assert.match(operating, /^install -m 0755 deploy\/systemd\/countersignd \/usr\/local\/sbin\/$/m)
})

test(
  'the unit allows all system calls of the service',
  needs('systemd-analyze', 'strace'),
  async (t) => {
    const allowed = await allowedCalls()
    for (const call of ['read', 'fsync', 'accept4']) assert.ok(allowed.has(call), call)
    for (const call of ['mount', 'ptrace', 'setuid', 'reboot']) assert.ok(!allowed.has(call), call)
    const made = await callsOfService(t)
    assert.ok(made.has('fsync') || made.has('fdatasync'), [...made].join())
    const refused = [...made].filter((call) => !allowed.has(call) && !DISPENSABLE.has(call))
    assert.deepEqual(refused, [])
  },
)

const DISPENSABLE = new Set([
  // Node asks for more open files; LimitNOFILE has given them.
  'prlimit64',
  // SQLite hands its files over where it runs as root, which the unit does not.
  'fchown',
])

/** The filter of the unit, as systemd resolves it. */
async function allowedCalls(): Promise<Set<string>> {
  const [given = '', taken = ''] = [...TEXT.matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, v]) => v)
  assert.ok(taken.startsWith('~'))
  const allowed = new Set<string>()
  for (const name of given.split(' ')) for (const call of await callsOf(name)) allowed.add(call)
  for (const name of taken.slice(1).split(' '))
    for (const call of await callsOf(name)) allowed.delete(call)
  return allowed
}

async function callsOf(name: string): Promise<string[]> {
  if (!name.startsWith('@')) return [name]
  const { stdout } = await run('systemd-analyze', ['syscall-filter', '--no-pager', name])
  const names = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  assert.ok(names.length > 0, name)
  return (await Promise.all(names.map(callsOf))).flat()
}

/** Starts, claims, looks up, draws and stops the service under strace. */
async function callsOfService(t: Parameters<typeof tempDir>[0]): Promise<Set<string>> {
  const log = join(tempDir(t), 'calls')
  const env = await testEnv(t)
  const child = spawn('strace', ['-f', '-o', log, process.execPath, COUNTERSIGND, 'serve'], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: 'ignore',
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.after(() => {
    child.kill('SIGKILL')
    return exited
  })
  const url = `http://localhost:${env.PORT}`
  const ready = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(ready, 90_000)
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await countersignd(env, ...args)
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  await command('owner', 'add', 'ada', '--name', 'Ada')
  await command('owner', 'verify', 'ada', '--provider', 'in-person')
  const token = await command('token', 'issue', 'ada')
  const claimed = await postJson(`${url}/api/v1/claim`, claimBody(token, newKey()))
  assert.equal(claimed.status, 200)
  const { svcDid } = (await claimed.json()) as { svcDid: string }
  for (const path of [`/agent/${svcDid}`, `/agent/${svcDid}/preview.png`, '/docs', '/dashboard/'])
    await fetch(url + path)
  const pid = /^(\d+) /.exec(readFileSync(log, 'utf8'))?.[1]
  process.kill(Number(pid), 'SIGTERM')
  await exited
  const names = [...readFileSync(log, 'utf8').matchAll(/^\d+ +([a-z_0-9]+)\(/gm)]
  return new Set(names.map((match) => match[1] as string))
}
