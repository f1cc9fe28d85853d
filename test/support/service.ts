import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Assurance } from '@countersign/protocol'
import { pino } from 'pino'
import { verifyOwner } from '../../packages/server/src/accounts/identity/record-verification.ts'
import { addOwner } from '../../packages/server/src/accounts/owners/add-owner.ts'
import { issueToken } from '../../packages/server/src/agents/claims/issue-token.ts'
import { readSettings, type Settings } from '../../packages/server/src/base/config.ts'
import type { Database } from '../../packages/server/src/database/database.ts'
import { openDatabase } from '../../packages/server/src/database/open-database.ts'
import { loadPepper, type Pepper } from '../../packages/server/src/secrets/secrets.ts'
import { runCountersignd } from '../../packages/server/src/service/cli/program.ts'
import { EFFECTS } from '../../packages/server/src/service/effects.ts'
import { type Service, startService } from '../../packages/server/src/service/service.ts'
import { REAL_TIMING, type StartInterval } from '../../packages/server/src/service/timers.ts'
import { assertChangesComplete } from './changes-complete.ts'
import { watchAnswers } from './every-answer.ts'
import { newKey, type TestKey } from './key.ts'
import { freePort } from './ports.ts'
import { databaseOf, ON_POSTGRES } from './postgres.ts'
import { BASE_ENV, type CommandResult, run } from './run.ts'
import { copyTemplate } from './sqlite-template.ts'

export { type CommandResult, run }

export const ROOT = join(import.meta.dirname, '../..')
/** As it is built before a run of all tests. One file run alone takes the sources, which may be newer. */
export const COUNTERSIGND = join(
  ROOT,
  'packages/server',
  process.env.TEST_TIER === undefined ? 'src/main.ts' : 'bin/countersignd.mjs',
)

export type Env = Readonly<Record<string, string>>

/** Something that `t.after` of node:test offers. */
export interface Cleanup {
  after(end: () => unknown): void
}

/** An empty directory that goes with the test. */
export function tempDir(t: Cleanup): string {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-'))
  // Processes of the service that end after this may write meanwhile. A failure would leave them running.
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }))
  return dir
}

/** Settings for a service of a test: a free port, an empty data directory, the database that goes with it, no metrics, silence, no waiting. */
export async function testEnv(t: Cleanup, env: Env = {}): Promise<Record<string, string>> {
  const DATA_DIR = env.DATA_DIR ?? tempDir(t)
  return {
    PORT: String(await freePort()),
    DATA_DIR,
    ...(ON_POSTGRES ? { DATABASE_URL: await databaseOf(DATA_DIR) } : {}),
    METRICS_PORT: 'off',
    LOG_LEVEL: 'silent',
    DRAIN_SECONDS: '0',
    // Machines that are busy keep a node from the news for longer than it is by default: tests that are about it say so.
    MAX_STALENESS: '30',
    // Tests ask more than a person does; those about limits say so, by the preview or by limits of their own.
    ...(env.PREVIEWS?.includes('rate-limit') ? {} : { RATE_LIMITS: 'off' }),
    ...env,
  }
}

/** A service that runs in this process, on real HTTP and a real database. */
export interface TestService {
  readonly url: string
  readonly env: Record<string, string>
  readonly settings: Settings
  /** The same data through connections of their own, as countersignd opens them. */
  readonly operator: Operator
  /** Begins at once what the service's timers begin: to follow what others have written, and to do what is due. */
  tick(): void
  stop(): Promise<void>
}

/**
 * When it stops, all its responses are validated against its own /openapi.json, and the events of its agents against the log.
 * @param now the service's clock, where the test moves it
 * @param elapsed the clock by which it measures how old its data are
 */
export async function startTestService(
  t: Cleanup,
  overrides: Env = {},
  now: () => number = Date.now,
  elapsed = REAL_TIMING.elapsed,
): Promise<TestService> {
  const env = await testEnv(t, overrides)
  const settings = readSettings(env)
  const { database } = settings
  if (overrides.DATA_DIR === undefined && database.kind === 'sqlite')
    await copyTemplate(database.file)
  const { every, tick } = timers()
  const log = pino({ level: settings.logLevel })
  const service = await startService(settings, log, env, now, null, { every, elapsed })
  const url = `http://localhost:${env.PORT}`
  // The test runner holds what `t.after` is given until the last test has ended: a stopped service must not be in it.
  let running: Running | null = {
    service,
    operator: await openOperator(settings, now),
    judgeAnswers: watchAnswers(settings.port, env),
  }
  let stopped: Promise<void> | null = null
  const stop = () => {
    stopped ??= running === null ? Promise.resolve() : stopRunning(running, url)
    running = null
    return stopped
  }
  t.after(stop)
  return {
    url,
    env,
    settings,
    get operator() {
      return running?.operator as Operator
    },
    tick,
    stop,
  }
}

interface Running {
  readonly service: Service
  readonly operator: Operator
  readonly judgeAnswers: (url: string) => Promise<void>
}

async function stopRunning(
  { service, operator, judgeAnswers }: Running,
  url: string,
): Promise<void> {
  try {
    await judgeAnswers(url)
    await assertChangesComplete(operator.db)
  } finally {
    await operator.close()
    await service.stop()
  }
}

/** Real timers, all of which the test can run ahead of their time. */
function timers(): { readonly every: StartInterval; readonly tick: () => void } {
  const runs = new Set<() => void>()
  const every: StartInterval = (milliseconds, run) => {
    runs.add(run)
    const end = REAL_TIMING.every(milliseconds, run)
    return () => {
      runs.delete(run)
      end()
    }
  }
  const tick = () => {
    for (const run of runs) run()
  }
  return { every, tick }
}

/** What countersignd does, without a process for each command. */
export interface Operator {
  readonly db: Database
  readonly pepper: Pepper
  /** @returns the owner's internal id */
  addVerifiedOwner(username?: string, assurance?: Assurance): Promise<number>
  issueToken(ownerId: number): Promise<string>
  close(): Promise<void>
}

export async function openOperator(
  settings: Settings,
  now: () => number = Date.now,
): Promise<Operator> {
  const db = await openDatabase(settings.database, now, EFFECTS)
  const { naming } = settings
  const pepper = loadPepper(settings)
  return {
    db,
    pepper,
    async addVerifiedOwner(
      username = `holder-${randomBytes(4).toString('hex')}`,
      assurance = 'substantial',
    ) {
      const { id } = await addOwner(
        { db, naming, pepper, now },
        { username, displayName: `Owner ${username}` },
      )
      const subject = { provider: 'in-person', issuer: 'host', subject: String(id) }
      await verifyOwner({ db, now, pepper }, id, { ...subject, assurance, expiresAt: null })
      return id
    },
    async issueToken(ownerId) {
      return (await issueToken({ db, naming, now, randomBytes }, ownerId)).claimToken
    },
    close: () => db.close(),
  }
}

export interface ClaimBody {
  readonly claimToken: string
  readonly agentId: string
  readonly publicKey: string
  readonly signature: string
}

/** The body of a claim, signed. */
export function claimBody(
  claimToken: string,
  key: TestKey = newKey(),
  agentId = 'main',
): ClaimBody {
  return {
    claimToken,
    agentId,
    publicKey: key.publicKey,
    signature: key.sign(`${claimToken}|${agentId}`),
  }
}

/** Claims an agent of an owner over HTTP. @returns its DID */
export async function claimAgent(
  service: TestService,
  ownerId: number,
  key: TestKey = newKey(),
  agentId = 'main',
): Promise<string> {
  const token = await service.operator.issueToken(ownerId)
  const response = await postJson(`${service.url}/api/v1/claim`, claimBody(token, key, agentId))
  if (response.status !== 200) throw new Error(`the claim failed: ${await response.text()}`)
  const body = (await response.json()) as Record<string, string>
  return body[service.settings.naming.didField] as string
}

export function postJson(url: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** The service as its users run it: a process of its own. */
export interface ServiceProcess {
  readonly url: string
  readonly env: Record<string, string>
  readonly child: ChildProcess
  /** What it has written to standard output and standard error so far. */
  output(): string
  /** @returns the exit code, null where a signal ended it */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** @param program countersignd, of another release perhaps */
export async function startServiceProcess(
  t: Cleanup,
  overrides: Env = {},
  program = COUNTERSIGND,
): Promise<ServiceProcess> {
  const env = await testEnv(t, overrides)
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { ...BASE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return exited
  }
  t.after(() => stop('SIGKILL'))
  const url = `http://localhost:${env.PORT}`
  await untilReady(url, child, () => output)
  return { url, env, child, output: () => output, stop }
}

async function untilReady(url: string, child: ChildProcess, output: () => string): Promise<void> {
  for (let tries = 0; tries < 2400; tries++) {
    if (child.exitCode !== null) throw new Error(`the service ended:\n${output()}`)
    const response = await fetch(`${url}/readyz`).catch(() => null)
    if (response?.ok) return
    await sleep(25)
  }
  throw new Error(`the service is not ready:\n${output()}`)
}

/** Runs a command of the operator: in `npm test` within this process, in `npm run test:all` in one of its own. */
export function countersignd(env: Env, ...args: string[]): Promise<CommandResult> {
  return process.env.TEST_TIER === 'quick'
    ? countersigndInProcess(env, args)
    : run(process.execPath, [COUNTERSIGND, ...args], env)
}

const UMASK = process.umask()

async function countersigndInProcess(env: Env, args: readonly string[]): Promise<CommandResult> {
  let stdout = ''
  let stderr = ''
  process.umask(0o077)
  try {
    const code = await runCountersignd(args, {
      env,
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
    })
    return { code, stdout, stderr }
  } finally {
    process.umask(UMASK)
  }
}
