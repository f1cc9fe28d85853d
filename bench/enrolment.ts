import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import type { EnrolmentRule } from '@countersign/protocol'
import { jsonOf } from '../test/support/answer.ts'
import { prepareClaims } from '../test/support/many-claims.ts'
import { enrolmentBody, newPlatform, ruleFor, SUBJECT } from '../test/support/platform.ts'
import { startTestService } from '../test/support/service.ts'
import { signIn } from '../test/support/signed-in.ts'
import { inTurns } from './in-turns.ts'
import type { Enrolments, EnrolmentTask } from './measure-enrolment.ts'

// node enrolment.ts '{"turns":…}': enrolments and renewals beside claims. Prints `RESULT {…}`.

const AT_ONCE = 8

const { turns } = JSON.parse(process.argv[2] ?? '') as EnrolmentTask
const undo: (() => unknown)[] = []
const service = await startTestService({ after: (each) => void undo.push(each) })
const platform = newPlatform()
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

/** Requests that are prepared, and those that were sent. */
class Requests {
  readonly #path: string
  readonly #status: number
  waiting: string[] = []
  sent: string[] = []

  constructor(path: string, status: number) {
    this.#path = path
    this.#status = status
  }

  async send(): Promise<void> {
    const bodies = this.waiting.splice(0, AT_ONCE)
    this.sent.push(...bodies)
    const statuses = await Promise.all(bodies.map((body) => post(this.#path, body)))
    assert.deepEqual(statuses, Array(AT_ONCE).fill(this.#status))
  }
}

const claims = new Requests('/api/v1/claim', 200)
const enrolments = new Requests('/api/v1/enrol', 201)
const renewals = new Requests('/api/v1/enrol', 200)
let turn = 0
const found = await inTurns(
  {
    claim: {
      prepare: async (runs) => {
        turn += 1
        const bodies = await prepareClaims(service.operator, runs * AT_ONCE, `turn-${turn}`)
        claims.waiting = bodies.map((body) => JSON.stringify(body))
      },
      run: () => claims.send(),
    },
    enrolment: {
      prepare: async (runs) => {
        enrolments.sent = []
        enrolments.waiting = await prepareEnrolments(runs * AT_ONCE)
      },
      run: () => enrolments.send(),
    },
    renewal: {
      prepare: () => {
        renewals.waiting = [...enrolments.sent]
      },
      run: () => renewals.send(),
    },
  },
  turns,
)
const costs = Object.entries(found).map(([name, cost]) => [name, cost / AT_ONCE])
console.log(`RESULT ${JSON.stringify(Object.fromEntries(costs) as Enrolments)}`)
agent.destroy()
for (const each of undo.toReversed()) await each()

/** Enrolments by a rule of a new owner, since an owner has at most 2,000 enrolled agents. */
async function prepareEnrolments(count: number): Promise<string[]> {
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const created = await owner.post(
    '/api/account/enrolment/rules',
    ruleFor(platform, { maxLive: count }),
  )
  assert.equal(created.status, 201, created.text)
  const { id, audience: aud } = jsonOf<EnrolmentRule>(created)
  const bodies = Array.from({ length: count }, async () => {
    const token = await platform.token({ aud, sub: SUBJECT, jti: randomUUID() })
    return JSON.stringify(enrolmentBody(service, id, token))
  })
  return Promise.all(bodies)
}

/** @returns the status */
function post(path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const outgoing = request(service.url + path, { method: 'POST', headers, agent }, (incoming) => {
      incoming.on('end', () => resolve(incoming.statusCode ?? 0)).resume()
    })
    outgoing.on('error', reject).end(body)
  })
}
