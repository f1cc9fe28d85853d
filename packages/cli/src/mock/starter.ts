import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const INTERVAL_MS = 1_000

/**
 * Settles when the process that started this one has ended, so that a server of a test or a script is not left behind. npx runs a
 * program below itself and a shell: then the process that started npx counts too.
 */
export function untilStarterEnds(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const parent = process.ppid
  const starters = env.npm_command === 'exec' ? ancestorsFrom(parent, 3) : ancestorsFrom(parent, 1)
  return new Promise((resolve) => {
    if (starters.length === 0) return
    const timer = setInterval(() => {
      // A parent that has ended is replaced, also if its process stays as a zombie.
      if (process.ppid === parent && starters.every(isAlive)) return
      clearInterval(timer)
      resolve()
    }, INTERVAL_MS)
    timer.unref()
  })
}

/** Without the first process of the system, which adopts others. */
function ancestorsFrom(pid: number, count: number): number[] {
  if (pid <= 1 || count === 0) return []
  return [pid, ...ancestorsFrom(parentOf(pid), count - 1)]
}

function parentOf(pid: number): number {
  try {
    // The name before it, in parentheses, may contain anything.
    return Number(/.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
  } catch {}
  try {
    return Number(execFileSync('ps', ['-o', 'ppid=', '-p', `${pid}`], { encoding: 'utf8' }))
  } catch {
    return 0
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
