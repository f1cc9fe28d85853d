import { generateAgentCardSignature } from '@a2a-js/sdk'
import type { OwnerChannel } from '@countersign/protocol'
import {
  addChannel,
  check,
  DOMAIN,
  type Fixture,
  newProver,
  type Prover,
  proofField,
  startChannelFixture,
} from './channel-fixture.ts'

export const CARD = '/.well-known/agent-card.json'

/** An unsigned agent card. */
export type CardJson = Record<string, unknown>

/** The extension that the owner has to add to the card. */
export interface Extension {
  readonly uri: string
  readonly params: Record<string, unknown>
}

export function extensionOf(channel: OwnerChannel): Extension {
  return JSON.parse(proofField(channel, 'card')('Extension'))
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

/** Signs a card with the A2A SDK, as an agent would without the countersign command. */
export async function signed(
  card: CardJson,
  { key }: Prover,
  header: Readonly<Record<string, unknown>>,
): Promise<CardJson> {
  const sign = generateAgentCardSignature(key.privateKey, { alg: 'EdDSA', typ: 'JOSE', ...header })
  return { ...(await sign(card as never)) } as unknown as CardJson
}

/** The id of the key in the agent's DID document. */
export function keyIdOf({ service }: Fixture, { did }: Prover): string {
  return `did:web:${encodeURIComponent(new URL(service.url).host)}:agent:${did}#key-1`
}

/** Publishes a card, or any other body at its path. */
export function publish({ site }: Fixture, card: CardJson | string | Uint8Array): void {
  const text = typeof card === 'string' || card instanceof Uint8Array
  const body = text ? card : JSON.stringify(card)
  site.serve(CARD, { headers: { 'content-type': 'application/json' }, body })
}

/** Starts a fixture with an A2A channel that is not proven yet. */
export async function startWithChannel(t: { after(end: () => unknown): void }) {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'a2a')
  const kid = keyIdOf(fixture, prover)
  /** Publishes a card and checks the channel. */
  const see = async (card: CardJson | string | Uint8Array) => {
    publish(fixture, card)
    const { state, outcome, seen } = await check(prover, channel)
    return { state, outcome, detail: seen[0]?.detail ?? '' }
  }
  return { fixture, prover, channel, kid, see, extension: extensionOf(channel) }
}
