import assert from 'node:assert/strict'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { run } from '../../../../../test/support/run.ts'
import { tempDir } from '../../../../../test/support/service.ts'
import { beforeStatements } from '../keys/killable-operations.ts'
import { type OperationName, open, operate, prepare, stateOf } from './killed-enrolment.ts'

const PROGRAM = join(import.meta.dirname, 'killed-enrolment.ts')

/** Copies a database as a process that is killed now leaves it. SQLite builds its shared memory again. */
function copyOf(file: string, copy: string): void {
  for (const part of ['', '-wal']) if (existsSync(file + part)) cpSync(file + part, copy + part)
}

async function stateIn(file: string): Promise<string> {
  const db = await open(file)
  const state = await stateOf(db)
  await db.close()
  return state
}

for (const name of ['enrol', 'renew', 'unseen', 'rule'] satisfies OperationName[]) {
  test(
    `kill -9 between any two statements of an enrolment leaves all of it or nothing: ${name}`,
    SQLITE_ONLY,
    async (t) => {
      const dir = tempDir(t)
      const place = (file: string) => join(dir, `${file}.db`)
      const prepared = await open(place('prepared'))
      await prepare(prepared, place('prepared'), name)
      const before = await stateOf(prepared)
      await prepared.close()

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
      await whole.close()
      assert.notEqual(before, after)

      let unchanged = 0
      for (let statement = 1; statement <= statements; statement++) {
        const state = await stateIn(place(`before-${statement}`))
        assert.ok(state === before || state === after, `before statement ${statement}`)
        if (state === before) unchanged += 1
      }
      assert.ok(unchanged > 5, `${unchanged} of ${statements}`)

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
