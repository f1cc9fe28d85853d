import assert from 'node:assert/strict'
import {
  type Mandate,
  type MandateTerms,
  mandateChallenge,
  mandateStatement,
  type OwnerApproval,
  queryOf,
} from '@countersign/protocol'
import { type Answer, jsonOf } from './answer.ts'
import { type ApprovalWorld, approve, asked, ownApproval } from './approvals.ts'
import type { Misconduct } from './authenticator.ts'

export const MANDATES = '/api/account/mandates'

export interface WantedMandate extends MandateTerms {
  readonly expiresAt: string
}

/** Admits orders of at most 50 euros, and 200 euros in 30 days. */
export const TERMS = {
  limits: { origins: ['https://shop.example'], methods: ['POST'], paths: ['/orders/*'] },
  body: {
    '/total': { atMost: '50.00' },
    '/currency': { equals: '"EUR"' },
    '/to': { equals: '"Example GmbH"' },
  },
  total: { pointer: '/total', amount: '200.00', days: 30 },
  perDay: 10,
} satisfies MandateTerms

/** What a page signs: the terms, and what they are made from. */
export function mandateChallengeOf(
  { id: from, agent, url, salt, service }: OwnerApproval,
  terms: WantedMandate,
  shortName = 'svc',
): string {
  const query = queryOf(url)
  const statement = mandateStatement({ ...terms, agent, from, query, salt, service })
  return Buffer.from(mandateChallenge(shortName, statement)).toString('base64url')
}

/** A request like `PAPER` for an amount. */
export function orderOf(total: string, number = 1) {
  return {
    request: {
      method: 'POST',
      url: `https://shop.example/orders/${number}/confirm`,
      contentType: 'application/json',
      body: JSON.stringify({ total, currency: 'EUR', to: 'Example GmbH' }),
    },
  }
}

/** The request to make a mandate, signed as a page does. @param signed the terms that the passkey signs, if others */
export async function mandateRequest(
  { owner, authenticator }: Pick<ApprovalWorld, 'owner' | 'authenticator'>,
  from: string,
  wanted: WantedMandate,
  wrong: Misconduct & { readonly signed?: WantedMandate } = {},
): Promise<object> {
  const { signed = wanted, ...misconduct } = wrong
  const approval = await ownApproval(owner, from)
  const { hostname: rpId } = new URL(approval.service)
  const challenge = mandateChallengeOf(approval, signed)
  const response = authenticator.get({ challenge, rpId }, misconduct)
  const { agent } = approval
  return { agent, from, ...wanted, response }
}

/** Makes a mandate from an approval. */
export async function makeMandate(
  world: Pick<ApprovalWorld, 'owner' | 'authenticator'>,
  from: string,
  wanted: WantedMandate,
  wrong: Misconduct & { readonly signed?: WantedMandate } = {},
): Promise<Answer> {
  return world.owner.post(MANDATES, await mandateRequest(world, from, wanted, wrong))
}

/** Has one request approved, and makes a mandate from it. @param at milliseconds since 1970 */
export async function mandated(
  world: ApprovalWorld,
  terms: MandateTerms = TERMS,
  at = Date.now(),
): Promise<Mandate> {
  const { id } = await asked(world, orderOf('10.00', 0), { createdAt: at })
  assert.equal((await approve(world, id)).status, 200)
  const expiresAt = new Date(at + 60 * 86_400_000).toISOString()
  const answer = await makeMandate(world, id, { ...terms, expiresAt })
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<Mandate>(answer)
}
