import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { agentOf, gateway } from '../packages/gateway/src/fetch.ts'
import { SHOP, signingAgent } from '../packages/gateway/test/support/signing.ts'
import {
  addChannel,
  newProver,
  proofField,
  runAction,
  startChannelFixture,
} from '../packages/server/test/channels/support/channel-fixture.ts'
import { certificatePath } from './support/agent-certificates.ts'
import { ask } from './support/ask.ts'
import { newKey } from './support/key.ts'
import { rotationBody } from './support/key-operations.ts'
import {
  type ClaimBody,
  type Cleanup,
  claimAgent,
  claimBody,
  postJson,
  startTestService,
  type TestService,
} from './support/service.ts'
import { Visitor } from './support/visitor.ts'
import { filesRunBy } from './support/walk.ts'

/**
 * How many files a reader follows for one job of the service. The bars only ever go down: a walk that has grown needs a
 * file merged, or a job given to a room that it already passes.
 */
interface Walk {
  readonly most: number
  /** Prepares the job and returns it. It runs twice, the first time only to load what loads late. */
  prepare(
    t: Cleanup,
  ): Promise<{ readonly service: TestService; readonly run: () => Promise<unknown> }>
  /** Files that follow the events of every change, and are no part of this job. */
  readonly without?: RegExp
}

/** The read model reads each new agent, and the lists of certificates' status follow its events. */
const FOLLOWERS =
  /\/(agent-record|agent-table|proven-channel-table|verification-table|status-(state|feed|event-table))\.ts$/
/** The lists of certificates' status follow each change of an agent. */
const STATUS_FOLLOWER = /\/status-(state|feed|event-table)\.ts$/

const WALKS: Readonly<Record<string, Walk>> = {
  claim: {
    most: 18,
    without: FOLLOWERS,
    async prepare(t) {
      const service = await startTestService(t)
      const bodies: ClaimBody[] = []
      for (const agentId of ['one', 'two']) {
        const ownerId = await service.operator.addVerifiedOwner()
        bodies.push(claimBody(await service.operator.issueToken(ownerId), newKey(), agentId))
      }
      return { service, run: () => accepted(postJson(`${service.url}/api/v1/claim`, bodies.pop())) }
    },
  },
  rotation: {
    most: 22,
    without: STATUS_FOLLOWER,
    async prepare(t) {
      const service = await startTestService(t)
      const ownerId = await service.operator.addVerifiedOwner()
      const rotations: { readonly url: string; readonly body: object }[] = []
      for (const agentId of ['one', 'two']) {
        const old = newKey()
        const did = await claimAgent(service, ownerId, old, agentId)
        const body = rotationBody(service, did, { old, next: newKey(), sequence: 2 })
        rotations.push({ url: `${service.url}/api/v1/agent/${did}/keys`, body })
      }
      const run = () => {
        const rotation = rotations.pop()
        assert.ok(rotation)
        return accepted(postJson(rotation.url, rotation.body))
      }
      return { service, run }
    },
  },
  'channel check': {
    most: 28,
    without: STATUS_FOLLOWER,
    async prepare(t) {
      const fixture = await startChannelFixture(t)
      const checks: (() => Promise<unknown>)[] = []
      for (const domain of ['one.example.com', 'two.example.com']) {
        const prover = await newProver(fixture)
        const channel = await addChannel(prover, 'domain', domain)
        const place = proofField(channel, 'dns')
        fixture.txt(place('Name'), place('Value'))
        checks.push(() => runAction(prover, channel, 'check'))
      }
      return { service: fixture.service, run: async () => checks.pop()?.() }
    },
  },
  'first certificate': {
    most: 24,
    async prepare(t) {
      const service = await startTestService(t)
      const ownerId = await service.operator.addVerifiedOwner()
      const one = await claimAgent(service, ownerId, newKey(), 'one')
      const paths = [
        certificatePath(await claimAgent(service, ownerId, newKey(), 'two')),
        certificatePath(one),
      ]
      return { service, run: () => accepted(fetch(service.url + paths.pop())) }
    },
  },
  'signed request at a gateway': {
    most: 24,
    without: /^packages\/server\//,
    async prepare(t) {
      const service = await startTestService(t)
      const { agent } = await signingAgent(service)
      const protect = gateway({
        service: service.url,
        policy: { requireProof: true },
        audiences: [SHOP],
      })
      t.after(() => protect.close())
      const handle = protect((request: Request) => Response.json(agentOf(request)))
      const requests = [await agent.sign(`${SHOP}/orders`), await agent.sign(`${SHOP}/orders`)]
      return { service, run: () => accepted(handle(requests.pop() as Request)) }
    },
  },
  'sign-in': {
    most: 12,
    async prepare(t) {
      const service = await startTestService(t)
      const visitor = new Visitor(service)
      await visitor.signUp('ada')
      return { service, run: () => visitor.signIn() }
    },
  },
}

for (const [name, { most, prepare, without }] of Object.entries(WALKS)) {
  test(`${name}: at most ${most} files of its own`, async (t) => {
    // No timer of the service runs: what it does meanwhile is no part of the walk.
    mock.timers.enable({ apis: ['setInterval'] })
    t.after(() => mock.timers.reset())
    const { service, run } = await prepare(t)
    await ask(service, '/healthz')
    await run()
    const files = await filesRunBy(run, without)
    const list = `${files.length} files:\n${files.join('\n')}`
    t.diagnostic(list)
    assert.ok(files.length <= most, list)
    assert.ok(files.length > most / 2, `the walk has not run: ${list}`)
  })
}

async function accepted(response: Response | Promise<Response>): Promise<void> {
  const { status } = await response
  assert.equal(status, 200)
}
