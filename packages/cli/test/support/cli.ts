import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { CommandResult } from '../../../../test/support/run.ts'
import { type Cleanup, ROOT, type TestService, tempDir } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import type { Io } from '../../src/io.ts'
import { run } from '../../src/run.ts'

/** The executable, for tests of what only a process of its own can show. */
export const COUNTERSIGN = join(ROOT, 'packages/cli/bin/countersign.mjs')

type Env = Readonly<Record<string, string>>

/** `countersign` as one user on a machine of their own runs it, in this process. */
export interface Cli {
  readonly home: string
  /** The default key file. */
  readonly keyFile: string
  /** The environment of a process that runs the executable as this user. */
  readonly env: Env
  run(...args: string[]): Promise<CommandResult>
  runWithInput(input: string | Uint8Array, ...args: string[]): Promise<CommandResult>
  /** Runs a command that must succeed. @returns what it printed with --json */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>
  /** An Io that collects the output. @param overrides such as other streams */
  io(overrides?: Partial<Io>): CollectingIo
}

/** An Io that collects what is written to it. */
export interface CollectingIo extends Io {
  readonly stdout: PassThrough
  readonly stderr: PassThrough
  /** What was written to standard output and standard error so far. */
  written(): { readonly stdout: string; readonly stderr: string }
}

export function cliFor(t: Cleanup, env: Env = {}): Cli {
  const home = tempDir(t)
  const io: Cli['io'] = (overrides = {}) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const written = { stdout: '', stderr: '' }
    for (const [name, stream] of [['stdout', stdout] as const, ['stderr', stderr] as const]) {
      stream.setEncoding('utf8').on('data', (text) => (written[name] += text))
    }
    return {
      stdin: Readable.from([]),
      fetch,
      now: Date.now,
      cwd: home,
      home,
      npxPackage: null,
      env,
      untilSignalled: () => new Promise(() => undefined),
      ...overrides,
      stdout,
      stderr,
      written: () => ({ ...written }),
    }
  }
  const runWithInput: Cli['runWithInput'] = async (input, ...args) => {
    const streams = io({ stdin: Readable.from([Buffer.from(input)]) })
    const code = await run(args, streams)
    return { code, ...streams.written() }
  }
  const runPlain: Cli['run'] = (...args) => runWithInput('', ...args)
  return {
    home,
    keyFile: join(home, '.countersign', 'agent.pem'),
    env: { HOME: home, ...env },
    io,
    run: runPlain,
    runWithInput,
    async json(...args) {
      const { code, stdout, stderr } = await runPlain('--json', ...args)
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
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

/** Changes a certificate as the operator does, and waits until the service shows it. */
export function changeStatus(
  service: TestService,
  did: string,
  change: 'suspend' | 'revoke',
): Promise<void> {
  return setStatus(service, did, change === 'suspend' ? 'suspended' : 'revoked')
}

/** The error that a command reported with --json. */
export function errorIn({ stderr }: CommandResult): {
  code: string
  message: string
  requestId?: string
} {
  return JSON.parse(stderr).error
}
