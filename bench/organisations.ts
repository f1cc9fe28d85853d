import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { endMembership } from '../packages/server/src/accounts/organisations/end-membership.ts'
import { newKey } from '../test/support/key.ts'
import { createOrganisation } from '../test/support/organisations.ts'
import { withRaw } from '../test/support/raw-database.ts'
import { claimAgent, startTestService } from '../test/support/service.ts'
import type { SignedInOwner } from '../test/support/signed-in.ts'
import { inTurns } from './in-turns.ts'
import type { Organisations, OrganisationsTask } from './measure-organisations.ts'

// node organisations.ts '{"turns":…,"agents":…}': requests for an organisation beside those for one's own account, and the end of
// a membership. Prints `RESULT {…}`.

const FEW = 10

const { turns, agents } = JSON.parse(process.argv[2] ?? '') as OrganisationsTask
const undo: (() => unknown)[] = []
const service = await startTestService({ after: (each) => void undo.push(each) })
const { db } = service.operator
const organisation = await createOrganisation(service)
await organisation.verify()
const { admin } = organisation
const few = await organisation.addMember('few', 'manager')
const many = await organisation.addMember('many', 'manager')
const own = await claimAgent(service, admin.ownerId, newKey())
const did = await claimAgent(service, organisation.id, newKey())
await copyAgent(did.slice(-24), few.membership, FEW)
await copyAgent(did.slice(-24), many.membership, agents)

let edits = 0
const change = (owner: SignedInOwner, agent: string) => async () => {
  edits += 1
  const path = `/api/account/agents/${agent}`
  const { status, text } = await owner.send('PATCH', path, { displayName: `Name ${edits}` })
  assert.equal(status, 200, text)
}
const read = (owner: SignedInOwner, agent: string) => async () => {
  const { status, text } = await owner.get(`/api/account/agents/${agent}`)
  assert.equal(status, 200, text)
}
const result: Organisations = await inTurns(
  {
    ownChange: { run: change(admin.self, own) },
    change: { run: change(admin, did) },
    ownRead: { run: read(admin.self, own) },
    read: { run: read(admin, did) },
    endOfFew: { run: () => endAndRollBack(few.membership) },
    endOfMany: { run: () => endAndRollBack(many.membership) },
  },
  turns,
)
console.log(`RESULT ${JSON.stringify(result)}`)
for (const each of undo.toReversed()) await each()

/** Adds copies of an agent, for which a member is responsible. */
async function copyAgent(tail: string, membership: string, copies: number): Promise<void> {
  const prefix = randomBytes(4).toString('hex')
  const other: Readonly<Record<string, string>> = {
    tail: `'${prefix}' || printf('%016d', n)`,
    public_key: 'randomblob(32)',
    seq: '(select max(seq) from agents) + n',
    responsible: `'${membership}'`,
  }
  await withRaw(service.settings, async (raw) => {
    const columns = (await raw.all(`select name from pragma_table_info('agents')`)).map(
      ({ name }) => String(name),
    )
    const values = columns.map((name) => other[name] ?? name)
    await raw.exec(
      `insert into agents (${columns}) with recursive numbers(n) as (
        select 1 union all select n + 1 from numbers where n < ${copies}
      ) select ${values} from agents, numbers where tail = '${tail}'`,
    )
  })
}

/** Each run needs a membership that has not ended. */
async function endAndRollBack(membership: string): Promise<void> {
  const undone = new Error('undone')
  try {
    await db.write(async (tx) => {
      assert.notEqual(await endMembership(tx, membership, 'removed', Date.now()), null)
      throw undone
    })
  } catch (error) {
    if (error !== undone) throw error
  }
}
