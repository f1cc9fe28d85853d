import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { Settings } from '../../../packages/server/src/base/config.ts'
import { postClaim } from '../../support/many-claims.ts'
import { withRaw } from '../../support/raw-database.ts'
import type { ServiceProcess } from '../../support/service.ts'
import type { Tally } from './claim-load.ts'

const IN_FLIGHT = 16

/**
 * Looks up every acknowledged claim at a service that was started after the fault.
 * @returns the DIDs that are missing or differ from the acknowledgement
 */
export async function findLostClaims(
  { url }: Pick<ServiceProcess, 'url'>,
  { acknowledged }: Pick<Tally, 'acknowledged'>,
): Promise<string[]> {
  const lost: string[] = []
  for (const [did, said] of await statusesOf({ url }, { acknowledged })) {
    if (said === 'lost' || said === 'another') lost.push(did)
    else if (said !== 'found') assert.fail(`${did}: ${said}`)
  }
  return lost
}

/**
 * Counts the lookup results of all acknowledged claims: `found`, `lost` (404), `another` if the key differs from the
 * claimed one, else status and code of the error.
 */
export async function statusesOf(
  { url }: Pick<ServiceProcess, 'url'>,
  { acknowledged }: Pick<Tally, 'acknowledged'>,
): Promise<Map<string, string>> {
  const said = new Map<string, string>()
  await forEach([...acknowledged], async ([{ publicKey }, did], agent) => {
    const { status, body } = await lookup(`${url}/api/agents/${did}`, agent)
    if (status === 200) said.set(did, body.publicKey === publicKey ? 'found' : 'another')
    else said.set(did, status === 404 ? 'lost' : `${status} ${body.error?.code}`)
  })
  return said
}

/**
 * Sends every acknowledged claim again.
 * @returns how many were not refused because of the used token
 */
export async function countReclaimed(
  { url }: Pick<ServiceProcess, 'url'>,
  { acknowledged }: Pick<Tally, 'acknowledged'>,
): Promise<number> {
  let again = 0
  await forEach([...acknowledged.keys()], async (claim, agent) => {
    const answer = await postClaim(`${url}/api/v1/claim`, claim, agent)
    if (answer?.status !== 410) again += 1
  })
  return again
}

async function forEach<T>(items: T[], work: (item: T, agent: Agent) => Promise<void>) {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  const caller = async () => {
    for (let item = items.pop(); item !== undefined; item = items.pop()) await work(item, agent)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  agent.destroy()
}

interface Body {
  readonly publicKey?: string
  readonly error?: { readonly code: string }
}

function lookup(url: string, agent: Agent): Promise<{ status: number; body: Body }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent }, (incoming) => {
      let text = ''
      incoming.on('data', (chunk) => (text += chunk))
      incoming.on('error', reject)
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text) as Body }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

export interface DataCounts {
  readonly agents: number
  readonly events: number
}

/**
 * Asserts the invariants of the data: each used token has created exactly one agent, event numbers have no gaps, and
 * each claim has its event. For claims of `prepareClaims`, whose tokens have an owner each.
 */
export async function assertInvariants(settings: Pick<Settings, 'database'>): Promise<DataCounts> {
  const [row = {}] = await withRaw(settings, (raw) =>
    raw.all(`SELECT
      (SELECT count(*) FROM agents) AS agents,
      (SELECT count(DISTINCT owner_id) FROM agents) AS owners,
      (SELECT count(*) FROM claim_tokens WHERE used_at IS NOT NULL) AS "usedTokens",
      (SELECT count(*) FROM events) AS events,
      (SELECT coalesce(max(seq), 0) FROM events) AS "lastSeq",
      (SELECT count(*) FROM events WHERE type = 'agent.claimed') AS claimed`),
  )
  // PostgreSQL returns counts as strings.
  const count = (name: string) => Number(row[name])
  assert.equal(count('owners'), count('agents'), 'a token has minted two agents')
  assert.equal(count('usedTokens'), count('agents'), 'tokens that were used, and agents')
  assert.equal(count('claimed'), count('agents'), 'agents, and events that tell of them')
  assert.equal(count('lastSeq'), count('events'), 'the event sequence has a gap')
  return { agents: count('agents'), events: count('events') }
}
