import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateOf, decodeJws } from '../../../../test/support/agent-certificates.ts'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { listedStatus, readFeed, referenceIn } from '../../../../test/support/status-feed.ts'
import { until } from '../../../../test/support/until.ts'

interface ListClaims {
  readonly status_list: { readonly lst: string }
}

test(
  'two nodes give an agent one entry, no entry to two agents, and serve equal lists; a node that is behind waits',
  POSTGRES_ONLY,
  async (t) => {
    const PORT = String(await freePort())
    const BASE_URL = `http://localhost:${PORT}`
    const here = await startTestService(t, { PORT, BASE_URL })
    const { DATA_DIR } = here.env as { DATA_DIR: string }
    const there = await startTestService(t, { DATA_DIR, BASE_URL })
    const nodes = [here, there]
    const owner = await here.operator.addVerifiedOwner()
    const dids: string[] = []
    for (let i = 0; i < 12; i++) dids.push(await claimAgent(here, owner, newKey(), `agent-${i}`))
    const entries = await Promise.all(
      dids.map(async (did) => {
        const certificates = await Promise.all(nodes.map((node) => certificateOf(node, did)))
        const [one, other] = certificates.map(referenceIn)
        assert.deepEqual(one, other)
        return one as NonNullable<typeof one>
      }),
    )
    assert.equal(new Set(entries.map(({ list, idx }) => `${list}:${idx}`)).size, dids.length)

    for (const [i, did] of dids.entries()) {
      const [node, other] = i % 2 === 0 ? [here, there] : [there, here]
      await setStatus(node, did, i % 3 === 0 ? 'revoked' : 'suspended')
      const { head, claims } = await readFeed(node)
      // Answered at once, although that node may not know of the change yet.
      const next = await readFeed(other, head)
      assert.ok(next.claims.n >= claims.n)
      assert.equal(next.claims.epoch, claims.epoch)
    }
    for (const [i, entry] of entries.entries()) {
      for (const node of nodes) {
        await until(async () => (await listedStatus(node, entry)) === (i % 3 === 0 ? 1 : 2))
      }
    }
    for (const list of new Set(entries.map((each) => each.list))) {
      const [one, other] = await Promise.all(
        nodes.map(async (node) => {
          const { text } = await ask(node, `/status/${list}`)
          return decodeJws<ListClaims>(text).claims.status_list.lst
        }),
      )
      assert.equal(one, other)
    }
  },
)
