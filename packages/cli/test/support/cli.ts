import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CommandResult,
  countersignd,
  ROOT,
  run,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'

/** Compiled code, kept from one run of the command to the next: half the time of a run goes into compiling. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/countersign-cli-tests')

export const COUNTERSIGN = join(ROOT, 'packages/cli/bin/countersign.mjs')

type Env = Readonly<Record<string, string>>
type Cleanup = Parameters<typeof tempDir>[0]

/** The command as one user on a machine of their own has it. */
export interface Cli {
  readonly home: string
  /** Where the key is, if the user has not said otherwise. */
  readonly keyFile: string
  readonly env: Env
  run(...args: string[]): Promise<CommandResult>
  runWithInput(input: string, ...args: string[]): Promise<CommandResult>
  /** Runs a command that has to succeed. @returns what it printed with --json */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>
}

export function cliFor(t: Cleanup, env: Env = {}): Cli {
  const home = tempDir(t)
  const all = { HOME: home, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env }
  const runWithInput = (input: string, ...args: string[]) =>
    inTurn(() => run(process.execPath, [COUNTERSIGN, ...args], all, input))
  const runPlain = (...args: string[]) => runWithInput('', ...args)
  return {
    home,
    keyFile: join(home, '.countersign', 'agent.pem'),
    env: all,
    run: runPlain,
    runWithInput,
    async json(...args) {
      const { code, stdout, stderr } = await runPlain('--json', ...args)
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}

/** More at once would take no less time, and a command that gets no time to run gives up after ten seconds. */
const AT_ONCE = Math.max(2, availableParallelism())
const waiting: (() => void)[] = []
let running = 0

/** Runs a command when there is room for it. */
async function inTurn<T>(command: () => Promise<T>): Promise<T> {
  if (running < AT_ONCE) running += 1
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await command()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
}

/** A user whose key has a certificate. */
export interface CertifiedCli extends Cli {
  readonly did: string
  readonly publicKey: string
}

export async function certifiedCli(
  t: Cleanup,
  service: TestService,
  ownerId: number,
): Promise<CertifiedCli> {
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  const { publicKey } = await cli.json<{ publicKey: string }>('keygen')
  const token = await service.operator.issueToken(ownerId)
  const { did } = await cli.json<{ did: string }>('claim', token)
  return { ...cli, did, publicKey }
}

/** Has the operator change a certificate, and waits until the running service has noticed. */
export async function changeStatus(
  service: TestService,
  did: string,
  change: 'suspend' | 'revoke',
): Promise<void> {
  const { code, stderr } = await countersignd(service.env, 'agent', change, did)
  if (code !== 0) throw new Error(stderr)
  const until = change === 'suspend' ? 'suspended' : 'revoked'
  for (let tries = 0; tries < 1200; tries++) {
    const response = await fetch(`${service.url}/api/v1/agent/${did}`)
    const { certificate } = (await response.json()) as { certificate: { status: string } }
    if (certificate.status === until) return
    await sleep(25)
  }
  throw new Error(`${did} is not ${until}`)
}

/** The error that a command has reported with --json. */
export function errorIn({ stderr }: CommandResult): {
  code: string
  message: string
  requestId?: string
} {
  return JSON.parse(stderr).error
}
