import { spawn } from 'node:child_process'

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What every program gets: where programs are, and where Node keeps compiled modules. */
export const BASE_ENV: Readonly<Record<string, string>> = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)

/** Runs a program and waits until it exits. */
export function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
  as: { readonly uid?: number; readonly gid?: number } = {},
  cwd?: string,
): Promise<CommandResult> {
  const child = spawn(command, args, { env: { ...BASE_ENV, ...env }, cwd, ...as })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  // The program may exit before it has read its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}
