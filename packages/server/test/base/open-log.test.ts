import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../../../../test/support/run.ts'
import { tempDir } from '../../../../test/support/service.ts'

const MODULE = join(import.meta.dirname, '../../src/base/open-log.ts')

test('lines that could not be written are counted in the log once it can be written again', async (t) => {
  const file = join(tempDir(t), 'log')
  // The lowest free descriptor is used: standard output is /dev/full first, then the file.
  const script = `
    import { closeSync, openSync } from 'node:fs'
    import { openLog } from ${JSON.stringify(MODULE)}
    const log = openLog('info')
    closeSync(1)
    openSync('/dev/full', 'w')
    for (let i = 0; i < 20; i++) log.info({ i }, 'lost')
    closeSync(1)
    openSync(${JSON.stringify(file)}, 'a')
    log.info('written')
    log.info('and so on')`
  const { code, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], {})
  assert.equal(code, 0, stderr)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const messages = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    messages.map(({ level, msg }) => [level, msg]),
    [
      [40, '20 lines of the log could not be written: ENOSPC'],
      [30, 'written'],
      [30, 'and so on'],
    ],
  )
})
