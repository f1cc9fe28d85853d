import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

const STANDARD_OUTPUT = 1
/** pino's number for the level `warn`. */
const WARN = 40

/**
 * Opens a log of JSON lines on standard output. A line that cannot be written is dropped: pino's own destination would
 * throw, and end the process, if standard output is a file on a full disk. The next line that can be written is preceded
 * by one that says how many were lost.
 */
export function openLog(level: string): Logger {
  return pino({ level }, new LineWriter(STANDARD_OUTPUT))
}

class LineWriter {
  readonly #fd: number
  #lost = 0
  #reason = ''
  /** Whether the last line was written in part. */
  #isTorn = false

  constructor(fd: number) {
    this.#fd = fd
  }

  /** pino's interface of a destination. @param line ends with a line break */
  write(line: string): void {
    const notice = this.#lost === 0 ? '' : lostNotice(this.#lost, this.#reason)
    const bytes = Buffer.from(`${this.#isTorn ? '\n' : ''}${notice}${line}`)
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written)
      this.#lost = 0
    } catch (error) {
      this.#lost += 1
      this.#reason = (error as NodeJS.ErrnoException).code ?? 'unknown'
    }
    if (written > 0) this.#isTorn = written < bytes.length
  }
}

function lostNotice(lines: number, reason: string): string {
  const msg = `${lines} lines of the log could not be written: ${reason}`
  return `${JSON.stringify({ level: WARN, time: Date.now(), pid: process.pid, msg })}\n`
}
