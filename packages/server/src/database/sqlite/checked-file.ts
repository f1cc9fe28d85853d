import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { DamagedFileError } from './sqlite-damage.ts'

/** A service that is restarted again and again never ends a check beside its answers. */
const MAX_AGE_MS = 86_400_000
/** A smaller file is checked in a fraction of a second. */
const LARGE_BYTES = 16 * 1024 * 1024

/**
 * Remembers, in a file beside the database, that the database had no fault and how it was closed. If nothing has changed it since,
 * and it is large, a start checks it beside its answers: checking a million agents with their log takes longer than all the rest
 * of the start. After a crash, a restore or a command, there is no such file, or another database: then the check comes first.
 */
export class CheckedFile {
  readonly #file: string
  readonly #mark: string
  /** Whether the database is large, and as a service has closed it. */
  readonly mayWait: boolean
  /** When the last check ended that found no fault, in milliseconds since 1970; null: none, or it no longer counts. */
  #checkedAt: number | null

  /** Call it before the database is opened. @param file the database */
  constructor(file: string) {
    this.#file = file
    this.#mark = `${file}.checked`
    const mark = existsSync(this.#mark) ? readFileSync(this.#mark, 'utf8') : ''
    const [state, checkedAt] = mark.split('\n')
    const age = Date.now() - Number(checkedAt)
    const isUnchanged = state === stateOf(file) && age >= 0 && age < MAX_AGE_MS
    this.mayWait = isUnchanged && statSync(file).size >= LARGE_BYTES
    this.#checkedAt = isUnchanged ? Number(checkedAt) : null
    rmSync(this.#mark, { force: true })
  }

  /** Records that a check in this process has found no fault. */
  recordIntact(): void {
    this.#checkedAt = Date.now()
  }

  /** Call it when the database is closed. */
  close(): void {
    const state = this.#checkedAt === null ? null : stateOf(this.#file)
    if (state === null) return
    writeFileSync(this.#mark, `${state}\n${this.#checkedAt}\n`, { mode: 0o600 })
  }

  /**
   * Checks the open database in a thread of low priority.
   * @param stopping ends the check
   * @returns false if it was ended
   * @throws DamagedFileError; Error if it cannot be checked
   */
  async checkInThread(stopping: AbortSignal): Promise<boolean> {
    const thread = new Worker(
      join(import.meta.dirname, `check-thread${extname(import.meta.filename)}`),
      {
        workerData: this.#file,
      },
    )
    const end = () => void thread.terminate()
    stopping.addEventListener('abort', end)
    const { promise, resolve, reject } = Promise.withResolvers<ThreadResult>()
    thread
      .once('message', resolve)
      .once('error', reject)
      .once('exit', () => resolve('stopped'))
    const result = await promise.finally(() => stopping.removeEventListener('abort', end))
    if (result === 'stopped') return false
    if (result !== 'intact') {
      this.#checkedAt = null
      throw new DamagedFileError(result.fault)
    }
    this.recordIntact()
    return true
  }
}

/** What the thread sends; `stopped`: it has ended before. */
export type ThreadResult = 'intact' | 'stopped' | { readonly fault: string }

/** Null while the write-ahead log has what the file lacks. */
function stateOf(file: string): string | null {
  const { size, mtimeNs, ino } = statSync(file, { bigint: true, throwIfNoEntry: false }) ?? {}
  if (size === undefined || existsSync(`${file}-wal`)) return null
  return `${size} ${mtimeNs} ${ino}`
}
