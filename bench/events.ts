import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { siteOf } from '../packages/server/src/base/site.ts'
import { openSender } from '../packages/server/src/http/outbound/open-sender.ts'
import { IssuerKeyRing } from '../packages/server/src/secrets/issuer-keys/issuer-keys.ts'
import { openServiceKey } from '../packages/server/src/secrets/service-keys.ts'
import { attempt } from '../packages/server/src/webhooks/attempt.ts'
import { endpointById } from '../packages/server/src/webhooks/endpoint-table.ts'
import { createEndpoint } from '../packages/server/src/webhooks/manage-endpoints.ts'
import { startReceiver } from '../packages/server/test/webhooks/support/receiver.ts'
import { claimAgent, startTestService } from '../test/support/service.ts'
import { signIn } from '../test/support/signed-in.ts'
import { inTurns } from './in-turns.ts'
import type { Events, EventsTask } from './measure-events.ts'

// node events.ts '{"turns":…}': deliveries of webhooks in their formats, and pages of events. Prints `RESULT {…}`.

const PAGE = 500

const { turns } = JSON.parse(process.argv[2] ?? '') as EventsTask
const undo: (() => unknown)[] = []
const cleanup = { after: (each: () => unknown) => void undo.push(each) }
const service = await startTestService(cleanup)
const { settings, operator } = service
const { db, pepper } = operator
const owner = await signIn(service, await operator.addVerifiedOwner('ada'))
const did = await claimAgent(service, owner.ownerId)
for (let i = 0; i < PAGE; i += 1) {
  const description = `Number ${i}`
  const edited = await owner.send('PATCH', `/api/account/agents/${did}`, { description })
  assert.equal(edited.status, 200, edited.text)
}

const issuerKeys = await IssuerKeyRing.open({
  db,
  folders: settings,
  now: Date.now,
  // It is not refreshed here.
  elapsed: () => 0,
  certificateLifetimeMs: 1,
})
const sender = openSender(settings, 'Countersign/bench')
undo.push(() => sender.close())
const site = siteOf(settings.naming, settings.baseUrl)
const webhookKey = await openServiceKey({ db, folders: settings }, 'webhook')
const common = { db, site, serviceName: settings.serviceName, pepper, now: Date.now, randomBytes }
const deps = { ...common, webhookKey, issuerKeys, sender }
const receiver = await startReceiver(cleanup)
receiver.behaviour = (response) => {
  receiver.received.length = 0
  response.writeHead(202).end()
}
const at = Date.now()
const about = { seq: 2, type: 'agent.suspended', tail: did.slice(-24), at, created_at: at }

async function deliver(format: 'standard' | 'ocsf' | 'set') {
  const { id } = await createEndpoint(deps, null, { url: receiver.url, format })
  const endpoint = await endpointById(db.read, id)
  assert.ok(endpoint)
  // Of a delivery, the database is read and written in the same way for each format.
  await db.write((tx) =>
    tx.db.updateTable('webhook_endpoints').set({ state: 'paused' }).where('id', '=', id).execute(),
  )
  return async () => {
    const { problem } = await attempt(deps, endpoint, { id: 'msg_bench', ...about })
    assert.equal(problem, null)
  }
}

const read = (format: string) => async () => {
  const { status, text } = await owner.get(`/api/account/events?limit=${PAGE}&format=${format}`)
  assert.equal(status, 200, text.slice(0, 200))
}

const result: Events = await inTurns(
  {
    standard: { run: await deliver('standard') },
    ocsf: { run: await deliver('ocsf') },
    set: { run: await deliver('set') },
    page: { run: read('countersign') },
    ocsfPage: { run: read('ocsf') },
  },
  turns,
)
console.log(`RESULT ${JSON.stringify(result)}`)
for (const each of undo.toReversed()) await each()
