import {
  a2aKeySetUrl,
  CodedError,
  type CountersignedCard,
  encodeBase64Url,
  keyThumbprint,
  utf8,
} from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../accounts/owner-suspension.ts'
import { provenChannels } from '../agents/proven-channel-table.ts'
import type { ChannelRow, Db } from '../database/database.ts'
import { ProofAbsent, Unreachable } from '../http/outbound/perspective.ts'
import type { DeriveServiceKey, ServiceKey } from '../secrets/service-keys.ts'
import { isVerified } from './channel-state.ts'
import { type CardMembers, parseCoveredCard } from './covered-card.ts'
import { expectedProofs, getOwnChannel, type OwnChannel } from './describe-channels.ts'
import { a2a, fetchProvenCard } from './kinds/a2a.ts'
import type { ChannelDeps } from './kinds/kind.ts'
import { memoizePerspective } from './observe.ts'

const FETCH_TIMEOUT_MS = 30_000

export interface CountersignDeps extends ChannelDeps {
  readonly a2aKeys: DeriveServiceKey
}

/**
 * The key that countersigns the card of one channel. Each channel has its own, so that a countersignature ends with its channel even
 * if a verifier remembers keys by their ids.
 */
function countersigningKey(
  a2aKeys: DeriveServiceKey,
  { tail, id }: Pick<ChannelRow, 'tail' | 'id'>,
): ServiceKey {
  return a2aKeys(`countersign agent card ${tail} ${id}`)
}

/** What finding the keys of an agent's channels needs. */
export interface CardKeyDeps extends Pick<ChannelDeps, 'now'> {
  readonly db: Db
  readonly a2aKeys: DeriveServiceKey
}

/** The keys that countersign the cards of an agent: one for each verified agent-to-agent channel. */
export async function countersigningKeysOf(
  { db, now, a2aKeys }: CardKeyDeps,
  tail: string,
): Promise<ServiceKey[]> {
  const at = now()
  const channels = await provenChannels(db, tail)
  return channels
    .filter((each) => each.kind === a2a.id && isVerified(each, at))
    .map((each) => countersigningKey(a2aKeys, each))
}

/**
 * Countersigns the agent card that the domain of an agent-to-agent channel publishes (JWS, A2A 1.0 section 8.4): the card names the agent, the
 * agent's certified key has signed it, and the channel is verified. Input of the caller is never signed.
 * @param reference the agent's DID or tail
 * @param id the channel's id
 * @throws CodedError NOT_FOUND; FORBIDDEN if the owner is suspended; AGENT_NOT_ACTIVE; CONFLICT if the channel is not verified or the card
 *   cannot be fetched; VALIDATION_ERROR if the channel is of another kind, or the card is not one to countersign
 */
export async function countersignCard(
  deps: CountersignDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<CountersignedCard> {
  const { db, site, a2aKeys } = deps
  const { agent, channel } = await getOwnChannel(db.read, deps, ownerId, reference, id)
  await assertOwnerNotSuspended(db.read, ownerId)
  if (channel.kind !== a2a.id) {
    throw new CodedError('VALIDATION_ERROR', 'Only agent-to-agent channels have an agent card.')
  }
  if (agent.status !== 'active') {
    throw new CodedError('AGENT_NOT_ACTIVE', `This agent is ${agent.status}.`)
  }
  if (!isVerified(channel, deps.now())) {
    throw new CodedError('CONFLICT', 'This channel is not verified. Verify it first.')
  }
  const { text, canonical } = await readPublished(deps, { agent, channel })
  const card = parseCoveredCard(text, canonical)
  // Should agent or channel lapse meanwhile, the signature is void: its key is then no longer published.
  const signature = sign(
    countersigningKey(a2aKeys, channel),
    a2aKeySetUrl(site.baseUrl, agent.tail),
    canonical,
  )
  return { card: withSignature(card, signature), signature }
}

interface PublishedCard {
  readonly text: string
  readonly canonical: string
}

/** More than half of the perspectives must find the same card. */
async function readPublished(
  { site, channelSources: { perspectives }, now }: ChannelDeps,
  { agent, channel }: OwnChannel,
): Promise<PublishedCard> {
  const at = now()
  const { known } = expectedProofs(site, agent, channel, at)
  if (known === null) throw new CodedError('CONFLICT', 'This channel is not verified.')
  const query = { proof: known.proof, provenBy: known.method, now: at }
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS)
  const results = await Promise.allSettled(
    perspectives.map((each) => fetchProvenCard(memoizePerspective(each, signal), query)),
  )
  const found = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  for (const [canonical, same] of Map.groupBy(found, ({ card }) => card.canonical)) {
    const [first] = same
    if (first !== undefined && same.length > perspectives.length / 2)
      return { text: first.text, canonical }
  }
  const failed = results.find((each) => each.status === 'rejected')
  throw failed === undefined
    ? new CodedError('CONFLICT', 'The resolvers see different agent cards. Try again later.')
    : asRefusal(failed.reason)
}

function asRefusal(error: unknown): unknown {
  if (error instanceof ProofAbsent) return new CodedError('VALIDATION_ERROR', error.message)
  if (error instanceof Unreachable)
    return new CodedError('CONFLICT', `The agent card cannot be fetched: ${error.message}`)
  return error
}

/** Adds a signature; it replaces the one that the same key has made of an earlier card. */
function withSignature(card: CardMembers, signature: CountersignedCard['signature']) {
  const previous = Array.isArray(card.signatures) ? card.signatures : []
  const others = previous.filter((each) => each?.protected !== signature.protected)
  return { ...card, signatures: [...others, signature] }
}

function sign(key: ServiceKey, jku: string, canonical: string): CountersignedCard['signature'] {
  const header = { alg: 'EdDSA', typ: 'JOSE', kid: keyThumbprint(key.publicKey), jku }
  const encoded = encodeBase64Url(utf8(JSON.stringify(header)))
  const input = `${encoded}.${encodeBase64Url(utf8(canonical))}`
  return { protected: encoded, signature: encodeBase64Url(key.sign(utf8(input))) }
}
