import './fixed-clock.ts'

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyOwner } from '../../../packages/server/src/accounts/identity/record-verification.ts'
import { type ExampleService, startExampleService } from './example-service.ts'
import { fixRandomness } from './fixed-random.ts'
import {
  recordAccount,
  recordIdentity,
  recordProviderSignIn,
  recordSignIn,
  signInAgain,
} from './record-accounts.ts'
import {
  recordClaims,
  recordProfiles,
  recordProofs,
  recordReads,
  recordStatuses,
} from './record-agents.ts'
import { recordApprovals } from './record-approvals.ts'
import { recordChannels } from './record-channels.ts'
import { recordEnrolment } from './record-enrolment.ts'
import { recordErrors } from './record-errors.ts'
import { recordGrants, recordWebhooks } from './record-integrations.ts'
import { recordKeys } from './record-keys.ts'
import { recordOrganisationSignIn } from './record-organisation-sign-in.ts'
import { recordOrganisations, recordScim, recordTransfers } from './record-organisations.ts'
import { recordReports } from './record-reports.ts'
import { Recorder } from './recorder.ts'
import { fixedAuthenticator, type World } from './world.ts'

// node tools/openapi/examples/record-examples.ts [file]: starts a service, calls every operation, and stores what is
// sent and answered.
const [file = join(import.meta.dirname, 'examples.json')] = process.argv.slice(2)
fixRandomness()
const ends: (() => unknown)[] = []
try {
  const service = await startExampleService({ after: (end) => ends.push(end) })
  const anyone = new Recorder(service)
  const ada = anyone.another()
  const authenticator = fixedAuthenticator()
  await recordSignIn(service, ada, authenticator)
  const world: World = { service, ada, authenticator, ownerId: 1, anyone }
  await verifyOwner({ ...service.operator, now: Date.now }, world.ownerId, {
    provider: 'in-person',
    issuer: 'operator',
    subject: 'passport 1',
    assurance: 'high',
    expiresAt: null,
    publishedName: 'Ada Lovelace',
  })
  await recordProviderSignIn(world)
  await recordIdentity(world)
  const agents = await recordClaims(world)
  await recordProfiles(world, agents)
  await recordChannels(world, agents)
  const deliveries = await recordWebhooks(world, () => recordStatuses(world, agents))
  await recordGrants(world, agents)
  await recordProofs(world, agents)
  await recordReports(world, agents)
  await settle(service)
  await recordReads(world, agents)
  await recordAccount(world)
  await ada.record('exportAccount', 'GET', '/api/account/export')
  await recordErrors(world, agents)
  await signInAgain(world)
  await recordApprovals(world, agents)
  await recordKeys(world, agents)
  await recordEnrolment(world)
  await recordOrganisations(world)
  await recordScim(world)
  await recordTransfers(world)
  await recordOrganisationSignIn(world)
  const examples = { ...anyone.examples, deliveries }
  writeFileSync(file, `${JSON.stringify(examples, null, 1)}\n`)
} finally {
  for (const end of ends.toReversed()) await end()
}

/** Waits until the log and the feed of status changes have everything. Requests of its own do not move the clock. */
async function settle({ url, untilTicked }: ExampleService): Promise<void> {
  const now = Math.floor(Date.now() / 1000)
  await untilTicked(async () => {
    const lines = (await (await fetch(`${url}/api/v1/feed/latest`)).text()).trim().split('\n')
    const { head = '' } = JSON.parse(lines.at(-1) ?? '{}') as { head?: string }
    const claims = Buffer.from(head.split('.')[1] ?? '', 'base64url').toString()
    return lines.length > 1 && claims.includes(`"iat":${now},`)
  })
}
