import { homedir } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { npxPackage } from './npx-package.ts'

/** Everything that a run of `countersign` takes from its surroundings, so that tests can run it in their own process. */
export interface Io {
  readonly stdin: Readable
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  /** Relative paths are resolved against it. */
  readonly cwd: string
  /** The home directory: the default key file is in `.countersign` there. */
  readonly home: string
  /** What `npx -y` was given to run this, such as an address of a tarball, or null. */
  readonly npxPackage: string | null
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Settles when a server is to stop. */
  readonly untilSignalled: () => Promise<void>
}

/** The Io of this process. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process
  return {
    stdin,
    stdout,
    stderr,
    env,
    fetch,
    cwd: process.cwd(),
    home: homedir(),
    npxPackage: npxPackage(process.argv[1] ?? ''),
    now: Date.now,
    untilSignalled,
  }
}

/** Settles at the first SIGINT or SIGTERM. A second one ends the process at once, as by default. */
function untilSignalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
