import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildGo } from '../../../../../test/support/go.ts'
import { run } from '../../../../../test/support/run.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { needs } from '../../../../../test/support/tools.ts'
import { addCheckpoint, TestLog, witnessLogsFile } from './support.ts'

test(
  'Go verifies a cosignature with its time, and refuses those of other texts and keys',
  needs('go', 'golang.org/x/mod'),
  async (t) => {
    const verifier = await buildGo(t, 'cosignature-verify')
    const log = new TestLog()
    const now = Date.parse('2026-11-23T12:00:00Z')
    const settings = { WITNESS_LOGS: witnessLogsFile(t, [log]) }
    const { url } = await startTestService(t, settings, () => now)
    const { verifierKey } = (await (await fetch(`${url}/witness`)).json()) as {
      verifierKey: string
    }
    const answer = await addCheckpoint(url, await log.request(0, 300))
    assert.equal(answer.status, 200)

    const verify = (note: string, witness: string) => run(verifier, [log.vkey, witness], {}, note)
    const note = (await log.checkpoint(300)) + answer.text
    const verified = await verify(note, verifierKey)
    assert.equal(verified.stdout, `${now / 1000}\n`, verified.stderr)

    const otherSize = (await log.checkpoint(299)) + answer.text
    for (const [text, key] of [
      [otherSize, verifierKey],
      [await log.checkpoint(300), verifierKey],
      [note, log.vkey],
    ] as const) {
      assert.equal((await verify(text, key)).code, 1)
    }
  },
)
