import { readdirSync, readFileSync } from 'node:fs'

/** A process and those that it has started itself, by number; it comes first, so that it starts no more meanwhile. */
function family(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return [pid, ...all.map(Number).filter((each) => parentOf(each) === pid)]
}

/** @returns null where it has ended */
function parentOf(pid: number): number | null {
  try {
    // Behind the name, which may hold anything: its state, and its parent (proc(5)).
    const [, parent] = /.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return Number(parent)
  } catch {
    return null
  }
}

/** Sends a signal to a server and to every process of it. */
export function signalFamily(pid: number, signal: NodeJS.Signals): void {
  const send = (each: number) => {
    try {
      process.kill(each, signal)
    } catch {
      // It has ended in the meantime.
    }
  }
  const [first, ...children] = family(pid) as [number, ...number[]]
  send(first)
  // It may have started one just before the signal.
  const more = signal === 'SIGKILL' ? [] : family(pid).slice(1)
  for (const each of new Set([...children, ...more])) send(each)
}
