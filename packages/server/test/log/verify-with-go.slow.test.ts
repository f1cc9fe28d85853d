import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { leaveUncompared } from '../../../../test/support/changes-complete.ts'
import { buildGo } from '../../../../test/support/go.ts'
import { logInfo, untilLogged } from '../../../../test/support/log-client.ts'
import { prepareClaims, sendClaims } from '../../../../test/support/many-claims.ts'
import { run } from '../../../../test/support/run.ts'
import { type ClaimBody, startTestService, tempDir } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'

/** Sends claims, again if a busy machine refuses them with 503. @returns the other statuses than 200 */
async function claimAll(url: string, claims: readonly ClaimBody[]): Promise<number[]> {
  const others: number[] = []
  for (let left = claims; left.length > 0; ) {
    const refused: ClaimBody[] = []
    await sendClaims(url, left, 16, (claim, { status }) => {
      if (status === 503) refused.push(claim)
      else if (status !== 200) others.push(status)
    })
    left = refused
  }
  return others
}

test(
  'Go verifies checkpoint, inclusion and consistency of a log that grows under load',
  needs('go', 'golang.org/x/mod'),
  async (t) => {
    const dir = tempDir(t)
    const verifier = await buildGo(t, 'log-verify')
    const service = await startTestService(t)
    const prefix = `${service.url}/log`
    const claims = await prepareClaims(service.operator, 600)
    const load = claimAll(service.url, claims)
    await untilLogged(service, 1)
    const { verifierKey } = await logInfo(service.url)
    const early = join(dir, 'early')
    const verify = async (...args: string[]) => run(verifier, [prefix, verifierKey, ...args])
    writeFileSync(early, await (await fetch(`${prefix}/checkpoint`)).text())
    assert.deepEqual(await load, [])
    await untilLogged(service, 600)
    const verified = await verify(early)
    assert.equal(verified.code, 0, verified.stderr)
    assert.match(verified.stdout, /^consistent with \d+ entries\nverified 600 entries, root /)

    // The control: the same program refuses another key, a rewritten entry and a checkpoint of another log.
    const otherKey = await run(verifier, [prefix, otherVerifierKey(verifierKey)])
    assert.equal(otherKey.code, 1, otherKey.stdout)
    leaveUncompared(service)
    await service.operator.db.write(async (tx) => {
      const { entry } = await tx.db
        .selectFrom('log_entries')
        .select('entry')
        .where('position', '=', 300)
        .executeTakeFirstOrThrow()
      await tx.db
        .updateTable('log_entries')
        .set({ entry: entry.replace('claimed', 'CLAIMED') })
        .where('position', '=', 300)
        .execute()
    })
    const rewritten = await verify()
    assert.equal(rewritten.code, 1)
    // The service compares what it serves with the tree.
    assert.match(rewritten.stderr, /tile\/entries\/001: 503/)
  },
)

/** The same name and key id with another key. */
function otherVerifierKey(verifierKey: string): string {
  return verifierKey.slice(0, -1) + (verifierKey.endsWith('A') ? 'B' : 'A')
}
