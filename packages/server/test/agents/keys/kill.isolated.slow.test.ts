import assert from 'node:assert/strict'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { run } from '../../../../../test/support/run.ts'
import { tempDir } from '../../../../../test/support/service.ts'
import {
  beforeStatements,
  type OperationName,
  open,
  operate,
  prepare,
  stateOf,
} from './killable-operations.ts'

const PROGRAM = join(import.meta.dirname, 'killed-operation.ts')

/** Copies a database as a process that is killed now leaves it. SQLite builds its shared memory again. */
function copyOf(file: string, copy: string): void {
  for (const part of ['', '-wal']) if (existsSync(file + part)) cpSync(file + part, copy + part)
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
  'end',
  'leave',
  'move',
] satisfies OperationName[]) {
  test(
    `kill -9 between any two statements of an operation leaves all of it or nothing: ${name}`,
    SQLITE_ONLY,
    async (t) => {
      const dir = tempDir(t)
      const place = (file: string) => join(dir, `${file}.db`)
      const setup = await open(place('prepared'))
      await prepare(setup, name)
      const before = await stateOf(setup)
      await setup.db.close()

      copyOf(place('prepared'), place('whole'))
      const whole = await open(place('whole'))
      let statements = 0
      const end = beforeStatements((number) => {
        statements = number
        copyOf(place('whole'), place(`before-${number}`))
      })
      await operate(whole, name)
      end()
      const after = await stateOf(whole)
      await whole.db.close()
      assert.notEqual(before, after)

      const ends = { before: 0, after: 0 }
      for (let statement = 1; statement <= statements; statement++) {
        const state = await stateIn(place(`before-${statement}`))
        assert.ok(state === before || state === after, `before statement ${statement}`)
        ends[state === before ? 'before' : 'after'] += 1
      }
      assert.ok(ends.before > 5, JSON.stringify(ends))

      // A process that is killed leaves what the copies have.
      for (const statement of [1, Math.ceil(statements / 2), statements]) {
        const killed = place(`killed-${statement}`)
        copyOf(place('prepared'), killed)
        const args = [PROGRAM, killed, name, String(statement)]
        const { code, stderr } = await run(process.execPath, args, {})
        assert.equal(code, null, stderr)
        assert.equal(await stateIn(killed), await stateIn(place(`before-${statement}`)))
      }
    },
  )
}
