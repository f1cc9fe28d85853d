import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { Settings } from '../../../packages/server/src/config/config.ts'
import { postClaim } from '../../support/many-claims.ts'
import { withRaw } from '../../support/raw-database.ts'
import type { ServiceProcess } from '../../support/service.ts'
import type { Tally } from './claim-load.ts'

const IN_FLIGHT = 16

/**
 * Looks every acknowledged claim up over HTTP, at a service that was started after the fault.
 * @returns the DIDs that are not there as they were acknowledged
 */
export async function lostOf(
  { url }: Pick<ServiceProcess, 'url'>,
  { acknowledged }: Pick<Tally, 'acknowledged'>,
): Promise<string[]> {
  const lost: string[] = []
  for (const [did, said] of await saidOf({ url }, { acknowledged })) {
    if (said === 'lost' || said === 'another') lost.push(did)
    else if (said !== 'found') assert.fail(`${did}: ${said}`)
  }
  return lost
}

/**
 * What a service says of every acknowledged claim: `found`, `lost` (404), `another` where the key is not the one that
 * was claimed, else the status and code of the refusal.
 */
export async function saidOf(
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

/** Sends every acknowledged claim once more. @returns how many were answered by anything but that the token is used */
export async function mintedAgain(
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

export interface Found {
  readonly agents: number
  readonly events: number
}

/**
 * Asserts what is promised of the data whatever happened: each used token has minted one agent, events are numbered
 * without a gap, and each claim has its event. For claims of `prepareClaims`, where each token has an owner of its own.
 */
export async function assertSound(settings: Pick<Settings, 'database'>): Promise<Found> {
  const [row = {}] = await withRaw(settings, (raw) =>
    raw.all(`SELECT
      (SELECT count(*) FROM agents) AS agents,
      (SELECT count(DISTINCT owner_id) FROM agents) AS owners,
      (SELECT count(*) FROM claim_tokens WHERE used_at IS NOT NULL) AS "usedTokens",
      (SELECT count(*) FROM events) AS events,
      (SELECT coalesce(max(seq), 0) FROM events) AS "lastSeq",
      (SELECT count(*) FROM events WHERE type = 'agent.claimed') AS claimed`),
  )
  // PostgreSQL counts in text.
  const count = (name: string) => Number(row[name])
  assert.equal(count('owners'), count('agents'), 'a token has minted two agents')
  assert.equal(count('usedTokens'), count('agents'), 'tokens that were used, and agents')
  assert.equal(count('claimed'), count('agents'), 'agents, and events that tell of them')
  assert.equal(count('lastSeq'), count('events'), 'the event sequence has a gap')
  return { agents: count('agents'), events: count('events') }
}
