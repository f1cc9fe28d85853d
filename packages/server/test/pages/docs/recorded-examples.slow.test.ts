import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../../../../../test/support/run.ts'
import { ROOT, tempDir } from '../../../../../test/support/service.ts'

const DIR = join(ROOT, 'tools/openapi/examples')

test('a service with fixed keys, clock and randomness answers the stored requests as stored', async (t) => {
  const file = join(tempDir(t), 'examples.json')
  const recorded = await run(process.execPath, [join(DIR, 'record-examples.ts'), file], {})
  assert.equal(recorded.code, 0, recorded.stderr)
  const [stored, answered] = [join(DIR, 'examples.json'), file].map((each) =>
    JSON.parse(readFileSync(each, 'utf8')),
  )
  // If this fails because answers have changed: node tools/openapi/examples/record-examples.ts
  for (const group of ['operations', 'errors'])
    for (const [name, example] of Object.entries(answered[group]))
      assert.deepEqual(example, stored[group][name], name)
  assert.deepEqual(answered, stored)
})
