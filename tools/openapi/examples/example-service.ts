import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { readSettings } from '../../../packages/server/src/base/config.ts'
import { startService } from '../../../packages/server/src/service/service.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startGithub,
} from '../../../packages/server/test/accounts/providers/support/github-server.ts'
import {
  RP_ID,
  startWorldPortal,
} from '../../../packages/server/test/accounts/providers/support/world.ts'
import { startDnsServer, type TestDns } from '../../../test/support/dns-server.ts'
import { type HttpsSite, outsideEnv, startHttpsSite } from '../../../test/support/https-site.ts'
import { keyOfSeed, type TestKey } from '../../../test/support/key.ts'
import { freePort } from '../../../test/support/ports.ts'
import { type Cleanup, type Operator, openOperator } from '../../../test/support/service.ts'
import { startSmtpServer } from '../../../test/support/smtp-server.ts'
import { until } from '../../../test/support/until.ts'
import { clock } from './fixed-clock.ts'

/** Where the service of the examples is, to its callers. */
export const EXAMPLE_URL = 'https://id.example'

/** Hosts of the examples' world: of the owner, of an authorization server, of an organisation's identity provider. */
export const HOSTS = {
  owner: 'agents.example.com',
  as: 'as.example',
  login: 'login.example',
} as const

const START = Date.UTC(2026, 10, 21, 10, 32, 33)

/** Moves the clock. @returns the new time in Unix seconds */
export function passTime(milliseconds: number): number {
  clock.time = clock.now() + milliseconds
  return Math.floor(clock.time / 1000)
}

/** A real service with fixed keys, clock and randomness, and the sites around it. */
export interface ExampleService {
  /** Where it listens. */
  readonly url: string
  readonly operator: Operator
  readonly dns: TestDns
  readonly site: HttpsSite
  readonly github: Awaited<ReturnType<typeof startGithub>>
  /** Runs the timers until a condition holds. */
  untilTicked(condition: () => Promise<boolean>): Promise<void>
}

export async function startExampleService(t: Cleanup): Promise<ExampleService> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-examples-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, Object.values(HOSTS))
  const github = await startGithub(t)
  const port = await freePort()
  const env = {
    PORT: String(port),
    BASE_URL: EXAMPLE_URL,
    DATA_DIR: join(dir, 'data'),
    METRICS_PORT: 'off',
    LOG_LEVEL: 'warn',
    DRAIN_SECONDS: '0',
    RATE_LIMITS: 'off',
    PREVIEWS: 'card-formats',
    SMTP_URL: (await startSmtpServer(t)).url,
    MAIL_FROM: 'noreply@id.example',
    IDENTITY_PROVIDERS: writeProviders(dir),
    GITHUB_SECRET: CLIENT_SECRET,
    WORLD_KEY: 'a1'.repeat(32),
  }
  // Sites on loopback are for services on loopback only. That is what this one is.
  const { loopbackHosts, dnsResolvers } = readSettings({ PORT: '1', ...outsideEnv([dns], [site]) })
  const settings = { ...readSettings(env), loopbackHosts, dnsResolvers }
  clock.time = START
  const portal = await startWorldPortal(t)
  redirectFetch({
    'https://github.com': github.url,
    'https://api.github.com': github.url,
    'https://developer.world.org': portal.url,
  })
  const timers = new Set<() => void>()
  const every = (_milliseconds: number, run: () => void) => {
    timers.add(run)
    return () => timers.delete(run)
  }
  const timing = { every, elapsed: () => 0 }
  const service = await startService(
    settings,
    pino({ level: 'warn' }),
    env,
    clock.now,
    null,
    timing,
  )
  const operator = await openOperator(settings, clock.now)
  t.after(async () => {
    await operator.close()
    await service.stop()
  })
  const untilTicked: ExampleService['untilTicked'] = (condition) =>
    until(async () => {
      for (const run of timers) run()
      // Whatever is awaited, the log gets its entries at this time.
      const queued = await operator.db.read.selectFrom('log_queue').select('seq').execute()
      return queued.length === 0 && (await condition())
    })
  return { url: `http://localhost:${port}`, operator, dns, site, github, untilTicked }
}

/** Verification in person and by World ID; GitHub for sign-in. */
function writeProviders(dir: string): string {
  const github = {
    id: 'github',
    type: 'github',
    clientId: CLIENT_ID,
    clientSecret: { env: 'GITHUB_SECRET' },
    signIn: true,
  }
  const world = {
    id: 'world',
    type: 'world-id',
    appId: 'app_5a1b2c3d4e5f',
    rpId: RP_ID,
    action: 'countersign-owner',
    signingKey: { env: 'WORLD_KEY' },
  }
  const file = join(dir, 'providers.json')
  const providers = [{ id: 'in-person', type: 'in-person' }, github, world]
  writeFileSync(file, JSON.stringify({ providers }))
  return file
}

/** Lets servers of this process stand for the providers, whose addresses must be https. */
function redirectFetch(origins: Readonly<Record<string, string>>): void {
  const { fetch } = globalThis
  globalThis.fetch = (input, init) => {
    const { origin, href } = new URL(String(input))
    return fetch(href.replace(origin, origins[origin] ?? origin), init)
  }
}

/** A key that is the same in every run. */
export function fixedKey(name: string): TestKey {
  return keyOfSeed(createHash('sha256').update(`example ${name}`).digest())
}
