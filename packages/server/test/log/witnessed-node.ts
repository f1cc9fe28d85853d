import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { parsePolicy } from '@countersign/protocol'
import { type Operator, openOperator, testEnv } from '../../../../test/support/service.ts'
import { startTestWitness, type TestWitness } from '../../../../test/support/test-witness.ts'
import { issueToken } from '../../src/agents/claims/issue-token.ts'
import { mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings, type Settings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import { openSender } from '../../src/http/outbound/open-sender.ts'
import { acceptHead } from '../../src/log/accept.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { currentEpoch } from '../../src/log/log-table.ts'
import { LogWitnesses } from '../../src/log/witnesses/log-witnesses.ts'
import { type LogNode, openNode, restoreLog, type saveLog } from './support.ts'

/** Between two checkpoints of a log with witnesses. */
export const INTERVAL_MS = 10_000

interface NodeOptions {
  readonly isRequired?: boolean
  /** Of a machine with an anchor of its own. */
  readonly dataDir?: string
}

/** A log with witnesses, without the service around it, whose clock stands still unless the test moves it. */
export interface WitnessedWorld extends Operator {
  readonly settings: Settings
  readonly now: () => number
  advance(milliseconds: number): void
  claim(): Promise<void>
  openNode(options?: NodeOptions): Promise<LogNode & { readonly witnesses: LogWitnesses }>
  /** Claims, and runs the node until that has its place and the next checkpoint was due. */
  grow(node: LogNode): Promise<void>
  /** Puts the database back, and accepts what it has in the place of the anchor, as a careless operator can. */
  restore(saved: Awaited<ReturnType<typeof saveLog>>): Promise<void>
}

/** @param names of the witnesses, and in the policy */
export async function openWitnessed(
  t: TestContext,
  names: readonly string[],
  quorum: string,
): Promise<{ readonly world: WitnessedWorld; readonly witnesses: readonly TestWitness[] }> {
  let clock = Date.UTC(2026, 0, 5)
  const now = () => clock
  const witnesses: TestWitness[] = []
  for (const name of names) witnesses.push(await startTestWitness(t, name, now))
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings, now)
  t.after(() => operator.close())
  const owner = await operator.addVerifiedOwner()
  const sender = openSender(settings, 'Countersign/test')
  t.after(() => sender.close())
  const policy = parsePolicy(witnesses.map(({ line }) => line).join('') + quorum)
  const { db } = operator
  const { naming, dataDir } = settings
  const advance = (milliseconds: number) => {
    clock += milliseconds
  }
  const claim = async () => {
    const { claimToken } = await issueToken({ db, naming, now, randomBytes }, owner)
    const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
    const deps = { naming, keyReuse: 'owner', log: null, now, randomBytes } as const
    const claimed = { tokenHash: hashToken(claimToken), ...made }
    await db.writeBatched(mintBatch, { deps, claim: claimed })
  }
  const world: WitnessedWorld = {
    ...operator,
    settings,
    now,
    advance,
    claim,
    async openNode({ isRequired = false, ...options } = {}) {
      const asked = new LogWitnesses({ db, policy, isRequired, sender, now })
      return {
        ...(await openNode(settings, db, { witnesses: asked, now, ...options })),
        witnesses: asked,
      }
    },
    async grow(node) {
      await claim()
      await node.run()
      advance(INTERVAL_MS)
      await node.run()
    },
    async restore(saved) {
      await restoreLog(db, saved)
      rmSync(join(dataDir, ANCHOR_FILE), { force: true })
      const forkOf = (await currentEpoch(db.read))?.origin ?? ''
      await acceptHead({ db, dataDir }, { forkOf })
    },
  }
  return { world, witnesses }
}
