import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../../../../test/support/run.ts'
import { ROOT, startTestService, tempDir } from '../../../../test/support/service.ts'
import { addCheckpoint, TestLog, witnessLogsFile } from './support.ts'

test('Go verifies a cosignature with its time, and refuses those of other texts and keys', async (t) => {
  const dir = tempDir(t)
  // Debian's golang-go and golang-golang-x-mod-dev.
  const env = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: dir, HOME: dir }
  const verifier = join(dir, 'cosignature-verify')
  const source = join(ROOT, 'tools/cosignature-verify/main.go')
  const built = await run('go', ['build', '-o', verifier, source], env).catch(() => null)
  if (built === null || built.code !== 0) {
    return t.skip(
      'Go with golang.org/x/mod is not on this machine: golang-go, golang-golang-x-mod-dev',
    )
  }
  const log = new TestLog()
  const now = Date.parse('2026-11-23T12:00:00Z')
  const settings = { WITNESS_LOGS: witnessLogsFile(t, [log]) }
  const { url } = await startTestService(t, settings, () => now)
  const { verifierKey } = (await (await fetch(`${url}/witness`)).json()) as { verifierKey: string }
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
})
