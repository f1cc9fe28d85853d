import { readdirSync, readFileSync } from 'node:fs'

/** A process and its descendants, by id. The parent comes first, so that it can be stopped before it starts more. */
function family(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return [pid, ...all.map(Number).filter((each) => parentOf(each) === pid)]
}

/** @returns null if it has exited */
function parentOf(pid: number): number | null {
  try {
    // The state and parent follow the name, which may contain any character (proc(5)).
    const [, parent] = /.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return Number(parent)
  } catch {
    return null
  }
}

/** Sends a signal to a server and all of its processes. */
export function signalFamily(pid: number, signal: NodeJS.Signals): void {
  const send = (each: number) => {
    try {
      process.kill(each, signal)
    } catch {
      // It has exited in the meantime.
    }
  }
  const [first, ...children] = family(pid) as [number, ...number[]]
  send(first)
  // It may have started a process just before the signal.
  const more = signal === 'SIGKILL' ? [] : family(pid).slice(1)
  for (const each of new Set([...children, ...more])) send(each)
}
