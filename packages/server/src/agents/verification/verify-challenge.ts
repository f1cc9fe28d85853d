import {
  type AgentReference,
  CodedError,
  challengeMessage,
  decodeKey,
  decodeSignature,
  isOrigin,
  keyEncodingFault,
  type Naming,
  parseChallenge,
  parseDidOrTail,
  type VerifyRequest,
  type VerifyResponse,
} from '@countersign/protocol'
import { identityLevelOf } from '../../accounts/identity-of-owner.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import type { Ed25519Verifier } from '../../secrets/ed25519.ts'
import type { AgentView } from '../agent-record.ts'
import { displayNameOf } from '../card.ts'
import { assertInUse } from '../find-agent.ts'
import type { AgentReadModel } from '../read-model/agent-read-model.ts'

export interface VerifyDeps {
  readonly readModel: AgentReadModel
  readonly ed25519: Ed25519Verifier
  readonly site: Site
  readonly now: () => number
}

/**
 * Verifies proof of possession of an agent's key (contract 4.3). The lookup comes last, so that invalid requests cost no query.
 * @throws CodedError VALIDATION_ERROR, INVALID_SIGNATURE, NOT_FOUND
 */
export async function verifyChallenge(
  deps: VerifyDeps,
  request: VerifyRequest,
): Promise<VerifyResponse> {
  const publicKey = decodeValidKey(request.publicKey)
  const message = challengeMessage(request.challenge)
  if (request.audience !== undefined)
    assertFor(deps.site.naming, request.audience, request.challenge)
  const signature = decodeSignature(request.signature)
  if (signature === null) throw new CodedError('VALIDATION_ERROR', 'The signature is malformed.')
  if (!(await deps.ed25519.verify(publicKey, message, signature))) {
    throw new CodedError(
      'INVALID_SIGNATURE',
      'The signature is not one of this key over the UTF-8 bytes of the challenge.',
    )
  }
  const view = await findAgentOfKey(deps, publicKey, request[deps.site.naming.didField])
  return responseOf(deps, view)
}

/**
 * Without an audience, an answer that the agent gave to one site could be presented at another.
 * @throws CodedError VALIDATION_ERROR
 */
function assertFor(naming: Naming, audience: string, challenge: string): void {
  if (!isOrigin(audience)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'audience must be an origin in its canonical spelling, such as https://shop.example.',
    )
  }
  if (parseChallenge(naming, challenge)?.audience === audience) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `The challenge is not one for ${audience}: ${naming.challengePrefix}${audience}:<nonce>.`,
  )
}

function decodeValidKey(text: string): Uint8Array {
  const publicKey = decodeKey(text)
  if (publicKey !== null && keyEncodingFault(publicKey) === null) return publicKey
  throw new CodedError(
    'VALIDATION_ERROR',
    'publicKey is not a valid Ed25519 key: malformed, not canonical or of small order.',
  )
}

/**
 * Finds the agent that the request names, or without a DID the preferred agent of the key.
 * @throws CodedError NOT_FOUND, also if the named agent has another key, or the key was replaced or reported
 */
async function findAgentOfKey(
  deps: VerifyDeps,
  publicKey: Uint8Array,
  did: string | undefined,
): Promise<AgentView> {
  const tail = did === undefined ? null : parseDidOrTail(deps.site.naming, did)
  const reference: AgentReference =
    tail === null ? { kind: 'key', publicKey } : { kind: 'tail', tail }
  const found = await deps.readModel.find(reference)
  const hasKey = found !== null && Buffer.compare(found.agent.publicKey, publicKey) === 0
  const view = hasKey ? found : null
  await assertInUse(deps.readModel, publicKey, view)
  if (view !== null) return view
  throw new CodedError(
    'NOT_FOUND',
    did === undefined
      ? 'No agent has a certificate of this key.'
      : `The signature is valid, but ${did} is not the DID of an agent with this key.`,
  )
}

function responseOf({ site, now }: VerifyDeps, { agent, owner }: AgentView): VerifyResponse {
  return {
    verified: agent.status === 'active',
    signatureValid: true,
    certified: true,
    identityLevel: identityLevelOf(owner, now()),
    agent: {
      [site.naming.didField]: didOfAgent(site, agent.tail),
      displayName: displayNameOf(agent),
      status: agent.status,
    },
  }
}
