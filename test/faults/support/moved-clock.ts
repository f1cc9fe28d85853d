import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../support/run.ts'
import { type Cleanup, tempDir } from '../../support/service.ts'

/** The clock of processes, which the test moves while they run. */
export interface MovedClock {
  /** What a process is started with, so that this is its clock. What measures durations is left alone, as on any machine. */
  readonly env: Record<string, string>
  /** Milliseconds since 1970, as those processes have it. */
  readonly now: () => number
  /** @param minutes how far it is ahead of this machine's from now on; negative: behind */
  move(minutes: number): void
}

export async function newClock(t: Cleanup): Promise<MovedClock> {
  // Where the library is, in the words that the linker understands.
  const { stdout } = await run('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD'])
  const file = join(tempDir(t), 'clock')
  let ahead = 0
  const move = (minutes: number) => {
    ahead = minutes * 60_000
    // Whole at every moment: it is read at each look at the clock.
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
