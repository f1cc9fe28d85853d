import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  approvalChallenge,
  approvalStatement,
  type OwnerApproval,
  type RequestedApproval,
  textDigest,
} from '@countersign/protocol'
import { insertPasskey } from '../../packages/server/src/accounts/owners/sign-in-method-table.ts'
import { verifyRegistration } from '../../packages/server/src/accounts/owners/webauthn.ts'
import { type Answer, jsonOf } from './answer.ts'
import { ask } from './ask.ts'
import { Authenticator, type Misconduct } from './authenticator.ts'
import { newKey, type TestKey } from './key.ts'
import { claimAgent, type TestService } from './service.ts'
import { signedHeaders } from './sign-request.ts'
import type { SignedInOwner } from './signed-in.ts'
import { signIn } from './signed-in.ts'

/** An agent that may ask for approvals, and its owner with a passkey that is old enough to approve. */
export interface ApprovalWorld {
  readonly service: TestService
  readonly owner: SignedInOwner
  readonly authenticator: Authenticator
  readonly did: string
  readonly key: TestKey
}

const HOUR_MS = 3_600_000

/** @param now the service's clock */
export async function newApprovalWorld(
  service: TestService,
  now: () => number = Date.now,
): Promise<ApprovalWorld> {
  const owner = await signIn(service, await service.operator.addVerifiedOwner(), now())
  const key = newKey()
  const did = await claimAgent(service, owner.ownerId, key)
  const authenticator = await givePasskey(service, owner.ownerId, now() - 72 * HOUR_MS)
  await allowApprovals({ owner, did })
  return { service, owner, authenticator, did, key }
}

export async function allowApprovals(
  { owner, did }: Pick<ApprovalWorld, 'owner' | 'did'>,
  enabled = true,
): Promise<void> {
  const url = `/api/account/agents/${did}/approvals`
  const answer = await owner.send('PUT', url, { enabled })
  assert.equal(answer.status, 200, answer.text)
}

/** Gives a person a passkey. @param createdAt milliseconds since 1970 */
export async function givePasskey(
  { operator, settings }: TestService,
  personId: number,
  createdAt: number,
  authenticator = new Authenticator(settings.baseUrl.origin),
): Promise<Authenticator> {
  const { origin, hostname: id } = settings.baseUrl
  const challenge = randomBytes(32).toString('base64url')
  const { user_handle: handle } = await operator.db.read
    .selectFrom('owners')
    .select('user_handle')
    .where('id', '=', personId)
    .executeTakeFirstOrThrow()
  const user = { id: handle ?? randomBytes(32).toString('base64url') }
  const response = authenticator.create({ challenge, rp: { id }, user })
  const credential = await verifyRegistration({ id, origin, name: '' }, challenge, response)
  assert.ok(credential !== null)
  await operator.db.write(async (tx) => {
    const owner = { user_handle: user.id }
    await tx.db.updateTable('owners').set(owner).where('id', '=', personId).execute()
    await insertPasskey(tx, {
      credential_id: credential.id,
      owner_id: personId,
      public_key: credential.publicKey,
      counter: credential.counter,
      transports: '[]',
      backed_up: 0,
      name: 'Passkey',
      created_at: createdAt,
      last_used_at: null,
    })
  })
  return authenticator
}

export const PAPER = {
  method: 'POST',
  url: 'https://shop.example/orders/4711/confirm',
  contentType: 'application/json',
  body: '{"total":"129.00","currency":"EUR","to":"Example GmbH"}',
}

/** A request that differs from others. */
export function order(number: number): { readonly request: typeof PAPER } {
  return { request: { ...PAPER, url: `https://shop.example/orders/${number}/confirm` } }
}

/** How a test deviates from an honest question. */
export interface AskDeviation {
  /** The DID in the URL. */
  readonly path?: string
  readonly key?: TestKey
  /** The agent that the signature names. */
  readonly signer?: string
  readonly signedBody?: string
  readonly createdAt?: number
}

/** Asks for an approval. */
export async function askApproval(
  { service, did, key }: Pick<ApprovalWorld, 'service' | 'did' | 'key'>,
  question: object = { request: PAPER },
  deviation: AskDeviation = {},
): Promise<Answer> {
  const body = JSON.stringify(question)
  const target = `/api/v1/agent/${deviation.path ?? did}/approvals`
  const { settings } = service
  const { origin: url } = settings.baseUrl
  const named = { url, settings }
  const headers = await signedHeaders(named, deviation.signer ?? did, deviation.key ?? key, {
    method: 'POST',
    url: url + target,
    headers: [['Content-Type', 'application/json']],
    body: deviation.signedBody ?? body,
    ...(deviation.createdAt === undefined ? {} : { createdAt: deviation.createdAt }),
  })
  const sent = Object.fromEntries(headers.filter(([name]) => name !== 'Host'))
  return ask(service, target, { method: 'POST', headers: sent, body })
}

/** Asks for an approval that the service puts to the owner. */
export async function asked(
  world: Pick<ApprovalWorld, 'service' | 'did' | 'key'>,
  question?: object,
  deviation?: AskDeviation,
): Promise<RequestedApproval> {
  const answer = await askApproval(world, question, deviation)
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<RequestedApproval>(answer)
}

export const APPROVALS = '/api/account/approvals'

export async function ownApproval(owner: SignedInOwner, id: string): Promise<OwnerApproval> {
  return jsonOf<OwnerApproval>(await owner.get(`${APPROVALS}/${id}`))
}

/** What the page signs: from what it shows, and nothing else. */
export function challengeOf(approval: OwnerApproval, shortName = 'svc'): string {
  const { id, agent, method, url, contentType, body, message, salt, service } = approval
  const statement = approvalStatement({
    agent,
    approval: id,
    body: body === null ? null : textDigest(body),
    contentType,
    message: message === null ? null : textDigest(message),
    method,
    salt,
    seconds: approval.validSeconds,
    service,
    url,
  })
  return Buffer.from(approvalChallenge(shortName, statement)).toString('base64url')
}

/** The assertion of a passkey for an approval. */
export async function assertionFor(
  { owner, authenticator }: Pick<ApprovalWorld, 'owner' | 'authenticator'>,
  id: string,
  wrong: Misconduct = {},
): Promise<Record<string, unknown>> {
  const approval = await ownApproval(owner, id)
  const { hostname: rpId } = new URL(approval.service)
  return authenticator.get({ challenge: challengeOf(approval), rpId }, wrong)
}

/** Approves as the page does. */
export async function approve(
  world: Pick<ApprovalWorld, 'owner' | 'authenticator'>,
  id: string,
  wrong: Misconduct = {},
): Promise<Answer> {
  const response = await assertionFor(world, id, wrong)
  return world.owner.post(`${APPROVALS}/${id}/approve`, { response })
}

export function deny(
  { owner }: Pick<ApprovalWorld, 'owner'>,
  id: string,
  turnOff = false,
): Promise<Answer> {
  return owner.post(`${APPROVALS}/${id}/deny`, { turnOff })
}

/** What a client that knows the id can read. */
export async function progressOf(
  { url }: Pick<TestService, 'url'>,
  id: string,
): Promise<{ state: string; token?: string; tokenExpiresAt?: string; expiresAt: string }> {
  const response = await fetch(`${url}/api/v1/approvals/${id}`)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  return (await response.json()) as { state: string; expiresAt: string }
}
