import {
  type AgentObject,
  agentObjectSchema,
  type Card,
  type ClaimRequest,
  type ClaimResponse,
  cardSchema,
  claimResponseSchema,
  type DidDocument,
  didDocumentSchema,
  type GradeAnswer,
  gradeAnswerSchema,
  type Lookup,
  lookupSchema,
  type Naming,
  type RuntimeAnswer,
  type RuntimeChallenge,
  type RuntimeProof,
  runtimeChallengeSchema,
  runtimeProofSchema,
  type VerifyRequest,
  type VerifyResponse,
  verifyResponseSchema,
} from '@countersign/protocol'
import { ask, DID_JSON, unexpected } from './client.ts'
import { didIn, namingOfDid, namingOfObject } from './deployment.ts'
import { didOfDidWeb, parseReference, type Reference, refersTo } from './reference.ts'
import { departure, type Schema } from './shape.ts'

/**
 * The endpoints of the contract. Each answer has the shape that the protocol gives it and is about the agent that was
 * asked for, or it is a Failure UNEXPECTED_ANSWER; what `ask` throws comes through.
 */

/** Contract 4.1 and 4.2. */
export async function lookUp(service: URL, agent: Reference): Promise<Lookup> {
  const { body } = await ask(service, { path: `/api/v1/agent/${encodeURIComponent(agent.text)}` })
  const id = (body as { certificate?: { id?: unknown } } | null)?.certificate?.id
  const naming = namingOfDid(String(id))
  const lookup = checked<Lookup>(service, naming && lookupSchema(naming), body)
  requireAbout(service, agent, lookup.certificate.id)
  return lookup
}

/** Contract 4.5. */
export async function fetchCard(service: URL, agent: Reference): Promise<Card> {
  const path = `/api/agents/${encodeURIComponent(agent.text)}/card`
  const { body } = await ask(service, { path })
  const naming = namingOfObject(body)
  const card = checked<Card>(service, naming && cardSchema(naming), body)
  requireAbout(service, agent, didIn(card))
  return card
}

/** `GET /api/agents/{did}/grade`: the letter with its evidence. */
export async function fetchGrade(service: URL, agent: Reference): Promise<GradeAnswer> {
  const path = `/api/agents/${encodeURIComponent(agent.text)}/grade`
  const { body } = await ask(service, { path })
  const naming = namingOfObject(body)
  const grade = checked<GradeAnswer>(service, naming && gradeAnswerSchema(naming), body)
  requireAbout(service, agent, didIn(grade))
  return grade
}

/** Contract 4.7. */
export async function fetchAgent(service: URL, agent: Reference): Promise<AgentObject> {
  const { body } = await ask(service, { path: `/api/agents/${encodeURIComponent(agent.text)}` })
  const naming = namingOfObject(body)
  const object = checked<AgentObject>(service, naming && agentObjectSchema(naming), body)
  requireAbout(service, agent, didIn(object))
  return object
}

/** Contract 4.7 with `Accept: application/did+json`. A revoked agent has a document too, with no key in it. */
export async function fetchDidDocument(
  service: URL,
  agent: Reference,
): Promise<{ document: DidDocument; revoked: boolean }> {
  const path = `/api/agents/${encodeURIComponent(agent.text)}`
  const { status, body } = await ask(service, { path, accept: DID_JSON })
  const document = checked<DidDocument>(service, didDocumentSchema(), body)
  requireAbout(service, agent, didOfDidWeb(document.id) ?? '')
  return { document, revoked: status === 410 }
}

/** Contract 4.3. */
export async function checkSignature(
  service: URL,
  agent: Reference,
  request: VerifyRequest,
): Promise<VerifyResponse> {
  const { body } = await ask(service, { path: '/api/v1/agent/verify', body: request })
  const naming = namingOfObject((body as { agent?: unknown } | null)?.agent)
  const answer = checked<VerifyResponse>(service, naming && verifyResponseSchema(naming), body)
  requireAbout(service, agent, didIn(answer.agent))
  return answer
}

/** Contract 4.4. */
export async function redeemToken(
  service: URL,
  naming: Naming,
  request: ClaimRequest,
): Promise<ClaimResponse> {
  const { body } = await ask(service, { path: '/api/v1/claim', body: request })
  return checked<ClaimResponse>(service, claimResponseSchema(naming), body)
}

/** A challenge by which an agent proves that it runs (docs/channels.md). */
export async function askForRuntimeChallenge(
  service: URL,
  naming: Naming,
  did: string,
): Promise<RuntimeChallenge> {
  const { body } = await ask(service, { path: `${runtimePath(did)}/challenge`, body: {} })
  return checked<RuntimeChallenge>(service, runtimeChallengeSchema(naming), body)
}

/** The answer to it. */
export async function answerRuntimeChallenge(
  service: URL,
  naming: Naming,
  did: string,
  answer: RuntimeAnswer,
): Promise<RuntimeProof> {
  const { body } = await ask(service, { path: runtimePath(did), body: answer })
  const proof = checked<RuntimeProof>(service, runtimeProofSchema(naming), body)
  requireAbout(service, parseReference(did), didIn(proof))
  return proof
}

function runtimePath(did: string): string {
  return `/api/agents/${encodeURIComponent(did)}/runtime`
}

function checked<T>(service: URL, schema: object | null, body: unknown): T {
  if (schema === null) throw unexpected(service, 'answers without the DID of an agent')
  const place = departure(schema as Schema, body)
  if (place === null) return body as T
  throw unexpected(service, `answers in another shape than the contract's (see ${place})`)
}

function requireAbout(service: URL, agent: Reference, did: string): void {
  if (!refersTo(agent, did)) throw unexpected(service, 'answers about another agent')
}
