import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../support/run.ts'
import { type Cleanup, tempDir } from '../../support/service.ts'

/** A clock for child processes that the test can change while they run. */
export interface MovedClock {
  /**
   * Environment variables that make a process use this clock. Monotonic time is not changed, as on a real machine.
   */
  readonly env: Record<string, string>
  /** The clock's time in Unix milliseconds. */
  readonly now: () => number
  /** @param minutes the offset to this machine's clock; negative: behind */
  move(minutes: number): void
}

export async function newClock(t: Cleanup): Promise<MovedClock> {
  // `faketime` prints the path of its library in the form that LD_PRELOAD needs.
  const { stdout } = await run('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD'])
  const file = join(tempDir(t), 'clock')
  let ahead = 0
  const move = (minutes: number) => {
    ahead = minutes * 60_000
    // Replaced atomically, because processes read it at each access to the clock.
    writeFileSync(`${file}.next`, `${minutes < 0 ? '' : '+'}${minutes * 60}\n`)
    renameSync(`${file}.next`, file)
  }
  move(0)
  const env = {
    LD_PRELOAD: stdout.trim(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
  return { env, now: () => Date.now() + ahead, move }
}
