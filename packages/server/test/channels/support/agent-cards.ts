import { generateAgentCardSignature } from '@a2a-js/sdk'
import type { OwnerChannel } from '@countersign/protocol'
import {
  begin,
  check,
  DOMAIN,
  type Fixture,
  newProver,
  type Prover,
  startChannelFixture,
  toPlace,
} from './proving.ts'

export const CARD = '/.well-known/agent-card.json'

/** An agent card as it is written, before it is signed. */
export type CardJson = Record<string, unknown>

/** The extension that the owner is asked to place. */
export interface Extension {
  readonly uri: string
  readonly params: Record<string, unknown>
}

export function extensionOf(channel: OwnerChannel): Extension {
  return JSON.parse(toPlace(channel, 'card')('Extension'))
}

export function cardWith(...extensions: readonly unknown[]): CardJson {
  return {
    name: 'Parcel clerk',
    description: 'Answers where a parcel is.',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `https://${DOMAIN}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: false, extensions },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'find', name: 'Find', description: 'Finds a parcel', tags: ['parcel'] }],
  }
}

/** Signs a card by the SDK, as an agent would without our command. */
export async function signed(
  card: CardJson,
  { key }: Prover,
  header: Readonly<Record<string, unknown>>,
): Promise<CardJson> {
  const sign = generateAgentCardSignature(key.privateKey, { alg: 'EdDSA', typ: 'JOSE', ...header })
  return { ...(await sign(card as never)) } as unknown as CardJson
}

/** What the agent's DID document calls its key. */
export function keyIdOf({ service }: Fixture, { did }: Prover): string {
  return `did:web:${encodeURIComponent(new URL(service.url).host)}:agent:${did}#key-1`
}

/** Publishes a card, or any text in its place. */
export function publish({ site }: Fixture, card: CardJson | string | Uint8Array): void {
  const text = typeof card === 'string' || card instanceof Uint8Array
  const body = text ? card : JSON.stringify(card)
  site.serve(CARD, { headers: { 'content-type': 'application/json' }, body })
}

/** A fixture with an agent-to-agent channel that is to be proven. */
export async function startWithChannel(t: { after(end: () => unknown): void }) {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const channel = await begin(prover, 'a2a')
  const kid = keyIdOf(fixture, prover)
  /** Publishes, checks. */
  const see = async (card: CardJson | string | Uint8Array) => {
    publish(fixture, card)
    const { state, outcome, seen } = await check(prover, channel)
    return { state, outcome, detail: seen[0]?.detail ?? '' }
  }
  return { fixture, prover, channel, kid, see, extension: extensionOf(channel) }
}
