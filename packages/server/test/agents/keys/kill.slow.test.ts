import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { run } from '../../../../../test/support/run.ts'
import { tempDir } from '../../../../../test/support/service.ts'
import { type OperationName, open, operate, prepare, stateOf } from './killable-operations.ts'

const PROGRAM = join(import.meta.dirname, 'killed-operation.ts')

/** A fresh copy of a database file that nothing has open. */
function copyOf(dir: string, file: string, name: string): string {
  const copy = join(dir, `${name}.db`)
  cpSync(file, copy)
  return copy
}

async function stateIn(file: string): Promise<string> {
  const setup = await open(file)
  const state = await stateOf(setup)
  await setup.db.close()
  return state
}

for (const name of [
  'rotate',
  'contest',
  'redeem',
  'complete',
  'renounce',
  'finish',
  'report',
] satisfies OperationName[]) {
  test(
    `kill -9 between any two statements of an operation leaves all of it or nothing: ${name}`,
    SQLITE_ONLY,
    async (t) => {
      const dir = tempDir(t)
      const file = join(dir, 'prepared.db')
      const setup = await open(file)
      await prepare(setup, name)
      const before = await stateOf(setup)
      await setup.db.close()
      const whole = copyOf(dir, file, 'whole')
      const completed = await open(whole)
      await operate(completed, name)
      const after = await stateOf(completed)
      await completed.db.close()
      assert.notEqual(before, after)

      const ends = { before: 0, after: 0 }
      for (let statement = 1; ; statement++) {
        const copy = copyOf(dir, file, `killed-${statement}`)
        const args = [PROGRAM, copy, name, String(statement)]
        const { code, stdout, stderr } = await run(process.execPath, args, {})
        const state = await stateIn(copy)
        assert.ok(state === before || state === after, `killed before statement ${statement}`)
        ends[state === before ? 'before' : 'after'] += 1
        if (code === 0) {
          assert.equal(state, after)
          // It was not killed: it has no more statements.
          assert.ok(Number(stdout) < statement, stdout)
          break
        }
        assert.equal(code, null, stderr)
      }
      assert.ok(ends.before > 5 && ends.after > 0, JSON.stringify(ends))
    },
  )
}
